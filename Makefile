# Two commands do everything on a fresh machine: `make demo` and `make test`. Repeated, their set-up is a no-op.
# `make docs` builds the pages of docs/ as a site. PYTHON picks the interpreter that creates the environment (3.11), OUT
# the folder of the demo's results.
PYTHON ?= python3
OUT ?= out/demo
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
JOBS ?= auto

.PHONY: help demo test test-all lint types docs install clean

help:
	@echo "make demo      set up, train on real digits, compile for the simulated chip, run the evaluation set"
	@echo "make test      set up, check style and types, run the fast tests in parallel"
	@echo "make test-all  as test, with the slow tests"
	@echo "make docs      set up, build the documentation: out/site/index.html"
	@echo "make clean     remove the environment and the results"

demo: $(STAMP)
	$(BIN)/python -m mlsdk.examples.demo --outdir $(OUT)

test: lint types
	$(BIN)/python -m pytest -n $(JOBS)

test-all: lint types
	$(BIN)/python -m pytest -n $(JOBS) -m "slow or not slow"

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "out/site/index.html"

install: $(STAMP)

# The stamp is newer than the environment's description exactly when the environment is up to date.
$(STAMP): requirements.txt pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v == (3, 11) else f"Python 3.11 is needed, {sys.executable} is %d.%d; run: make PYTHON=/path/to/python3.11" % v)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian install the package python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The site generator is not part of the tested set: the pages themselves are checked without it.
$(DOCS_STAMP): $(STAMP) requirements-docs.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt -c requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) out build *.egg-info
