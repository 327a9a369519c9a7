"""The examples in docstrings and in docs/ pages: they run, and show what they say."""

from __future__ import annotations

import doctest
import importlib
import tempfile

import pytest

from tests import house

WITH_EXAMPLES = [
    name
    for package in house.PACKAGES
    for name in house.module_names(package)
    if ">>> " in (house.ROOT / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0
    assert not list(tmp_path.iterdir()), "an example leaves temporary files"


def test_the_functions_that_a_reader_calls_first_have_examples():
    assert len(WITH_EXAMPLES) >= 12
