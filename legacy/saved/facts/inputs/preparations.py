"""Inputs that enter the towers behind ops that compute with them: a lift takes their results, not what was read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.inputs.input_rows import is_of_examples
from legacy.saved.graph import op_types
from legacy.saved.inputs.settings import is_scalar_setting
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.support.wording import SEVERAL, listed

#: Ops that move numbers, or give them another dtype or shape, which an input shows.
_MOVES = frozenset(
    (
        "Cast",
        "Concat",
        "ConcatV2",
        "Identity",
        "Pack",
        "ParallelConcat",
        "Slice",
        "Split",
        "SplitV",
        "StridedSlice",
        "Transpose",
        "Unpack",
        *op_types.VIEWS,
        *op_types.SHAPE_OPS,
    )
)
#: {op that joins tensors: its inputs that are joined, without the axis}.
_JOINED = {"Concat": slice(1, None), "ConcatV2": slice(0, -1), "Pack": slice(0, None)}
_NUMBER = re.compile(r"\d+")
#: A name scope up to its first number.
_NUMBERED = re.compile(r"^.*?\d+(?=/|$)")
#: So many inputs that are computed alike have a sentence each.
MOST_APART = 2


def preparation_sentences(analysed: AnalysedStep) -> Iterator[str]:
    """Yields a sentence for each input that ops outside of the towers compute from what is read.

    The ops are no part of a lift, whose data begin at the input's tensors: features that the old program normalized
    before it split them must be normalized already.

    Args:
      analysed: the training step.

    Yields:
      the sentences; one for three inputs or more that are made of the same data, as where a pass over the whole batch
      moves statistics besides the towers.
    """
    groups: dict[tuple[str, str], list[tuple[str, set[str]]]] = {}
    for name, where, read, types in _prepared_inputs(analysed):
        groups.setdefault((where, read), []).append((name, types))
    for (where, read), made in groups.items():
        whole = [(listed([name for name, _ in made], SEVERAL), set().union(*(types for _, types in made)))]
        for names, types in whole if len(made) > MOST_APART else made:
            are, them = ("are", "them") if len(made) > MOST_APART else ("is", names)
            made_of = listed(sorted(types), SEVERAL)
            yield (
                f"{names} {are} what ops {where} the towers compute from {read} ({made_of}); a lift "
                f"leaves them out: its data for {them} are their results"
            )


def _prepared_inputs(analysed: AnalysedStep) -> Iterator[tuple[str, str, str, set[str]]]:
    """Yields (input, place of the ops that compute it, what they read, their types)."""
    graph, plan = analysed.graph, analysed.plan
    sources = {name for name in plan.sources if not is_scalar_setting(graph, analysed.imported, name)}
    sizes = set(graph.of_types(*op_types.SHAPE_OPS))  # a size is no data
    for entry in [one for one in plan.inputs + plan.common if one.kind != "setting" or is_of_examples(analysed, one)]:
        ends = {parse_tensor_name(name).node for name in entry.tensors} - sources
        before = graph.ancestors(ends, sources | sizes, controls=False)
        after = graph.descendants(before & sources, controls=False, stop=sizes)
        behind = (before & after) - sources
        computing = {name for name in behind if graph.type(name) not in _MOVES or _adds_numbers(graph, name, after)}
        types = {graph.type(name) for name in computing}
        if types:
            types |= {graph.type(name) for name in before if op_types.is_random(graph.type(name))}
            read = listed([plan.sources[name] for name in graph.nodes if name in before & sources], SEVERAL)
            is_inside = _are_of_towers(analysed, ends) and _are_of_towers(analysed, computing)
            yield entry.name, "at the start of" if is_inside else "outside of", read, types


def _adds_numbers(graph: Graph, name: str, data: Collection[str]) -> bool:
    """Whether a node joins data with what was not read, as the zeros before a sequence that is shifted by one.

    Args:
      graph: the graph.
      name: the node.
      data: nodes that what was read enters, or that it is.
    """
    values = _JOINED.get(graph.type(name))
    return values is not None and any(tensor.node not in data for tensor in graph.inputs(name)[values])


def _are_of_towers(analysed: AnalysedStep, ends: Collection[str]) -> bool:
    """Returns whether each tower has a node of its own among some: by its device, or in scopes that differ in numbers.

    `embedding_lookup` stands in its tower's scope, and on the device of the table. An op outside of the towers that is
    called twice has a scope with a number, too, in which no tower computes.
    """
    scopes = {name.rpartition("/")[0] for name in ends}
    is_numbered = len(scopes) == len({_NUMBER.sub("#", scope) for scope in scopes}) * analysed.plan.towers
    is_numbered = is_numbered and _have_towers(analysed, scopes)
    return len(ends) > 1 and (is_numbered or set(ends) <= analysed.context.towers.slices)


def _have_towers(analysed: AnalysedStep, scopes: Collection[str]) -> bool:
    """Returns whether a tower computes in each of some name scopes, or in the outermost one with a number around it."""
    matches = (_NUMBERED.match(scope) for scope in scopes)
    around = {match.group() + "/" for match in matches if match is not None}
    owned = [name for name in analysed.graph.nodes if analysed.context.towers.tower_of(name) is not None]
    return all(any(name.startswith(scope) for name in owned) for scope in around)
