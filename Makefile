# One command per chore; CI runs exactly these.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= $(CURDIR)/.surehit
JOBS ?= 3
export HNSWLIB_NO_NATIVE := 1
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev run test test-fast test-slow fuzz check format bench clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install -q -c constraints.txt -e .
	@touch $@

# torch first, as a CPU build where the index has one: sentence-transformers alone may bring gigabytes of CUDA
$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install -q -c constraints.txt "torch==2.13.0" || $(BIN)/pip install -q torch
	$(BIN)/pip install -q -c constraints.txt -e ".[models,otel,dev]"
	@touch $@

setup: $(VENV)/.installed ## Make .venv with the service and its page (torch-free)

setup-dev: $(VENV)/.installed-dev ## The same with all engines, tests and linters

run: setup ## Service, page and demo traffic; data in ./.surehit (make clean forgets it)
	SUREHIT_DATA_DIR=$(DATA) $(BIN)/surehit up --demo

check: setup-dev ## Format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-dev ## Put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: check ## Everything that CI runs: check, then all tests
	$(BIN)/pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-fast: setup-dev ## Tests without simulations and many-process tests
	$(BIN)/pytest -q -m "not slow"

test-slow: setup-dev ## Only those
	$(BIN)/pytest -q -m slow

fuzz: setup-dev ## Property tests with examples that nobody has tried yet
	$(BIN)/pytest -q -n $(JOBS) -m hypothesis --hypothesis-profile=explore

bench: setup-dev ## Measure on this machine; writes docs/bench/*.json and the tables of docs/figures.md
	$(BIN)/surehit bench all

clean: ## Remove what was made here
	rm -rf $(VENV) .surehit .pytest_cache .mypy_cache .ruff_cache .hypothesis
