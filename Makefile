# Two commands on a fresh machine with Python 3.11 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OPENBLAS_NUM_THREADS ?= 1

WEB := src/poise/show/web

.PHONY: demo test test-all test-blender extension floors lint docs docs-release bench samples player native wheels release clean

# `make bench step agreement` runs these two; the names are no targets of their own
ifeq ($(firstword $(MAKECMDGOALS)),bench)
BENCHES := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
ifneq ($(BENCHES),)
.PHONY: $(BENCHES)
$(BENCHES): bench ; @:
endif
endif

$(BIN)/poise:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .

$(VENV)/.dev: pyproject.toml | $(BIN)/poise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/poise
	$(BIN)/poise demo

test: $(VENV)/.dev $(WEB)/dist/page.html native
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not long"

# the long ones too: examples, demo, builds, every captured clip
test-all: $(VENV)/.dev $(WEB)/dist/page.html native
	$(BIN)/python -m pytest -n auto --dist loadfile

# FBX goes through Blender, and the extension runs in it: one that is installed, or what POISE_BLENDER names
test-blender: $(VENV)/.dev
	$(BIN)/python -m pytest tests/test_io_fbx.py tests/test_blender.py

# the Blender extension as one file to install
EXTENSION := $(wildcard extension/*.py extension/*.toml) extension/LICENSE
extension: dist/poise-blender.zip
dist/poise-blender.zip: $(EXTENSION)
	mkdir -p dist && rm -f $@ && cd extension && $(PYTHON) -m zipfile -c ../$@ $(notdir $(EXTENSION))

# the oldest versions of all dependencies that pyproject.toml promises, in an environment of their own
FLOORS := $(VENV)-floors
$(FLOORS)/.done: pyproject.toml scripts/floors.py
	$(PYTHON) -m venv $(FLOORS)
	$(PYTHON) scripts/floors.py >$(FLOORS)/constraints.txt
	$(FLOORS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[all]' pytest hypothesis \
		-c $(FLOORS)/constraints.txt
	touch $@

floors: $(FLOORS)/.done
	$(FLOORS)/bin/python -m pytest tests/test_rotations.py tests/test_filter.py tests/test_push.py tests/test_step.py \
		tests/test_io_bvh_write.py tests/test_io_gltf.py tests/test_analysis_forces.py tests/test_edit_spin.py \
		tests/test_synthesis_standing.py tests/test_pack.py tests/test_cli_info.py tests/test_cli_check.py \
		tests/test_cli_view.py -m "not long"

# installing builds the compiled core; this builds it again where its sources have changed since
native: | $(VENV)/.dev
	@$(BIN)/python -m poise.native

# one wheel for each platform, all built here by the package ziglang
wheels: $(VENV)/.dev player
	rm -f dist/*.whl dist/*.tar.gz
	@for target in linux-x86_64 linux-aarch64 musllinux-x86_64 windows-x86_64 windows-arm64 macos-x86_64 macos-arm64; do \
	  POISE_TARGET=$$target POISE_NATIVE=require $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist . || exit 1; done

# all that a release consists of, in dist/; nothing is uploaded. The wheel that is tried is the one made here, whatever a
# package index has under this name. The bill of materials lists what installing brings along
RELEASE := $(VENV)-release
release: wheels docs extension
	$(BIN)/hatchling build -t sdist -d dist
	tar -czf dist/poise-docs.tar.gz -C dist docs
	$(PYTHON) -m venv --clear $(RELEASE)
	$(RELEASE)/bin/pip download --quiet --disable-pip-version-check --no-index --no-deps --pre --find-links dist \
		--dest $(RELEASE)/wheel poise
	$(RELEASE)/bin/pip install --quiet --disable-pip-version-check "$$(ls $(RELEASE)/wheel/poise-*.whl)[all]"
	$(PYTHON) -m venv --clear $(RELEASE)-tools
	$(RELEASE)-tools/bin/pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7'
	$(RELEASE)-tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/poise.cdx.json $(RELEASE)/bin/python
	$(RELEASE)/bin/poise info --system
	cd dist && sha256sum *.whl *.tar.gz *.zip *.json >SHA256SUMS && cat SHA256SUMS

# installing builds the page; this builds it again where its sources have changed since
player: $(WEB)/dist/page.html
$(WEB)/dist/page.html: $(wildcard $(WEB)/src/* $(WEB)/src/*/*) $(WEB)/build.mjs $(WEB)/package-lock.json | $(VENV)/.dev
	@if command -v npm >/dev/null; then cd $(WEB) && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm run build; \
	else echo "The player is not built again: there is no node on this machine."; fi

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# the docs as a site, with the reference of all public names; a warning or a broken link is an error
$(VENV)/.docs: pyproject.toml | $(BIN)/poise
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

docs: $(VENV)/.docs player
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

ifeq ($(firstword $(MAKECMDGOALS)),docs-release)
$(if $(VERSION),,$(error Give the version: make docs-release VERSION=0.1))
endif

# the site of one version beside those of earlier ones, on the local branch docs-site: make docs-release VERSION=0.1
docs-release: docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mike>=2.1'
	PATH=$(CURDIR)/$(BIN):$$PATH NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --config-file mkdocs-release.yml \
		--branch docs-site --update-aliases --alias-type copy $(VERSION) latest

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(BENCHES)

samples: $(VENV)/.dev
	$(BIN)/python scripts/make_samples.py

clean:
	rm -rf $(VENV) $(VENV)-floors $(VENV)-release $(VENV)-release-tools dist build out poise-demo
