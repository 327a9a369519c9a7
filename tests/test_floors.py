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


#: Names of the standard library that Python 3.7 lacks.
NEWER = {"cached_property", "cache", "prod", "isqrt", "comb", "dist", "join", "pairwise", "waitstatus_to_exitcode"}
NEWER_MODULES = {"functools", "math", "shlex", "itertools", "os"}
NEWER_METHODS = {"removeprefix", "removesuffix", "is_relative_to"}
#: Built-in types that Python 3.7 cannot subscript.
GENERICS = {"tuple", "list", "dict", "set", "frozenset", "type"}


def newer_than_3_7(tree):
    """Names of the standard library that a module uses and Python 3.7 lacks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in NEWER_MODULES:
            yield from (alias.name for alias in node.names if alias.name in NEWER)
        elif isinstance(node, ast.Attribute):
            of_module = isinstance(node.value, ast.Name) and node.value.id in NEWER_MODULES
            if node.attr in (NEWER if of_module else NEWER_METHODS):
                yield node.attr


def evaluated_generics(tree):
    """Types such as `tuple[int, str]` that a module evaluates, as Python 3.9 can; in annotations they are only text.

    What stands under `if TYPE_CHECKING` is not run.
    """
    annotations = {id(node.annotation) for node in ast.walk(tree) if isinstance(node, (ast.arg, ast.AnnAssign))}
    annotations |= {id(node.returns) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    todo = [tree]
    while todo:
        node = todo.pop()
        if id(node) in annotations or (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in GENERICS:
            yield ast.unparse(node)
        todo.extend(ast.iter_child_nodes(node))


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
        assert not set(newer_than_3_7(tree)), path
        assert not list(evaluated_generics(tree)), path


@pytest.mark.parametrize(
    "text, names",
    [
        ("functools.cached_property", ["cached_property"]),
        ("from math import prod, sqrt", ["prod"]),
        ("name.removeprefix('a')", ["removeprefix"]),
        ("np.prod(shape), os.path.join(a, b), functools.lru_cache()", []),
    ],
)
def test_names_that_python_3_7_lacks_are_found(text, names):
    assert list(newer_than_3_7(ast.parse(text))) == names


@pytest.mark.parametrize(
    "text, types",
    [
        ("Pair = tuple[int, str]", ["tuple[int, str]"]),
        ("class A(Base[dict[str, int]]): pass", ["dict[str, int]"]),
        ("def f(a: list[int], *b: set[int]) -> dict[str, int]:\n    c: tuple[int] = a\n    return c[0]", []),
        ("Pair = Tuple[int, str]", []),
        ("if TYPE_CHECKING:\n    Pair = tuple[int, str]", []),
    ],
)
def test_types_that_python_3_7_cannot_make_are_found(text, types):
    assert list(evaluated_generics(ast.parse(text))) == types


@pytest.mark.parametrize("floor", MAY_IMPORT)
def test_every_module_says_what_it_is(floor):
    for path in sources(floor):
        assert ast.get_docstring(ast.parse(path.read_text())), path
