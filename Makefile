# make demo and make test need only Python, make and a compiler; both make the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench soak wheel clean

demo: $(VENV)/installed
	$(BIN)/recover sweep quickstart
	$(BIN)/recover report results/quickstart

test: $(VENV)/installed
	$(BIN)/python -m pytest -n 2

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
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("recover needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@
