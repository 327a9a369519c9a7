"""Tensors that a recorded program fed in place of their own values, such as the zero state that a cell made.

A session takes a feed for any tensor. The graph alone then computes something else than the program did.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Tuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs.recording_folder import ABOUT, STEPS, read_about
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive
from workloads.support.wording import SEVERAL, listed, plural

#: The most steps of a recording that are compared, and bytes of each.
MOST_STEPS, MOST_BYTES = 4, 1 << 30
PREFIX = "tensors/"


class FedTensor(NamedTuple):
    """A tensor that was fed in place of its own value.

    Attributes:
      name: of the tensor.
      source: the tensor whose value of the step before was fed; "" where the recording has none.
      is_computed: whether the graph computes it of data or weights, and not of constants alone.
      is_placeholder: whether it is a placeholder, which got what the step before had fetched.
      shape: of the recorded value.
      is_set_back: whether some recorded steps got zeros instead, as where a pass over the data begins.
      rows_set_back: whether they got zeros in some rows, as of the examples whose sequence begins.
    """

    name: str
    source: str
    is_computed: bool = False
    is_placeholder: bool = False
    shape: Tuple[int, ...] = ()
    is_set_back: bool = False
    rows_set_back: bool = False


def fed_tensors(saved: SavedGraph) -> list[FedTensor]:
    """Returns the tensors that the recording beside a graph file fed in place of their own values, or carried.

    The graph computes them of constants alone, and the recording has other values in other steps; or the recording
    names them, and the graph computes them of data or weights; or they are placeholders that get, in each step, what
    the program fetched in the one before.

    Args:
      saved: the graph, as read from its file.

    Returns:
      The tensors, in the order of their names; [] without a recording, or if it cannot be read.
    """
    path = os.path.join(os.path.dirname(saved.path), STEPS)
    if not os.path.isfile(path):
        return []
    graph = saved.graph
    try:
        archive = ArrayArchive(path, path, MOST_STEPS * MOST_BYTES)
        contents = [bytes(archive.content(name, MOST_BYTES)) for name in archive.names[:MOST_STEPS]]
        steps = [ArrayArchive(io.BytesIO(content), path) for content in contents]
        recorded = [name for name in steps[0].names if name.startswith(PREFIX)] if steps else []
        nodes = {name: parse_tensor_name(name[len(PREFIX) :]).node for name in recorded}
        depends = dependent(graph)
        constant = {
            name: node
            for name, node in nodes.items()
            if node in graph.nodes and node not in depends and not is_gradient_op(node)
        }
        fed = {name: node for name, node in sorted(constant.items()) if _varies(steps, name)}
        behind = {node: graph.descendants([node], controls=False) for node in fed.values()}
        found = []
        for name, node in fed.items():
            places = [behind[node], *behind.values()]  # its own tower's, or another one's by mistake
            sources = (_source(steps, name, [other for other in nodes if nodes[other] in place]) for place in places)
            source = next(filter(None, sources), "")
            carried = FedTensor(name[len(PREFIX) :], source, shape=_shape(steps, name))
            found.append(_with_begins(steps, carried) if source else carried)
        found += _carried_placeholders(graph, steps, nodes)
        return found + [FedTensor(name, "", True) for name in named_feeds(saved) if _is_computed(graph, name, depends)]
    except InputError:
        return []


def _carried_placeholders(graph: Graph, steps: list[ArrayArchive], nodes: dict[str, str]) -> list[FedTensor]:
    """The placeholders that get a recorded tensor's value of the step before, such as the memory of a Transformer-XL.

    Args:
      graph: the whole graph.
      steps: recorded steps.
      nodes: {name in a step's archive: node} of all recorded tensors.

    Returns:
      The placeholders, in the order of their names.
    """
    kinds = {name: graph.type(node) for name, node in nodes.items() if node in graph.nodes}
    computed = [
        name for name, kind in sorted(kinds.items()) if not op_types.is_source(kind) and kind not in op_types.VARIABLES
    ]
    found = []
    for name in sorted(kinds):
        if not kinds[name].startswith("Placeholder") or not _varies(steps, name):
            continue
        behind = graph.descendants([nodes[name]], controls=False)
        others = sorted(computed, key=lambda other: nodes[other] not in behind)
        source = _source(steps, name, others)
        if source:
            found.append(_with_begins(steps, FedTensor(name[len(PREFIX) :], source, False, True, _shape(steps, name))))
    return found


def _with_begins(steps: list[ArrayArchive], carried: FedTensor) -> FedTensor:
    """Returns a carried tensor with what it got where it begins again."""
    name, source = PREFIX + carried.name, PREFIX + carried.source
    pairs = _pairs(steps, name, source)
    rows = any(step.checksum(source) != after.checksum(name) for step, after in pairs)
    is_set_back = any(name in step and _is_zero(step, name) for step in steps[1:])
    return carried._replace(is_set_back=is_set_back, rows_set_back=rows)


def named_feeds(saved: SavedGraph) -> list[str]:
    """Returns the tensors that are no placeholders and that the recording names as fed; an old recorder named none."""
    folder = os.path.dirname(saved.path)
    if not os.path.isfile(os.path.join(folder, ABOUT)):
        return []
    names = read_about(folder, folder).get("fed", [])
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _is_computed(graph: Graph, name: str, depends: Collection[str]) -> bool:
    """Whether a tensor is what an op computes of data or weights, and no data themselves."""
    node = parse_tensor_name(name).node
    kind = graph.type(node) if node in graph.nodes else ""
    is_given = op_types.is_source(kind) or op_types.is_random(kind) or kind in op_types.VARIABLES
    return node in depends and not is_given


def feeds_text(fed: Collection[FedTensor]) -> str:
    """Returns a sentence on tensors that a program fed, with the flag that a lift needs; "" if there are none."""
    computed = [tensor.name for tensor in fed if tensor.is_computed]
    fed = [tensor for tensor in fed if not tensor.is_computed]
    if computed:
        text = f"the program fed {listed(computed, SEVERAL)} in place of what the graph computes there"
        rest = feeds_text(fed)
        return f"{text}; a lift computes {plural(len(computed), 'it', 'them')}" + (f"; {rest}" if rest else "")
    if not fed:
        return ""
    carried = ",".join(f"{tensor.name}={tensor.source or 'TENSOR'}" for tensor in fed)
    known = all(tensor.source for tensor in fed)
    which = "" if known else ", where TENSOR is what the program fetched in the step before"
    own = [tensor.name for tensor in fed if tensor.is_placeholder]
    other = [tensor.name for tensor in fed if not tensor.is_placeholder]
    are = plural(len(other), "is no placeholder", "are no placeholders")
    parts = [f"{listed(other, SEVERAL)}, which {are}"] if other else []
    parts += [f"{listed(own, SEVERAL)} with what it had fetched in the step before"] if own else []
    return f"the program fed {', and '.join(parts)}: lift it with --carry={carried}{which}"


def fed_rows(fed: Collection[FedTensor]) -> list[dict[str, Any]]:
    """Returns rows of "carried state", one for each tensor that the program, and no op, carried from step to step."""
    return [
        {
            "variable": tensor.name,
            "of": "-",
            "changed by": f"the program, which feeds {tensor.source or 'what it fetched'}"
            + (", or zeros to begin again" if tensor.is_set_back else "")
            + (", with zeros in rows that begin again" if tensor.rows_set_back else ""),
            "decay": "-",
            "op": "-",
        }
        for tensor in fed
        if not tensor.is_computed
    ]


def recorded_carry(fed: Collection[FedTensor]) -> dict[str, str]:
    """Returns {fed tensor: tensor that the program fetched in the step before}, where the recording has both."""
    return {tensor.name: tensor.source for tensor in fed if tensor.source and not tensor.is_computed}


def carried_text(carried: Mapping[str, str], begun: Sequence[str] = ()) -> str:
    """Returns a sentence on state that is carried as a recording shows it.

    >>> carried_text({"state:0": "last:0"})
    'state:0 gets what last:0 was in the step before, as in the recording beside the graph; --carry sets other pairs'

    Args:
      carried: {fed tensor: tensor that the program fetched in the step before}.
      begun: those that got zeros in some recorded steps, or in some rows.

    Returns:
      The sentence.
    """
    again = f"; the program set {listed(begun, SEVERAL)} back to zeros in some steps or rows, as where a sequence "
    again += "begins, and a lift does not"
    pairs = [f"{fed} gets what {source} was in the step before" for fed, source in carried.items()]
    text = f"{listed(pairs, SEVERAL)}, as in the recording beside the graph; --carry sets other pairs"
    return text + again if begun else text


def carry_flag(fed: Collection[FedTensor]) -> list[str]:
    """Returns the flag by which a lift carries what the program carried; none where a source is not known."""
    carried = [tensor for tensor in fed if not tensor.is_computed]
    if not carried or not all(tensor.source for tensor in carried):
        return []
    return ["--carry=" + ",".join(f"{tensor.name}={tensor.source}" for tensor in carried)]


def dependent(graph: Graph) -> set[str]:
    """Returns the nodes whose values follow from more than constants and shapes."""
    kinds = {name: graph.type(name) for name in graph.nodes}
    roots = {
        name
        for name, kind in kinds.items()
        if kind in op_types.VARIABLES
        or kind.startswith("Placeholder")
        or op_types.is_source(kind)
        or op_types.is_random(kind)
    }
    shapes = {name for name, kind in kinds.items() if kind in op_types.SHAPE_OPS}
    stateful = {name for name, kind in kinds.items() if not graph.inputs(name) and kind != "Const"} - roots
    return (graph.descendants(roots | stateful, controls=False, stop=shapes) - shapes) | roots | stateful


def _varies(steps: list[ArrayArchive], name: str) -> bool:
    """Whether a tensor has values of one shape that differ from step to step; sizes may follow the data."""
    values = [step.array(name) for step in steps if name in step]
    return (
        len({value.shape for value in values}) == 1
        and values[0].ndim > 0
        and values[0].dtype.kind == "f"
        and any(value.tobytes() != values[0].tobytes() for value in values[1:])
    )


def _shape(steps: list[ArrayArchive], name: str) -> Tuple[int, ...]:
    """The shape of a tensor's values, which is the same in all steps."""
    return next(step.array(name).shape for step in steps if name in step)


def _source(steps: list[ArrayArchive], name: str, others: Collection[str]) -> str:
    """The tensor among some recorded ones whose value of each step is fed in the next; "" if there is none.

    Steps that are fed zeros begin again, and tell nothing; neither do rows of zeros, as where a sequence ends.
    """
    for other in others:
        pairs = _pairs(steps, name, other) if other != name else []
        if pairs and all(_goes_on(step, other, after, name) for step, after in pairs):
            return other[len(PREFIX) :]
    return ""


def _pairs(steps: list[ArrayArchive], name: str, other: str) -> list[tuple[ArrayArchive, ArrayArchive]]:
    """Pairs of a step with a tensor and the next one, in which another tensor is fed and does not begin again."""
    pairs = [(step, after) for step, after in zip(steps, steps[1:]) if other in step and name in after]
    return [(step, after) for step, after in pairs if not _is_zero(after, name)]


def _goes_on(step: ArrayArchive, other: str, after: ArrayArchive, name: str) -> bool:
    """Returns whether a fed tensor has the value of another one of the step before, but for rows of zeros."""
    if step.checksum(other) == after.checksum(name):
        return _equal(step.array(other), after.array(name))
    fed = after.array(name)
    kept = np.any(fed, axis=tuple(range(1, fed.ndim)))
    if kept.all():
        return False
    value = step.array(other)
    return value.shape == fed.shape and _equal(value[kept], fed[kept])


def _is_zero(step: ArrayArchive, name: str) -> bool:
    return not step.array(name).any()


def _equal(value: np.ndarray, other: np.ndarray) -> bool:
    return value.shape == other.shape and value.dtype == other.dtype and value.tobytes() == other.tobytes()
