"""Measures the code itself: annotations, docstrings, folder sizes, import circles, modules without a unit test.

`tests/test_house.py` asserts on these figures; `python tests/house.py legacy/saved` lists what is missing under a path.
"""

from __future__ import annotations

import ast
import pathlib
import sys
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("workloads", "legacy", "modern", "parity")

#: First words of a docstring that make a reader guess what the thing is.
RIDDLES = ("what ", "whose ", "which ", "who ", "attributes:", "how ", "whether two ")


class Function(NamedTuple):
    """A public function or method: where it is, its definition, and the class it belongs to, if any."""

    path: pathlib.Path
    node: ast.FunctionDef
    owner: str

    @property
    def place(self) -> str:
        """`path:line: name`, for messages."""
        owner = f"{self.owner}." if self.owner else ""
        return f"{self.path.relative_to(ROOT)}:{self.node.lineno}: {owner}{self.node.name}"

    @property
    def arguments(self) -> List[ast.arg]:
        """All arguments but self and cls; `*args` and `**kwargs` included."""
        found = self.node.args
        named = found.posonlyargs + found.args + found.kwonlyargs
        starred = [argument for argument in (found.vararg, found.kwarg) if argument is not None]
        return [argument for argument in named if argument.arg not in ("self", "cls")] + starred


def sources(package: str) -> List[pathlib.Path]:
    """Every Python file of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def public_functions(path: pathlib.Path) -> Iterator[Function]:
    """Public functions of a module and public methods of its public classes; constructors count as public."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield Function(path, node, "")
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and (
                    not member.name.startswith("_") or member.name == "__init__"
                ):
                    yield Function(path, member, node.name)


def unannotated(function: Function) -> List[str]:
    """Names of the arguments without annotation, and "return" where that has none."""
    if function.node.type_comment or _has_type_comment(function):
        return []
    bare = [argument.arg for argument in function.arguments if argument.annotation is None]
    if function.node.returns is None and function.node.name != "__init__":
        bare.append("return")
    return bare


def _has_type_comment(function: Function) -> bool:
    """Whether a `# type: (...) -> ...` comment follows the signature, as in modules that run under Python 2.7."""
    lines = function.path.read_text(encoding="utf-8").splitlines()
    first = function.node.body[0].lineno
    return any("# type: (" in line for line in lines[function.node.lineno - 1 : first])


def undocumented_arguments(function: Function, documented_elsewhere: Set[str]) -> List[str]:
    """Sections that the docstring of a function with three or more arguments lacks: "Args:", "Returns:"."""
    text = ast.get_docstring(function.node) or ""
    if len(function.arguments) < 3 or (not text and function.node.name in documented_elsewhere):
        return []
    if function.node.name == "__init__":
        return [] if "Args:" in text or _class_has_args(function) else ["Args:"]
    lacking = [] if "Args:" in text else ["Args:"]
    returns = function.node.returns
    nothing = isinstance(returns, ast.Constant) and returns.value is None
    if not nothing and "Returns:" not in text and "Yields:" not in text:
        lacking.append("Returns:")
    return lacking


def _class_has_args(function: Function) -> bool:
    for node in ast.parse(function.path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == function.owner:
            return "Args:" in (ast.get_docstring(node) or "")
    return False


def documented_names() -> Set[str]:
    """Names of methods that some class documents with `Args:`; overrides of them may leave the docstring out."""
    names = set()
    for package in PACKAGES:
        for path in sources(package):
            for function in public_functions(path):
                if "Args:" in (ast.get_docstring(function.node) or ""):
                    names.add(function.node.name)
    return names


def riddles(path: pathlib.Path) -> Iterator[Tuple[int, str]]:
    """(line, text) of docstrings whose first line does not say what the thing is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            first = (ast.get_docstring(node) or "").split("\n")[0]
            if first.lower().startswith(RIDDLES):
                yield getattr(node, "lineno", 1), first


def imported_modules(path: pathlib.Path) -> Set[str]:
    """Dotted names of the project's own modules that a file imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in names if name.split(".")[0] in PACKAGES and _exists(name)}


def _exists(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def folder_imports(package: str) -> Dict[str, Set[str]]:
    """{folder: folders of the same package that its files import}; a folder is a dotted name, the package included."""
    graph: Dict[str, Set[str]] = {}
    for path in sources(package):
        here = ".".join(path.relative_to(ROOT).parent.parts)
        graph.setdefault(here, set())
        for name in imported_modules(path):
            if name.split(".")[0] == package:
                there = name if (ROOT / name.replace(".", "/")).is_dir() else name.rpartition(".")[0]
                graph[here].add(there)
    return {here: there - {here} for here, there in graph.items()}


def module_names(package: str) -> List[str]:
    """Dotted names of a package's modules; packages themselves (`__init__`, `__main__`) are left out."""
    names = []
    for path in sources(package):
        if not path.name.startswith("__"):
            names.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return names


def files_per_folder(package: str) -> Dict[str, int]:
    """{folder: number of source files that lie in it, `__init__.py` not counted}."""
    counts: Dict[str, int] = {}
    for path in sources(package):
        if path.name != "__init__.py":
            folder = path.relative_to(ROOT).parent.as_posix()
            counts[folder] = counts.get(folder, 0) + 1
    return counts


def circle(graph: Dict[str, Set[str]]) -> List[str]:
    """The folders of one circle of imports, first and last the same; empty where there is none."""
    done: Set[str] = set()

    def visit(node: str, way: List[str]) -> List[str]:
        if node in way:
            return way[way.index(node) :] + [node]
        if node in done:
            return []
        for other in sorted(graph.get(node, ())):
            found = visit(other, way + [node])
            if found:
                return found
        done.add(node)
        return []

    for start in sorted(graph):
        found = visit(start, [])
        if found:
            return found
    return []


def main(places: List[str]) -> None:
    """Prints what is missing under `places`."""
    documented = documented_names()
    for package in PACKAGES:
        for path in sources(package):
            if not any(str(path.relative_to(ROOT)).startswith(place) for place in places):
                continue
            for function in public_functions(path):
                bare, lacking = unannotated(function), undocumented_arguments(function, documented)
                if bare:
                    print(f"{function.place}: unannotated: {', '.join(bare)}")
                if lacking:
                    print(f"{function.place}: docstring lacks {', '.join(lacking)}")
            for line, text in riddles(path):
                print(f"{path.relative_to(ROOT)}:{line}: reads as a riddle: {text[:80]}")
    for package in PACKAGES:
        print(f"{package}: circle between folders: {' -> '.join(circle(folder_imports(package))) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(PACKAGES))
