"""Rows of a step's inputs: their kind, and the data source that each comes from."""

from __future__ import annotations

from collections.abc import Mapping

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row
from legacy.saved.graph import op_types
from legacy.saved.inputs.settings import gives_sizes_alone, is_of_arrays
from legacy.saved.tower_search.batch_slices import SLICES
from legacy.saved.tower_search.towers import taker_alone
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Input
from workloads.support.wording import SEVERAL, listed, plural

#: The kind of an input that no tower uses, and only the update.
_OUTSIDE = "outside the towers"


def input_rows(analysed: AnalysedStep, origins: Mapping[str, tuple[str, str]]) -> list[Row]:
    """Returns a row for each input of a step.

    Args:
      analysed: the step.
      origins: {placeholder that the analysis put in: (tensor, op type) of the data source that it replaces}.

    Returns:
      The rows, those of what enters no tower last.
    """
    return [
        {
            "name": entry.name,
            "dtype": entry.dtype,
            "shape": "unknown" if entry.shape is None else str(entry.shape),
            "kind": _kind(analysed, entry),
            "enters by": _source(analysed, origins, parse_tensor_name(entry.tensors[0])[0], entry.origin),
            "tensors": _tensors(analysed, entry),
        }
        for entry in analysed.plan.inputs + analysed.plan.common
    ]


def _tensors(analysed: AnalysedStep, entry: Input) -> str:
    """The tensors of an input, each once; of parts that some towers share, with the towers that take each."""
    takers: dict[str, list[int]] = {}
    for tower, tensor in enumerate(entry.tensors):
        takers.setdefault(tensor, []).append(tower)
    if len(takers) == 1 or len(takers) == len(entry.tensors):
        return ", ".join(takers)
    numbers = {tensor: [analysed.numbers.of(tower) for tower in towers] for tensor, towers in takers.items()}
    return ", ".join(
        f"{tensor} ({plural(len(towers), 'tower ', 'towers ')}{', '.join(map(str, towers))})"
        for tensor, towers in numbers.items()
    )


def _kind(analysed: AnalysedStep, entry: Input) -> str:
    """The kind of an input in a word; a part of each tower that has not as many rows as examples is its own.

    So is a number for each tower, or what may be one.
    """
    is_own = analysed.plan.towers > 1 and len(set(entry.tensors)) == analysed.plan.towers
    is_common = entry.is_shared and analysed.plan.towers > 1
    alone = taker_alone(analysed.graph, analysed.context.towers, entry) if is_common else None
    if alone is not None:
        return f"tower {analysed.numbers.of(alone)}'s alone"
    if is_own and (entry.kind == "whole" or (entry.kind in ("setting", "batch") and not entry.shape)):
        types = {analysed.graph.type(parse_tensor_name(name).node) for name in entry.tensors}
        return "each tower's part" if types <= {*SLICES} else "each tower's own"
    if entry.kind == "same" and entry in analysed.plan.common and analysed.plan.towers > 1:
        tensor, towers = parse_tensor_name(entry.tensors[0]), analysed.context.towers
        users = [use.node for use in analysed.graph.users(tensor.node) if use.output == tensor.output]
        return entry.kind if set(map(towers.tower_of, users)) - {None} else _OUTSIDE
    if entry.kind == "setting" and is_of_examples(analysed, entry):
        return _OUTSIDE if entry in analysed.plan.common else "of all examples"
    return entry.kind


def is_of_examples(analysed: AnalysedStep, entry: Input) -> bool:
    """Returns whether a scalar is computed from arrays that are fed, such as the mean of all rewards.

    Args:
      analysed: the step.
      entry: an input that is a scalar.
    """
    node = parse_tensor_name(entry.tensors[0]).node
    return is_of_arrays(analysed.graph, analysed.imported, node, entry in analysed.plan.common)


def _source(analysed: AnalysedStep, origins: Mapping[str, tuple[str, str]], name: str, origin: str) -> str:
    """The source of an input: "QueueDequeueV2 queue:0", or for what is computed from one, "Split of images:0".

    What is computed from several names them: "Split of labelled:0, unlabelled:0".
    """
    if name in origins:
        tensor, kind = origins[name]
        return f"{kind} {tensor}"
    before = analysed.graph.ancestors([name], controls=False)
    drawn = sorted(before & analysed.context.random)
    if drawn and not before & set(analysed.plan.sources):
        return f"{analysed.graph.type(name)} of {drawn[0]}, drawn in the graph"
    if parse_tensor_name(origin).node == name:
        sizes = set(analysed.graph.of_types(*op_types.SHAPE_OPS))
        read = analysed.graph.ancestors([name], sizes, controls=False) & set(analysed.plan.sources)
        read = {node for node in read if not gives_sizes_alone(analysed.graph, node)}
        origin = (
            listed([analysed.plan.sources[node] for node in analysed.graph.nodes if node in read], SEVERAL) or origin
        )
    return f"{analysed.graph.type(name)} of {origin}"
