"""The floors of the project: who may import whom, and what must still parse under Python 3.7."""

import ast

import pytest

from tests.house import sources

MAY_IMPORT = {
    "workloads": set(),
    "legacy": {"workloads"},
    "modern": {"workloads"},
    "parity": {"workloads", "legacy", "modern"},
}
#: Beyond TensorFlow, numpy and absl, old environments have only the standard library.
OLD_FLOORS = ("workloads", "legacy")
ALLOWED_THERE = {"tensorflow", "numpy", "absl", "google", "workloads", "legacy"}  # google: TensorFlow's own protobuf


def imported(tree):
    """Top-level names that a module imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def upward(floor, text):
    """Floors that `text`, a module of `floor`, imports and must not."""
    return set(imported(ast.parse(text))) & (set(MAY_IMPORT) - {floor} - MAY_IMPORT[floor])


@pytest.mark.parametrize("floor", MAY_IMPORT)
def test_nothing_imports_upwards(floor):
    for path in sources(floor):
        assert not upward(floor, path.read_text()), path


def test_an_upward_import_would_be_seen():
    assert upward("legacy", "def f():\n    from modern import program\n") == {"modern"}
    assert upward("workloads", "import parity.verify") == {"parity"}


@pytest.mark.parametrize("floor", OLD_FLOORS)
def test_old_floors_parse_under_python_3_7_and_need_nothing_more(floor):
    import sys

    for path in sources(floor):
        tree = ast.parse(path.read_text(), feature_version=(3, 7))
        others = set(imported(tree)) - ALLOWED_THERE - set(sys.stdlib_module_names)
        assert not others, (path, others)


@pytest.mark.parametrize("floor", MAY_IMPORT)
def test_every_module_says_what_it_is(floor):
    for path in sources(floor):
        assert ast.get_docstring(ast.parse(path.read_text())), path
