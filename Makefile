# Every step of continuous integration is a target here; `make help` lists them.
# A machine needs Python 3.11 or later, pip and make: each target first installs what it needs into $(VENV).
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
PYTEST_OPTIONS ?=

BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_OPTIONS)

# One BLAS thread for each test worker: more only makes them wait for each other.
test mutants test-all test-oldest test-oldest-extras docs: export OMP_NUM_THREADS ?= 1
# Workers, and the processes that tests start, compile each module once for all of them, whatever the shell says.
test test-all test-oldest test-oldest-extras: export PYTHONDONTWRITEBYTECODE =
export MPLBACKEND ?= Agg

.DEFAULT_GOAL := help
.PHONY: help demo test mutants test-all test-oldest test-oldest-extras lint format types pictures audit-packages attack certificates docs bench papers changelog clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "shiftmetrics needs Python 3.11 or later, got " + sys.version.split()[0] + ". Choose another with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of packages: made again when the requirements change.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

# What is tested is the core and the laboratory beside it.
$(VENV)/.installed-test: pyproject.toml lab/pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[test]' --editable lab
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-lint: $(VENV)/.installed-test
	$(INSTALL) --editable '.[lint]' --editable lab
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-test
	$(INSTALL) --editable '.[docs]' --editable lab
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-test
	$(INSTALL) --editable '.[bench]' --editable lab
	@touch $@

demo: $(VENV)/.installed ## train a small classifier, shift its data, write report.html
	$(BIN)/shiftmetrics demo --output demo-output

# A file goes to one worker, so that what its tests share is made once.
test: $(VENV)/.installed-test ## the tests, without the slow ones
	$(PYTEST) --dist loadfile -m "not slow"

mutants: $(VENV)/.installed-test ## small faults in what divides error probabilities that no test finds, for hours; ONLY="file ..." for some
	$(BIN)/python tests/mutants.py $(ONLY)

test-all: $(VENV)/.installed-test docs ## only what `make test` leaves out: slow tests, docs
	$(PYTEST) -m slow

# The lowest version of every dependency and no extras, with the test tools of constraints.txt.
OLDEST = $(VENV)-oldest
TOOLS = grep -E '^(array_api_strict|hypothesis|pytest|pytest-xdist)==' constraints.txt
FLOORS = import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	extras = [r for e in sys.argv[1:] for r in p["optional-dependencies"][e]]; \
	print(*(r.replace(">=", "==") for r in p["dependencies"] + extras), sep="\n")
$(OLDEST)/.installed: pyproject.toml lab/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -c '$(FLOORS)' > $(OLDEST)/versions.txt
	$(TOOLS) >> $(OLDEST)/versions.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet --requirement $(OLDEST)/versions.txt --editable . --editable lab
	@touch $@

test-oldest: $(OLDEST)/.installed ## all tests that need no extra, with the oldest dependencies
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" --doctest-ignore-import-errors $(PYTEST_OPTIONS)

# The lowest versions of the extras too. Those of torch are as in constraints.txt, because no other build is for processors alone.
EXTRAS = boosting conic dask mlflow parquet skops
USES = 'dask|lightgbm|mlflow|parquet|skops|xgboost|clarabel|cvxpy'
$(OLDEST)-extras/.installed: pyproject.toml lab/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OLDEST)-extras
	$(OLDEST)-extras/bin/python -c '$(FLOORS)' $(EXTRAS) | sed 's/ *#.*//' > $(OLDEST)-extras/versions.txt
	$(TOOLS) >> $(OLDEST)-extras/versions.txt
	$(OLDEST)-extras/bin/python -m pip --disable-pip-version-check install --quiet --requirement $(OLDEST)-extras/versions.txt --editable . --editable lab
	@touch $@

test-oldest-extras: $(OLDEST)-extras/.installed ## the tests of extras, with the oldest extras
	$(OLDEST)-extras/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" $(PYTEST_OPTIONS) $$(grep -rlE $(USES) tests lab/tests --include='test_*.py')

lint: $(VENV)/.installed-lint ## formatting, lint rules and the import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

format: $(VENV)/.installed-lint ## let ruff rewrite the files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(VENV)/.installed-lint ## mypy, strict, on both sources
	$(BIN)/mypy

KINDS ?=
pictures: $(VENV)/.installed-test ## pages of every kind of result and, with Chromium, pictures of them to look at; KINDS="audit diff" for some
	PYTHONPATH=tests $(BIN)/python tests/report_pictures.py $(KINDS)

audit-packages: $(BIN)/python ## known weaknesses of the pinned packages, by pip-audit; asks a network
	$(INSTALL) pip-audit
	$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt

CASES ?= 20000
attack: $(VENV)/.installed-test ## damaged files for every reader, files that unpack to far more than they are, a kill at every write: an hour; CASES=2000 for some
	PYTHONPATH=tests $(BIN)/python tests/tables/test_damaged.py --cases $(CASES)
	PYTHONPATH=tests $(BIN)/python tests/bombs.py
	PYTHONPATH=tests $(BIN)/python tests/killed_writes.py
	PYTHONPATH=tests $(BIN)/python tests/test_hostile_calls.py

certificates: $(VENV)/.installed-test ## results against their exact values, for hours; CASES=2000 for some
	PYTHONPATH=tests $(BIN)/python tests/certificates.py all --cases $(CASES)

docs: $(VENV)/.installed-docs ## the documentation, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.installed-bench ## the benchmarks: ratios against peers, in one run
	$(BIN)/python benchmarks/run.py

papers: $(VENV)/.installed-bench ## the papers' figures and tables, and their page: under three hours of one core; ONLY="name ..." for some
	$(BIN)/python papers/run.py --jobs $(WORKERS) $(ONLY)
	$(BIN)/python papers/page.py

changelog: ## put the fragments of changelog.d/ into CHANGELOG.md: VERSION=0.2.0
	$(PYTHON) changelog.d/assemble.py $(VERSION)

clean: ## remove what the targets made
	rm -rf $(VENV) $(OLDEST) $(OLDEST)-extras build dist docs/_build docs/api/generated docs/gallery demo-output
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
