# make parity: everything, from nothing.  make test: the test suite.  make lint: ruff.
PYTHON ?= $(shell for v in 3.11 3.12 3.13 3.10; do command -v python$$v && break; done || command -v python3)
BIN := .venv/bin

parity: .venv/installed
	$(BIN)/python -m parity

# A process for each floor: what hundreds of programs leave behind in one makes later ones wait for each other.
test: .venv/installed
	for floor in tests/workloads tests/legacy tests/modern tests/parity tests/test_floors.py; do \
		$(BIN)/python -m pytest $$floor || exit 1; \
	done

lint: .venv/installed
	$(BIN)/ruff check .

.venv/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

# TensorFlow 1.15 for `--legacy_python=.venv-tf1/bin/python`; needs a Python 3.7.
LEGACY_BASE ?= $(shell command -v python3.7 || ls -d $$HOME/.pyenv/versions/3.7.*/bin/python 2>/dev/null | tail -n 1)
legacy-python: .venv-tf1/installed

.venv-tf1/installed:
	$(LEGACY_BASE) -m venv .venv-tf1
	.venv-tf1/bin/python -m pip install --quiet tensorflow==1.15.5 protobuf==3.20.3 absl-py
	touch $@

clean:
	rm -rf .venv .venv-tf1 build dist *.egg-info report.json

.PHONY: parity test lint legacy-python clean
