# make demo and make test need only Python, make and a compiler; both make the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv)
NPM := $(shell command -v npm)
# Modules are compiled when they are first imported, as uv has it: most never are.
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --no-compile)

# Tests start hundreds of processes: without bytecode on the disk, each would compile its modules again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.PHONY: demo papers test test-deep test-all docs vega lint format bench soak wheel clean

demo: $(VENV)/program
	$(BIN)/recover sweep quickstart
	$(BIN)/recover report results/quickstart

papers: $(VENV)/program
	$(BIN)/recover reproduce all

# Every test is in one of three suites: test, test-deep, soak.
test: $(VENV)/installed
	$(PYTEST) -n 2 --dist worksteal -m 'not deep and not soak'

# Many of these wait for clusters and daemons.
test-deep: $(VENV)/installed
	$(PYTEST) -n 4 --dist worksteal -m 'deep and not soak'

test-all: test test-deep

docs: $(VENV)/installed
	$(BIN)/python -m docs.generate
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

vega: $(VENV)/installed
	$(BIN)/python -m tests.report.vega

lint: $(VENV)/installed $(if $(NPM),node_modules)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(NPM),$(NPM) run --silent check,@echo "the page's script is not checked: there is no npm")

format: $(VENV)/installed $(if $(NPM),node_modules)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(NPM),$(NPM) run --silent format)

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks

soak: $(VENV)/installed
	$(PYTEST) -m soak

wheel: $(VENV)/installed
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) node_modules build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

node_modules: package.json
	$(NPM) install --silent --no-audit --no-fund --no-package-lock
	touch $@

$(VENV)/program: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("recover needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/installed: $(VENV)/program
	$(INSTALL) --editable '.[dev]'
	touch $@
