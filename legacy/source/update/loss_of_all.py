"""A loss of all towers: what is minimized, as a function of each tower's loss, such as a mean over all examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import BATCH_SIZE, Definition, Name
from legacy.source.basics.forward import Forward
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.recovery import Recovery
from legacy.source.update.changes.place import names_of_variables
from legacy.source.update.changes.wave_lines import own_lines
from legacy.source.update.shared import part_names
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

_INDENT = "    "


class LossOfAll(NamedTuple):
    """A function of all towers' results that is minimized.

    Attributes:
      lines: of the function, of all losses and of each row of data.
      rows: what it needs beside the losses: the tensors of all towers. First further results of weights, such as those
        of a second head, then data, such as labels.
      results: number of the former, by which it is differentiated, too.
    """

    lines: List[str]
    rows: List[List[Optional[str]]]
    results: int = 0


def loss_of_all_lines(plan: Plan, graph: Graph, phase: Phase, function: str) -> LossOfAll:
    """Writes the function of the losses of all towers that a train op minimizes.

    Its derivative by one tower's loss is what this tower's gradients begin with.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op, whose towers' gradients depend on all towers' results.
      function: name of the function.

    Returns:
      The function.

    Raises:
      Unwritten: what is minimized depends on more of the towers than their losses and data.
    """
    names = {tensor: Name(f"losses[{tower}]") for tower, tensor in enumerate(phase.losses)}
    data: List[Sequence[Optional[str]]] = [
        entry.tensors for entry in plan.inputs if len(set(entry.tensors)) == plan.towers
    ]
    given = [tensor for entry in plan.inputs + plan.common for tensor in entry.tensors]
    further = _further_results(plan, graph, phase)
    cuts = list(dict.fromkeys([*names, *(str(tensor) for row in further for tensor in row), *given]))
    cut = cut_part(plan, graph, [_minimized(graph, phase, further)], cuts, phase.versions)
    used = {str(feed.key) for feed in cut.piece.feeds}.difference(names)
    further = [row for row in further if used & set(row)]
    rows = [*further, *([*row] for row in data if used & set(row))]
    for part, row in zip(part_names(len(rows)), rows):
        names.update((str(tensor), Name(f"{part}s[{tower}]")) for tower, tensor in enumerate(row))
    others = [str(feed.key) for feed in cut.piece.feeds if str(feed.key) not in names]
    if others:
        raise Unwritten(f"towers: the loss of all towers depends on {others[0]!r} besides the towers' losses")
    recovery = Recovery(Forward(cut, plan), names_of_variables(plan, names))
    result = recovery.expression_of(cut.fetches[0] if ":" in cut.fetches[0] else cut.fetches[0] + ":0")
    lines = own_lines([*recovery.ordered([result]), Definition((), result)], plan.towers, {}, len(_INDENT))
    last = max(n for n, line in enumerate(lines) if line[: len(_INDENT) + 1].strip() not in ("", ")"))
    lines[last] = f"{_INDENT}return {lines[last].strip()}"
    doc = f'{_INDENT}"""Returns the loss that is minimized, which is made of the losses of all replicas."""'
    if any(re.search(rf"\b{BATCH_SIZE.text}\b", line) for line in lines):
        if not plan.tensors[phase.losses[0]].shape:
            raise Unwritten("towers: the loss of all towers depends on their number of examples, which no result tells")
        lines = [f"{_INDENT}{BATCH_SIZE.text} = int(losses[0].shape[0])", *lines]
    parameters = ", ".join(["losses", *(f"{part}s" for part in part_names(len(rows)))])
    return LossOfAll([f"def {function}({parameters}):", doc, *lines], rows, len(further))


def _further_results(plan: Plan, graph: Graph, phase: Phase) -> List[List[Optional[str]]]:
    """Returns the results of all towers that weights are in, as those of a second head, beside the losses."""
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    return [
        row
        for row in phase.early
        if row != phase.losses
        and not any(tensor is None for tensor in row)
        and weights & graph.ancestors([parse_tensor_name(str(row[0])).node], controls=False)
    ]


def _minimized(graph: Graph, phase: Phase, further: Sequence[Sequence[Optional[str]]]) -> str:
    """Returns the tensor that is differentiated and depends on all towers' losses, with `further` results or without.

    Where a tower minimizes less or more than another one, as of a collection that each adds to, there is none.
    """
    losses = {parse_tensor_name(tensor).node for tensor in phase.losses}
    targets = differentiated(graph, graph.ancestors([phase.train_op]))
    used = {name: losses & graph.ancestors([name], controls=False) for name in targets}
    found = [name for name in targets if used[name]]
    if len(found) != 1 or used[found[0]] != losses:
        raise Unwritten("towers: the graph does not tell which loss of all towers is minimized")
    results = {parse_tensor_name(str(tensor)).node for row in further for tensor in row}
    return _without_other_terms(graph, losses | results, found[0]) + ":0"


def _without_other_terms(graph: Graph, results: Collection[str], name: str) -> str:
    """Returns the one term of a sum that depends on the towers' results; the sum itself where several do.

    The derivative by a result is that of this term. Penalties, which no tower computes, reach the update by themselves.
    """
    while graph.type(name) in ("Identity", *op_types.ADDITIONS):
        terms = {one.node for one in graph.inputs(name) if graph.ancestors([one.node], controls=False) & set(results)}
        if len(terms) != 1 or name in results:
            break
        name = terms.pop()
    return name
