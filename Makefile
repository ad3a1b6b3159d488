# `make demo` and `make test` need Python 3.11 and pip, nothing else: each builds .venv once and reuses it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# torch comes first and pinned: an unpinned torch may pull gigabytes of GPU packages.
TORCH = $(BIN)/python -m pip install --quiet --constraint constraints.txt torch
INSTALL = $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types contracts format figures speed clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "L2C needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(TORCH)
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) ".[demo]"
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) ".[dev]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## explain the German Credit applicants, end to end
	$(BIN)/l2c demo

test: $(VENV)/.dev ## run every test, the README and the docstrings, with coverage
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --cov --cov-report=term

lint: $(VENV)/.dev ## ruff: style and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy, strict, on the package
	$(BIN)/mypy

contracts: $(VENV)/.dev ## import-linter: the layers hold
	$(BIN)/lint-imports --no-cache

check: test lint types contracts ## all of it

format: $(VENV)/.dev ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(VENV)/.dev ## the paper preset and the dial on four data sets, five seeds (half an hour; stored ones are shown)
	$(BIN)/python benchmarks/paper_preset.py
	$(BIN)/python benchmarks/frontier.py

speed: $(VENV)/.dev ## time over the model's own, all parts (20 minutes; DiCE if L2C_DICE_PYTHON names its environment)
	$(BIN)/python benchmarks/speed/run.py

clean: ## remove the environment and what was built
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage dist build demo
