"""Properties of the code itself: annotations, docstrings, folder sizes, imports between folders, untested modules."""

from __future__ import annotations

import ast
import pathlib

import pytest

from tests import house

MOST_FILES = 18


@pytest.mark.parametrize("package", house.PACKAGES)
def test_public_functions_are_annotated(package):
    bare = [
        f"{function.place}: {', '.join(house.unannotated(function))}"
        for path in house.sources(package)
        for function in house.public_functions(path)
        if house.unannotated(function)
    ]
    assert not bare, "\n".join(bare)


@pytest.mark.parametrize("package", house.PACKAGES)
def test_functions_of_three_or_more_parameters_document_them(package):
    documented = house.documented_names()
    lacking = [
        f"{function.place}: {', '.join(house.undocumented_arguments(function, documented))}"
        for path in house.sources(package)
        for function in house.public_functions(path)
        if house.undocumented_arguments(function, documented)
    ]
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize("package", house.PACKAGES)
def test_docstrings_open_with_a_statement(package):
    found = [f"{path}:{line}: {text}" for path in house.sources(package) for line, text in house.riddles(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", house.PACKAGES)
def test_no_two_folders_of_a_package_import_each_other(package):
    assert house.circle(house.folder_imports(package)) == []


def test_a_circle_would_be_found():
    assert house.circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert house.circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("package", house.PACKAGES)
def test_no_folder_holds_more_files_than_one_overlooks(package):
    for folder, count in house.files_per_folder(package).items():
        assert count <= MOST_FILES, f"{folder}: {count} files"


@pytest.mark.parametrize("package", house.PACKAGES)
def test_every_folder_says_in_three_lines_what_lives_there(package):
    for path in house.sources(package):
        if path.name == "__init__.py":
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            assert len(text.splitlines()) >= 3, path


def test_every_folder_has_its_place_in_the_architecture():
    text = (house.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    folders = [path.relative_to(house.ROOT) for package in house.PACKAGES for path in (house.ROOT / package).iterdir()]
    lacking = [
        str(path) for path in folders if (house.ROOT / path / "__init__.py").exists() and f"`{path}`" not in table
    ]
    assert folders and not lacking, lacking


def test_nearly_every_module_is_imported_by_a_test():
    modules = {name for package in house.PACKAGES for name in house.module_names(package)}
    tested = set()
    for path in sorted((house.ROOT / "tests").rglob("test_*.py")):
        tested |= house.imported_modules(path)
    untested = sorted(modules - tested)
    assert len(untested) <= 0.05 * len(modules), untested


def _function(text: str) -> house.Function:
    return house.Function(pathlib.Path(__file__), ast.parse(text).body[0], "")


def test_the_checks_can_fail():
    bare = _function("def f(a, b: int, c):\n    '''Adds.'''\n")
    assert house.unannotated(bare) == ["a", "c", "return"]
    assert house.undocumented_arguments(bare, set()) == ["Args:", "Returns:"]
    docstring = "Adds.\n\n    Args:\n      a: x.\n\n    Returns:\n      y.\n"
    good = _function(f"def f(a: int, b: int, c: int) -> int:\n    '''{docstring}'''\n")
    assert house.unannotated(good) == []
    assert house.undocumented_arguments(good, set()) == []
