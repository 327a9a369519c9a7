"""Constants of the old graph that are too large for a text: arrays in a file beside the source."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np
import tensorflow as tf

from legacy.source.basics.typed import MOST_FOLDED
from legacy.source.ops.arrays import TABLES
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy
from workloads.support.errors import InputError
from workloads.support.files.json_file import STDOUT
from workloads.support.wording import SEVERAL, listed

if TYPE_CHECKING:
    from workloads.program import Arrays

#: Ending of the file's name, which is otherwise the source's.
ENDING = ".npz"
_USE = re.compile(rf'\b{TABLES}\["([^"]+)"\]')
#: Begins the statements of a module.
_IMPORTS = re.compile(r"^(?:import|from) .*(?:\n(?:import|from) .*|\n)*", re.MULTILINE)
#: Loads the arrays; the file is found by the module's own name.
_LOAD = f"""\
#: Tables of numbers of the old graph, from the file that was written beside this one.
{TABLES}_FILE = pathlib.Path(__file__).with_suffix("{ENDING}")
if not {TABLES}_FILE.exists():
    raise FileNotFoundError(f"{{{TABLES}_FILE}} has this program's tables of numbers; keep it beside {{__file__}}")
{TABLES} = dict(np.load({TABLES}_FILE))
"""


def tables_of(text: str, graph: Graph) -> Arrays:
    """Returns {constant of the graph: its array} of the tables that a text uses."""
    names = dict.fromkeys(_USE.findall(text))
    return {name: tf.make_ndarray(graph.nodes[name].attr["value"].tensor) for name in names}


def with_equal_tables_joined(graph: Graph) -> Graph:
    """Returns a graph in which equal tables are one constant, such as those that each tower has.

    Those of a `while` loop, which control inputs keep in its frame, stay.
    """
    large = [node for node in graph.graph_def.node if node.op == "Const" and not node.input and _is_table(node)]
    first: Dict[bytes, str] = {}
    others: Dict[str, str] = {}
    for node in large:
        key = node.attr["value"].SerializeToString()
        if first.setdefault(key, node.name) != node.name:
            others[node.name] = first[key]
    if not others:
        return graph
    result = GraphCopy(graph)
    for node in result.graph_def.node:
        if not others.keys().isdisjoint(text.partition(":")[0] for text in node.input):
            node.input[:] = [others.get(text.partition(":")[0], text) for text in node.input]
    return result.graph()


def _is_table(node: Any) -> bool:
    """Returns whether a constant may be too large for a text."""
    shape = node.attr["value"].tensor.tensor_shape.dim
    return int(np.prod([size.size for size in shape])) > MOST_FOLDED


def with_tables(text: str) -> str:
    """Returns a module that loads its tables before it uses them; one without tables as it is."""
    if not _USE.search(text):
        return text
    found = _IMPORTS.search(text, text.index('"""', 3))
    assert found is not None
    body = text[found.end() :].lstrip("\n")
    lines = {line for line in found.group().splitlines() if line} | {"import numpy as np", "import pathlib"}
    return text[: found.start()] + _sorted_imports(lines) + "\n" + _LOAD + body


def _sorted_imports(lines: set[str]) -> str:
    """Returns the text of imports in their usual order, in groups."""
    groups: Dict[int, List[str]] = {}
    for line in sorted(lines, key=lambda text: (text.startswith("from"), text)):
        groups.setdefault(_group(line.split()[1].partition(".")[0]), []).append(line)
    return "\n\n".join("\n".join(group) for _, group in sorted(groups.items())) + "\n"


def _group(module: str) -> int:
    return {"__future__": 0, "numpy": 2, "tensorflow": 2, "workloads": 3}.get(module, 1)


def tables_note(tables: Arrays) -> List[str]:
    """Returns the sentence that names the tables; nothing without any."""
    if not tables:
        return []
    named = [f"{name} {list(array.shape)}" for name, array in tables.items()]
    return [f"tables of numbers are in the {ENDING} file beside it: {listed(named, SEVERAL)}"]


def write_tables(path: str, tables: Arrays) -> None:
    """Writes the tables of a source beside it.

    Args:
      path: of the source.
      tables: {name: array}.

    Raises:
      InputError: the file cannot be written.
    """
    if path == STDOUT:
        raise InputError(
            "--source: got '-', but the program has tables of numbers, which are written beside it; name a file"
        )
    file = os.path.splitext(path)[0] + ENDING
    named: Dict[str, Any] = dict(tables)
    try:
        np.savez_compressed(file, **named)
    except OSError as error:
        raise InputError(f"--source: {file} cannot be written: {error.strerror}") from error
