"""Checks of a plan against its graph: every name that it uses is there, and every list is as long as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

import tensorflow as tf

from workloads.lifted.plan import Phase, Plan, ResultExchange
from workloads.lifted.plan.initializers import is_initializer
from workloads.lifted.plan.json_types import require_types
from workloads.lifted.plan.settings import is_number
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Input

SPARSE_PARTS = ("indices", "values", "shape")
KINDS = ("batch", "whole", "same batch", "same", "setting")
ROLES = ("weight", "slot", "average", "statistic", "state")
HOW = ("keyed", "seeded")
COMBINES = ("mean", "sum", "concat", "kept as written")
#: The most towers, examples of a tower, and elements of one input, that a plan can mean.
MOST_TOWERS, MOST_EXAMPLES, MOST_ELEMENTS = 1024, 1 << 20, 1 << 27


def require_plan_of_graph(plan: Plan, graph: Graph, subject: str) -> None:
    """Checks a plan that was read from anywhere.

    Args:
      plan: the plan.
      graph: the lift's graph.
      subject: beginning of the message.

    Raises:
      InputError: a value is of another type, or names what the graph or the plan does not have.
    """
    require_types(plan, Plan, subject)
    problem = next(_Checks(plan, graph).problems(), None)
    if problem is not None:
        raise InputError(f"{subject}: {problem}")


class _Checks:
    """Checks of a plan whose types are right."""

    def __init__(self, plan: Plan, graph: Graph) -> None:
        self._plan, self._graph = plan, graph
        self._variables = {variable.name for variable in plan.variables}

    def problems(self) -> Iterator[str]:
        """Yields the problems, one phrase each."""
        plan = self._plan
        if not 1 <= plan.towers <= MOST_TOWERS:
            yield f"towers is {plan.towers}, expected 1 to {MOST_TOWERS}"
        if plan.batch is not None and not 1 <= plan.batch <= MOST_EXAMPLES:
            yield f"batch is {plan.batch}, expected 1 to {MOST_EXAMPLES}"
        if plan.usual_batch is not None and plan.usual_batch < 1:
            yield f"usual_batch is {plan.usual_batch}, expected at least 1"
        if not 0 <= plan.own_batches <= MOST_EXAMPLES:
            yield f"own_batches is {plan.own_batches}, expected 0 to {MOST_EXAMPLES}"
        if not plan.phases:
            yield "it has no train op"
        for entry in plan.inputs + plan.common:
            yield from self._input_problems(entry)
        yield from self._variable_problems()
        yield from self._noise_problems()
        yield from self._tensors("sources", [name + ":0" for name in plan.sources])
        yield from self._tensors("aliases", plan.aliases)
        yield from self._members("aliases", plan.aliases.values())
        yield from self._tensors("tensors", plan.tensors)
        for name, kind in plan.tensors.items():
            yield from _type_problems(f"tensor {name!r}", kind.dtype, kind.shape or ())
        yield from self._nodes("factors_of_towers", plan.factors_of_towers)
        for phase in plan.phases:
            yield from self._phase_problems(phase)

    def _input_problems(self, entry: Input) -> Iterator[str]:
        where = f"input {entry.name!r}"
        yield from _choice(where, entry.kind, KINDS)
        yield from _type_problems(where, entry.dtype, entry.shape or ())
        if not 0 <= entry.limit < 1 << 63 or not -(1 << 31) <= entry.low < 1 << 31:
            yield f"{where} has the limits {entry.low} and {entry.limit}"
        if any(size is not None and not 0 <= size < 1 << 20 for size in entry.example) or len(entry.example) > 8:
            yield f"{where} has the example {entry.example}"
        part = entry.sparse.rpartition("/")[2]
        if entry.sparse and part not in SPARSE_PARTS:
            yield f"{where} is part {part[:40]!r} of a sparse tensor, allowed: " + ", ".join(SPARSE_PARTS)
        if entry.value and (entry.kind != "setting" or not is_number(entry.value)):
            yield f"{where} has the value {entry.value[:40]!r}"
        yield from self._rows(where, [entry.tensors], single=True)
        yield from self._tensors(where, entry.tensors)
        elements = 1
        for size in entry.example or entry.shape or ():
            elements *= (self._plan.batch or 1) if size is None else size
        if elements > MOST_ELEMENTS:
            yield f"{where} has the shape {entry.shape}, too large for one step"
        yield from self._typed(where, entry)

    def _variable_problems(self) -> Iterator[str]:
        if len(self._variables) < len(self._plan.variables):
            yield "two variables have one name"
        yield from self._nodes("variables", self._variables)
        for variable in self._plan.variables:
            where = f"variable {variable.name!r}"
            yield from _choice(where, variable.role, ROLES)
            if variable.initializer and not is_initializer(variable.initializer):
                yield f"{where} has the initializer {variable.initializer[:40]!r}"
            yield from _type_problems(where, variable.dtype, variable.shape)

    def _noise_problems(self) -> Iterator[str]:
        for entry in self._plan.noise + self._plan.common_noise:
            where = f"noise {entry.name!r}"
            yield from _choice(where, entry.how, HOW)
            yield from self._rows(where, [entry.nodes], single=True)
            yield from self._nodes(where, [node for node in entry.nodes if node is not None])
            yield from self._nodes(where, entry.loops)
            yield from self._tensors(where, [loop.counter for loop in entry.loops.values()])

    def _phase_problems(self, phase: Phase) -> Iterator[str]:
        where = f"train op {phase.train_op!r}"
        yield from self._nodes(where, [phase.train_op])
        yield from self._rows(where, [phase.losses], empty=True)
        exchanges = [ResultExchange(phase.early, phase.returns, phase.kept), *phase.exchanges]
        lists = [rows for exchange in exchanges for rows in (exchange.returns, exchange.kept)]
        yield from self._rows(where, [phase.gradients, phase.raw, *lists], empty=True)
        leaving = phase.crossings + [row for exchange in exchanges for row in exchange.early]
        yield from self._rows(where, leaving)
        rows = leaving + [row for own in lists for row in own]
        named = [tensor for row in rows for tensor in row if tensor is not None]
        named += [tensor for tower in phase.gradients + phase.raw for tensor in tower.values()]
        yield from self._rows(where, phase.other_losses)
        if len(phase.other_scales) not in (0, len(phase.other_losses)):
            yield f"{where}: other_scales has {len(phase.other_scales)} numbers for {len(phase.other_losses)} losses"
        named += [tensor for row in phase.other_losses for tensor in row]
        named += phase.losses + list(phase.twins) + list(phase.twins.values()) + list(phase.state_crossings)
        named += phase.joined
        yield from self._tensors(where, named)
        for combine in phase.reductions:
            yield from _choice(f"{where}, combining", combine.kind, COMBINES)
            yield from self._rows(where, [combine.parts])
            yield from self._tensors(where, [combine.tensor] + [t for part in combine.parts for t in part])
        yield from self._effect_problems(phase, where)
        edges = [edge for edges in [phase.control_dependencies, *phase.other_control_dependencies] for edge in edges]
        yield from self._nodes(where, [node for edge in edges for node in edge])
        yield from self._nodes(where, [read.node for read in phase.versions])
        yield from self._members(where, [read.variable for read in phase.versions])
        yield from self._members(where, phase.joined_beside)

    def _effect_problems(self, phase: Phase, where: str) -> Iterator[str]:
        for effect in phase.effects:
            yield from self._nodes(where, [effect.node])
            yield from self._members(where, effect.writes)
            optional = [effect.gradient, effect.learning_rate]
            predicates = [condition.predicate for condition in effect.conditions]
            yield from self._tensors(where, [*effect.values, *predicates, *(tensor for tensor in optional if tensor)])
            if effect.node in self._graph.nodes and self._graph.type(effect.node) != effect.op:
                yield f"{where}: {effect.node!r} is no {effect.op}"
            for place in (effect.gradient_at, effect.learning_rate_at):
                if not -1 <= place < len(effect.values):
                    yield f"{where}: {effect.node!r} has no input {place}"
            if not effect.writes:
                yield f"{where}: {effect.node!r} changes nothing"

    def _tensors(self, where: str, names: Iterable[str]) -> Iterator[str]:
        """Yields names that are not those of tensors of the graph."""
        for name in names:
            node, _, output = name.partition(":")
            if node not in self._graph.nodes or not (output.isascii() and output.isdigit() and len(output) < 6):
                yield f"{where} names {name[:80]!r}, which is no tensor of the graph"

    def _typed(self, where: str, entry: Input) -> Iterator[str]:
        """Yields tensors of an input whose types the plan does not have, or has otherwise."""
        for name in entry.tensors:
            known = self._plan.tensors.get(name)
            if known is None:
                yield f"{where} names {name[:80]!r}, whose type is not in the plan"
            elif known.dtype != entry.dtype or not _is_within(entry.shape, known.shape):
                yield f"{where} is not of the type of {name[:80]!r}"

    def _nodes(self, where: str, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            if name not in self._graph.nodes:
                yield f"{where} names {name[:80]!r}, which is no node of the graph"

    def _members(self, where: str, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            if name not in self._variables:
                yield f"{where} names {name[:80]!r}, which is no variable of the plan"

    def _rows(
        self, where: str, rows: Iterable[Collection[Any]], single: bool = False, empty: bool = False
    ) -> Iterator[str]:
        """Yields rows that do not have an entry for each tower."""
        for row in rows:
            fine = len(row) == self._plan.towers or (single and len(row) == 1) or (empty and not row)
            if not fine:
                yield f"{where} has a row of {len(row)}, expected {self._plan.towers}, one for each tower"


def _choice(where: str, value: str, allowed: Iterable[str]) -> Iterator[str]:
    if value not in tuple(allowed):
        yield f"{where} is {value[:40]!r}, allowed: " + ", ".join(allowed)


def _is_within(shape: Sequence[int | None] | None, known: Sequence[int | None] | None) -> bool:
    """Whether a shape is a known one: ops may tell a rank, and the program's `set_shape` sizes, that it leaves open."""
    if known is None or shape is None:
        return known is None
    return len(shape) == len(known) and all(size in (None, own) for own, size in zip(shape, known))


def _type_problems(where: str, dtype: str, shape: Iterable[int | None]) -> Iterator[str]:
    """Yields a dtype that there is not, or a dimension that cannot be."""
    try:
        tf.as_dtype(dtype)
    except TypeError:
        yield f"{where} is of the dtype {dtype[:40]!r}, which there is not"
    if any(size is not None and not 0 <= size < 1 << 40 for size in shape):
        yield f"{where} has the shape {list(shape)}"
