"""Losses that contain other towers' results, such as those of a collection that each tower adds to and sums up.

A replica then runs the function of the loss on all replicas' batches, and minimizes what its tower made of the results.
"""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.saved.graph.differentiation import differentiations
from legacy.source.basics.expressions import (
    Call,
    Definition,
    Expression,
    Listing,
    Name,
    Variable,
    call,
    children,
    replace,
    values_used,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.numbering import Numbering
from legacy.source.functions.function_lines import function_lines
from legacy.source.lines.penalties import penalties_ask_again
from legacy.source.lines.statements import build_statements
from legacy.source.ops.random_numbers import draws_noise
from legacy.source.step.derivatives import weight_gradients
from workloads.lifted.graph import TensorId, parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.step.towers import Towers
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

_INDENT = "    "
_DOC = "Returns what this replica minimizes, of {replica: its loss, and further results on its batch}."


class MinimizedLosses(NamedTuple):
    """The minimized losses of towers, which contain results of other towers.

    Attributes:
      rows: results of a tower that several of them use beside its loss, for each tower.
      lines: of the function of the results on all batches that a replica minimizes.
    """

    rows: List[List[Optional[str]]]
    lines: List[str]


def find_minimized(
    plan: Plan, graph: Graph, phase: Phase, towers: Towers, function: str, first: int
) -> MinimizedLosses:
    """Finds what each tower minimizes, in terms of results that each has on its own data.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      towers: its towers.
      function: name of the function that is written.
      first: place of the first row among the results of a tower.

    Returns:
      The losses.

    Raises:
      Unwritten: the results of a tower depend on more than its data and the variables that all share.
    """
    seeded = any(entry.how == "seeded" for entry in plan.noise)
    if seeded or plan.common_noise or phase.other_losses:
        random = "random numbers that only its own ops draw" if seeded else "the random numbers of all towers"
        what = "several losses" if phase.other_losses else random
        raise Unwritten(f"towers: a tower's loss contains results of another one, which has {what}")
    targets = [_minimized(plan, graph, phase, tower) for tower in range(plan.towers)]
    inputs = _inputs_of_towers(plan)
    takers = _towers_of_nodes(plan, graph, phase, targets, inputs)
    edges = [_results_of_towers(graph, takers, target, inputs) for target in targets]
    rows, results = _rows(plan, towers, edges, first)
    body: List[str] = []
    for tower, target in enumerate(targets):
        given: Dict[str, Expression] = {tensor: Name(text) for tensor, text in results.items()}
        given[phase.losses[tower]] = Name(f"results[{tower}][0]")
        lines = _body_lines(towers, tower, target.name, given)
        if any(re.search(r"\bbatch(_size)?\b", line) or draws_noise(line) for line in lines):
            raise Unwritten(f"towers: tower {tower} minimizes more of its data than results that all towers have")
        last = tower == plan.towers - 1
        body += lines if last else [f"{_INDENT}if scope.replica == {tower}:", *(_INDENT + line for line in lines)]
    return MinimizedLosses(rows, [f"def {function}(scope, results):", f'{_INDENT}"""{_DOC}"""', *body])


def _body_lines(towers: Towers, tower: int, target: str, given: Dict[str, Expression]) -> List[str]:
    """Returns the lines that compute what a tower minimizes; the towers' losses have asked for the weights before."""
    recovery, (result,) = towers.recover_given(tower, [target], given)
    definitions = _without_idle_reads(penalties_ask_again([*recovery.ordered([result]), Definition((), result)]))
    statements = build_statements([d._replace(expression=with_sums_at_once(d.expression)) for d in definitions])
    return function_lines("f()", "", statements, recovery.shape, {})[2:]


def _without_idle_reads(definitions: Sequence[Definition]) -> List[Definition]:
    """Returns definitions without the variables that none of them uses, since penalties ask for them by name."""
    used = {tensor for definition in definitions for tensor in values_used(definition.expression)}
    return [d for d in definitions if not isinstance(d.expression, Variable) or used.intersection(d.targets)]


def with_sums_at_once(expression: Expression) -> Expression:
    """Returns an expression in which each sum of several terms is one op.

    Its terms are as far from the loss as in the old graph, so that the parts of a gradient that come through them, here
    and in the towers, are added in the old order; the sum itself, which may differ by a rounding, is not reported.

    >>> expression_text(with_sums_at_once(call("sum", Listing((Name("a"), Name("b"), Name("c"))))))
    'tf.add_n([a, b, c])'
    """

    def at_once(part: Expression) -> Expression | None:
        if not isinstance(part, Call) or part.function not in ("sum", "add_in_order"):
            return None
        (terms,) = [argument.value for argument in part.arguments]
        return call("tf.add_n", Listing(tuple(map(with_sums_at_once, children(terms)))))

    return replace(expression, at_once)


def _minimized(plan: Plan, graph: Graph, phase: Phase, tower: int) -> TensorId:
    """Returns the tensor whose derivatives are a tower's gradients."""
    gradients = [parse_tensor_name(tensor).node for tensor in weight_gradients(plan, graph, phase, tower).values()]
    before = graph.ancestors(gradients, controls=False)
    found = [target for root, own in differentiations(graph, before).items() if root in before for target in own]
    if len(set(found)) != 1:
        raise Unwritten(f"towers: the graph does not tell what tower {tower} minimizes, of all towers' results")
    return TensorId(found[0], 0)


def _inputs_of_towers(plan: Plan) -> Dict[str, int]:
    """Returns {tensor: tower} of the data that one tower alone reads."""
    taken = collections.Counter(tensor for entry in plan.inputs for tensor in entry.tensors)
    return {
        tensor: tower
        for entry in plan.inputs
        for tower, tensor in enumerate(entry.tensors)
        if taken[tensor] == 1 and len(entry.tensors) == plan.towers
    }


def _towers_of_nodes(
    plan: Plan, graph: Graph, phase: Phase, targets: Sequence[TensorId], inputs: Mapping[str, int]
) -> Dict[str, Set[int]]:
    """Returns {node: towers whose data it depends on} of what is minimized and of all before it.

    Of data that all towers read, as of one batch for all, a tower's are what its own loss alone is made from.

    Args:
      plan, graph, phase: see `find_minimized`.
      targets: what each tower minimizes.
      inputs: {tensor: tower} of data, see `_inputs_of_towers`.
    """
    members = graph.ancestors([target.node for target in targets], controls=False)
    found: Dict[str, Set[int]] = {name: set() for name in members}
    starts = [(parse_tensor_name(tensor), tower) for tensor, tower in inputs.items()]
    todo = [
        (use.node, tower) for start, tower in starts for use in graph.users(start.node) if use.output == start.output
    ]
    _mark(graph, found, todo, inputs)
    shared = [
        parse_tensor_name(tensor).node for entry in plan.inputs for tensor in entry.tensors if tensor not in inputs
    ]
    before = [graph.ancestors([parse_tensor_name(loss).node], controls=False) for loss in phase.losses]
    of_shared = graph.descendants(shared, controls=False) - set(shared)
    unknown = [name for name in members & of_shared if not found[name]]
    owners = [(name, [tower for tower, own in enumerate(before) if name in own]) for name in unknown]
    _mark(graph, found, [(name, own[0]) for name, own in owners if len(own) == 1], inputs)
    return found


def _mark(graph: Graph, found: Dict[str, Set[int]], todo: List[Tuple[str, int]], inputs: Mapping[str, int]) -> None:
    """Adds a tower to the nodes that depend on some nodes of it, as far as no other data of towers are between them.

    Args:
      graph: of the lift.
      found: {node: towers}, which is changed; other nodes are passed.
      todo: (node, tower) to start from; used up.
      inputs: {tensor: tower} of data.
    """
    while todo:
        name, tower = todo.pop()
        if name in found and tower not in found[name]:
            found[name].add(tower)
            todo += [(use.node, tower) for use in graph.users(name) if TensorId(name, use.output).name not in inputs]


def _results_of_towers(
    graph: Graph, takers: Dict[str, Set[int]], target: TensorId, inputs: Dict[str, int]
) -> List[Tuple[int, str]]:
    """Returns (tower, tensor) of what a loss is made from and is computed from one tower's data alone.

    Args:
      graph: of the lift.
      takers: see `_towers_of_nodes`.
      target: the loss.
      inputs: {tensor: tower} of data.

    Returns:
      The tensors nearest to the loss.
    """
    found: Dict[str, int] = {}
    todo, seen = [target], {target}
    while todo:
        tensor = todo.pop(0)
        own = {inputs[tensor.name]} if tensor.name in inputs else takers[tensor.node]
        if len(own) == 1:
            found[tensor.name] = min(own)
        elif own:
            new = [one for one in graph.inputs(tensor.node) if one not in seen]
            seen.update(new)
            todo += new
    return [(tower, tensor) for tensor, tower in found.items()]


def _rows(
    plan: Plan, towers: Towers, edges: Sequence[Sequence[Tuple[int, str]]], first: int
) -> Tuple[List[List[Optional[str]]], Dict[str, str]]:
    """Finds rows of corresponding results of all towers among those that losses are made from.

    Args:
      plan: of the lift.
      towers: its towers.
      edges: for each tower's loss, its (tower, tensor).
      first: see `find_minimized`.

    Returns:
      The rows, and {tensor: text} of their results.
    """
    own = [
        list(dict.fromkeys(tensor for edge in edges for owner, tensor in edge if owner == t))
        for t in range(plan.towers)
    ]
    recovered = [towers.recover_given(tower, tensors, {}) for tower, tensors in enumerate(own)]
    numbering = Numbering([recovery for recovery, _ in recovered])
    alike: Dict[str, Dict[int, str]] = {}
    for tower, (recovery, ends) in enumerate(recovered):
        if any("scope.replica" in expression_text(one.expression) for one in recovery.ordered(ends)):
            raise Unwritten(f"towers: what others use of tower {tower} depends on its number")
        for tensor, end in zip(own[tower], ends):
            alike.setdefault(numbering.key(tower, end), {}).setdefault(tower, tensor)
    rows: List[List[Optional[str]]] = [
        [row[t] for t in range(plan.towers)] for row in alike.values() if len(row) == plan.towers
    ]
    texts = {t: f"results[{tower}][{first + n}]" for n, row in enumerate(rows) for tower, t in enumerate(row) if t}
    return rows, texts


def with_rows(phase: Phase, rows: Sequence[List[Optional[str]]]) -> Phase:
    """Returns a train op whose towers have further results, and to which nothing returns."""
    return dataclasses.replace(phase, early=[*phase.early, *rows], returns=[])
