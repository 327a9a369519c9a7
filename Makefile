# make parity: everything, from nothing.  make test: the test suite.  make lint: ruff.
PYTHON ?= $(shell for v in 3.11 3.12 3.13 3.10; do command -v python$$v && break; done || command -v python3)
BIN := .venv/bin

parity: .venv/installed
	$(BIN)/python -m parity

test: .venv/installed
	$(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff check .

.venv/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build dist *.egg-info report.json

.PHONY: parity test lint clean
