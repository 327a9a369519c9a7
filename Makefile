# make parity           makes .venv, then compares and times the five built-in workloads
# make lint             formatter, linter, type checker
# make test, test-slow  the test suite, in parallel
# make coverage         line coverage of the analysis core; fails below its floors
# make docs             the documentation site, in build/site
# make fuzz, gpu, studies, matrix, legacy-python: see there
PYTHON ?= $(shell for v in 3.11 3.12 3.13 3.10; do command -v python$$v && break; done || command -v python3)
BIN := .venv/bin

# Test processes side by side: one a core; one that has nothing left to do takes tests from another.
WORKERS ?= auto
PYTEST = pytest -n $(WORKERS) --dist worksteal

parity: .venv/installed
	$(BIN)/python -m parity

test: .venv/installed
	$(BIN)/python -m $(PYTEST) -m "not slow"

# Every injected fault, the default all-reduce of the five systems, and the recorded originals.
test-slow: .venv/installed
	$(BIN)/python -m $(PYTEST) -m slow

# Damaged inputs of every kind of file, each given to its command in a process of its own; half an hour.
FUZZ_EXAMPLES ?= 2000
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz --examples=$(FUZZ_EXAMPLES)

# Line coverage of the analysis core by its unit tests; some minutes, in one process. The floor of all of it stands in
# setup.cfg ([coverage:report] fail_under), those of its folders here.
FOLDER_FLOORS = legacy/saved:99 modern/lifted:100 parity/diagnosis:98 parity/causes:91
CORE_TESTS = tests/legacy/saved tests/legacy/variants tests/legacy/test_hazard_twins.py tests/modern/lifted \
	tests/parity/diagnosis tests/parity/causes tests/parity/confirmation --ignore=tests/parity/causes/test_catalogue.py
coverage: .venv/installed
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -m "not slow" $(CORE_TESTS)
	$(BIN)/python -m coverage report
	for floor in $(FOLDER_FLOORS); do \
		echo $${floor%:*} && $(BIN)/python -m coverage report --include="$${floor%:*}/*" --fail-under=$${floor#*:} \
			--format=total || exit 1; \
	done

# Every check of a machine with GPUs; writes docs/gpu.md and gpu.json.
gpu: .venv/installed
	$(BIN)/python -m parity.gpu --size=seed --json=gpu.json

# The questions of the write-ups, as pages in docs/studies: about half an hour of two cores that nothing else uses.
STUDIES = pinned_towers communication overlap input scaling
studies: .venv/installed
	for name in $(STUDIES); do \
		$(BIN)/python -m parity.study --name=$$name --markdown=docs/studies/$$name.md || exit 1; \
	done

# Versions of Python and TensorFlow, each pair in an environment of its own; writes docs/versions.md.
matrix:
	$(PYTHON) -m tests.version_matrix

# The pages of docs/ and the docstrings as a site; a broken link, or a docstring that cannot be read, is an error.
docs: .venv/docs-installed
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html -c docs/site . build/site

.venv/docs-installed: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

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
	rm -rf .venv .venv-tf1 .matrix build dist *.egg-info report.json .coverage .coverage.*

.PHONY: parity docs test test-slow fuzz gpu studies matrix coverage lint legacy-python clean
