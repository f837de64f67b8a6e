# GDLNN: `make demo` and `make test` do all the set-up themselves and are quick when it is already done.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEPS := $(VENV)/.deps-installed
NATIVE := $(VENV)/.native-built
CORE_SOURCES := $(shell find core -type f \( -name '*.cpp' -o -name '*.hpp' -o -name 'CMakeLists.txt' \)) CMakeLists.txt

.PHONY: help setup demo test test-long lint format bench sanitize clean

help: ## Say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "GDLNN needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version`. Try: make PYTHON=python3.12"; exit 1; }
	@echo "Creating the virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip

$(DEPS): pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing the dependencies (a few minutes the first time)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt scikit-build-core nanobind cmake ninja
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $(DEPS) $(NATIVE)

$(NATIVE): $(DEPS) $(CORE_SOURCES)
	@if [ $(NATIVE) -ot $(DEPS) ] || [ -n "$(filter-out $(DEPS),$?)" ]; then echo "Building the core"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; fi
	@touch $(NATIVE)

setup: $(NATIVE) ## Virtual environment, dependencies and the native core

demo: setup ## Run the demo
	$(BIN)/gdlnn demo

test: setup ## Lint and all quick tests (under ten minutes on two cores)
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -m 'not long'

test-long: setup sanitize ## The long tests: more random cases, kills, sanitizers
	GDLNN_TEST_LONG=1 $(BIN)/python -m pytest

sanitize: setup ## The core's own tests under ASan and UBSan
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DGDLNN_BUILD_TESTS=ON -DGDLNN_SANITIZE=ON -DGDLNN_BUILD_BINDINGS=OFF > /dev/null
	$(BIN)/cmake --build build/sanitize
	GDLNN_CASES=$${GDLNN_CASES:-20000} build/sanitize/core/core_tests

lint: setup ## Style, types, direction of imports, C++ format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $$(find core -name '*.cpp' -o -name '*.hpp')

format: setup ## Put all sources into the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core -name '*.cpp' -o -name '*.hpp')

bench: setup ## Speed of our own parts, as rates and ratios
	$(BIN)/python -m benchmarks

clean: ## Remove what was built, the virtual environment included
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
