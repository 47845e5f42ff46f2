# Every step of continuous integration is a target here; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check
INSTALL = $(PIP) install --quiet --constraint constraints.txt

# One BLAS thread for each of the two test workers: more only makes them wait for each other.
export OMP_NUM_THREADS ?= 1
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format types docs bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-lint: pyproject.toml constraints.txt $(VENV)/.installed-test
	$(INSTALL) --editable '.[lint]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt $(VENV)/.installed
	$(INSTALL) --editable '.[docs]'
	@touch $@

demo: $(VENV)/.installed ## train a small classifier, shift its data, write report.html
	$(BIN)/shiftmetrics demo --output demo-output

test: $(VENV)/.installed-test ## the tests, without the slow ones
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-test docs ## only what `make test` leaves out: slow tests, docs
	$(PYTEST) -m slow

lint: $(VENV)/.installed-lint ## formatting, lint rules and the import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

format: $(VENV)/.installed-lint ## let ruff rewrite the files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(VENV)/.installed-lint ## mypy, strict, on src
	$(BIN)/mypy

docs: $(VENV)/.installed-docs ## the documentation, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.installed-test ## the benchmarks: ratios against peers, in one run
	OMP_NUM_THREADS= $(BIN)/python benchmarks/run.py

clean: ## remove what the targets made
	rm -rf $(VENV) build dist docs/_build demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis
