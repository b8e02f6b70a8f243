# Two commands on a fresh machine with Python 3.11 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

WEB := src/poise/show/web

.PHONY: demo test lint bench samples player native clean

$(BIN)/poise:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .

$(VENV)/.dev: pyproject.toml | $(BIN)/poise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/poise
	$(BIN)/poise demo

test: $(VENV)/.dev $(WEB)/dist/page.html native
	$(BIN)/python -m pytest -n auto

# installing builds the compiled core; this builds it again where its sources have changed since
native: | $(VENV)/.dev
	@$(BIN)/python -m poise.native

# installing builds the page; this builds it again where its sources have changed since
player: $(WEB)/dist/page.html
$(WEB)/dist/page.html: $(wildcard $(WEB)/src/*) $(WEB)/build.mjs $(WEB)/package-lock.json | $(VENV)/.dev
	@if command -v npm >/dev/null; then cd $(WEB) && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm run build; \
	else echo "The player is not built again: there is no node on this machine."; fi

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
