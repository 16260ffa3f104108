# make demo and make test need only Python, make and a compiler; both make the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv)
# Modules are compiled when they are first imported, as uv has it: most never are.
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --no-compile)

.PHONY: demo papers test docs vega lint format bench soak wheel clean

demo: $(VENV)/program
	$(BIN)/recover sweep quickstart
	$(BIN)/recover report results/quickstart

papers: $(VENV)/program
	$(BIN)/recover reproduce all

test: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 --dist worksteal

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

vega: $(VENV)/installed
	$(BIN)/python -m tests.report.vega

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks

soak: $(VENV)/installed
	$(BIN)/python -m pytest -m soak tests/attack

wheel: $(VENV)/installed
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/program: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("recover needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/installed: $(VENV)/program
	$(INSTALL) --editable '.[dev]'
	touch $@
