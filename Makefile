# Two commands on a fresh machine with Python 3.11 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint bench samples clean

$(BIN)/poise:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .

$(VENV)/.dev: pyproject.toml | $(BIN)/poise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/poise
	$(BIN)/poise demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

samples: $(VENV)/.dev
	$(BIN)/python scripts/make_samples.py

clean:
	rm -rf $(VENV) dist build out poise-demo
