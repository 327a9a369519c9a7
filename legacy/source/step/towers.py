"""The towers of a train op, recovered one by one from their parts of the graph, and merged where they differ."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Set, Tuple

from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import (
    Expression,
    Item,
    Name,
    call,
)
from legacy.source.basics.forward import Forward
from legacy.source.basics.inner_targets import inner_targets
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.alignment import align_towers
from legacy.source.definitions.differences import merge_losses
from legacy.source.definitions.inner_gradients import find_inner_gradients
from legacy.source.definitions.input_values import Names
from legacy.source.definitions.recovery import Recovery
from legacy.source.step.derivatives import types_of
from legacy.source.step.input_names import InputNames, whole_sizes
from legacy.source.step.integer_noise import bounds_of_integers
from legacy.source.step.statistics import EACH_TOWER, Statistics
from workloads.lifted.graph import CONTROL_FLOW, parse_tensor_name
from workloads.lifted.pieces.piece import VariableVersion
from workloads.numerics.statistics import TOWERS_IN_TURN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

#: Parameter of a function from a statistic's value to the next one.
NOW = Name("now")


def parts_of_tower(phase: Phase, tower: int) -> List[str]:
    """Returns what is needed of a tower beside its loss: its other losses, then what all losses or the update need."""
    return [row[tower] for row in phase.other_losses] + [str(row[tower]) for row in phase.early]


def tensors_of_towers(plan: Plan) -> List[str]:
    """Returns the tensors that are needed of the towers in any train op: losses, and `parts_of_tower`."""
    towers = [(phase, tower) for phase in plan.phases for tower in range(len(phase.losses))]
    return [name for phase, tower in towers for name in [phase.losses[tower], *parts_of_tower(phase, tower)]]


class Towers:
    """The towers of one train op, each of which is recovered from its own part of the graph.

    Args:
      plan, graph, phase, statistics, initializers, counters, names: see `model.recover_model`.

    Attributes:
      own_statistics: whether each tower changes statistics of its own.
      changes_statistics: whether a tower changes any.
      own_variables: whether towers read different variables, such as data that was loaded into a variable of each.
      changed: {statistic: parameter of the function that changes it}, where statistics are changed in turn.
      partners: {tensor of the tower whose statistics are written: tensor of the first tower that stands for it}, once
        towers were merged that differ by constants.
    """

    def __init__(
        self,
        plan: Plan,
        graph: Graph,
        phase: Phase,
        statistics: Statistics,
        initializers: Mapping[str, str],
        counters: Sequence[str],
        names: InputNames,
    ) -> None:
        self._plan, self._graph, self._phase, self._statistics = plan, graph, phase, statistics
        self._initializers, self._input_names = initializers, names
        self._trainable = {variable.name for variable in plan.variables if variable.role == "weight"}
        self._steps = {name: _step(plan, name) for name in counters}
        self.own_statistics = statistics.policy == EACH_TOWER
        self.changes_statistics = any(statistics.proposals)
        self.own_variables = len({frozenset(_variables_read(plan, graph, loss)) for loss in phase.losses}) > 1
        self.changed: Dict[str, Expression] = {}
        self.partners: Dict[str, str] = {}
        if statistics.policy == TOWERS_IN_TURN or statistics.changes_again:
            self.changed = {proposal.variable: NOW for proposal in statistics.proposals[statistics.tower]}

    def recover(self, tower: int) -> Tuple[Recovery, List[Expression]]:
        """Returns one tower's recovery, and its results: the loss, then the values of the statistics that it
        changes, then the numbers of the rows of those of which it changes some rows, then `parts_of_tower`.

        Raises:
          Unwritten: the tower reads a variable after the step has changed it, or has branches.
        """
        statistics = self._statistics
        own = statistics.proposals[tower] if self.own_statistics or tower == statistics.tower else []
        rows = [proposal.rows for proposal in own if proposal.rows]
        ends = [
            self._phase.losses[tower],
            *(proposal.value for proposal in own),
            *rows,
            *parts_of_tower(self._phase, tower),
        ]
        return self.recover_given(tower, ends, {})

    def recover_given(
        self, tower: int, ends: Sequence[str], given: Mapping[str, Expression]
    ) -> Tuple[Recovery, List[Expression]]:
        """Returns the recovery of tensors that one tower computes, and these tensors.

        Args:
          tower: number of the tower.
          ends: the tensors.
          given: {tensor: expression} of what is known beside the tower's data.

        Returns:
          Both.

        Raises:
          Unwritten: the tower reads a variable after the step has changed it, or has branches.
        """
        plan = self._plan
        missing = [tensor for tensor in given if tensor not in plan.tensors]
        if missing:
            plan = dataclasses.replace(plan, tensors={**plan.tensors, **types_of(self._graph, missing)})
        cuts = [entry.tensors[min(tower, len(entry.tensors) - 1)] for entry in plan.inputs]
        cuts += [entry.tensors[0] for entry in plan.common]
        cuts = [*given, *cuts]
        targets = inner_targets(self._graph, ends, [parse_tensor_name(tensor).node for tensor in cuts])
        wanted = [*ends, *(name for names in targets.values() for name in names)]
        cut = cut_part(plan, self._graph, wanted, cuts, self._phase.versions)
        for feed in cut.piece.feeds:
            if isinstance(feed.key, VariableVersion) and feed.key.version and feed.key.variable not in self.changed:
                raise Unwritten(f"model: it reads {feed.key.variable!r} after the step has changed it")
        names = _names(plan, tower, self._input_names, self._trainable, self._initializers)
        own_parts = frozenset(own.parts[tower] for own in plan.own_parts)
        names = names._replace(bounds=bounds_of_integers(plan, self._graph), own_parts=own_parts, towers=plan.towers)
        names = names._replace(inputs={**names.inputs, **given}, replaced=self._steps, changed=self.changed)
        forward = Forward(cut, plan)
        _require_plain(forward)
        fetches = [text if ":" in text else text + ":0" for text in cut.fetches]
        differentiated = iter(fetches[len(ends) :])
        recovery = _recovery(forward, names, {n: [next(differentiated) for _ in own] for n, own in targets.items()})
        return recovery, [recovery.expression_of(text) for text in fetches[: len(ends)]]

    def merge_others(self, first: Recovery, loss: Expression, updates: Sequence[Expression]) -> Expression:
        """Compares the other towers with the first one, whose values then depend on the replica where theirs differ.

        Args:
          first: recovery of the first tower.
          loss: of the first tower.
          updates: values of the statistics that it changes.

        Returns:
          the loss of any tower.
        """
        others = [self.recover(tower) for tower in range(1, self._plan.towers)]
        recoveries = [first, *(other for other, _ in others)]
        ends = [[loss, *updates], *(own for _, own in others)]
        parts = len(parts_of_tower(self._phase, 0))
        losses = [[own[0], *own[len(own) - parts :]] for own in ends]
        partners = align_towers(recoveries, ends if self.own_statistics else losses)
        if partners is not None:
            self.partners = partners[self._statistics.tower]
            return loss
        if self._phase.other_losses:
            raise Unwritten("towers: they differ, and each has several losses")
        return merge_losses(recoveries, [own[0] for own in ends])


def _recovery(forward: Forward, names: Names, targets: Mapping[str, Sequence[str]]) -> Recovery:
    """Returns the recovery of a tower, with derivatives of `targets` where they can be written.

    Args:
      forward: of the tower.
      names: of its inputs.
      targets: see `find_inner_gradients`.

    Returns:
      The recovery.
    """
    inner = find_inner_gradients(forward, targets)
    try:
        return Recovery(forward, names, inner=inner)
    except Unwritten:
        if not inner:
            raise
        return Recovery(forward, names)


def _variables_read(plan: Plan, graph: Graph, tensor: str) -> Set[str]:
    """Returns the variables that a tensor depends on."""
    before = graph.ancestors([parse_tensor_name(tensor).node], controls=False)
    return {variable.name for variable in plan.variables}.intersection(before)


def _require_plain(forward: Forward) -> None:
    """Raises `Unwritten` if a part has branches."""
    flow = [f"{o.name!r} ({o.type})" for o in forward.typed.operations() if o.type in CONTROL_FLOW]
    if flow:
        raise Unwritten("model: it has branches, which depend on what is computed: " + min(flow))


def _step(plan: Plan, counter: str) -> Expression:
    """Returns the number of the step in the dtype of the variable that counts."""
    dtype = next(variable.dtype for variable in plan.variables if variable.name == counter)
    return Name("scope.step") if dtype == "int64" else call("tf.cast", Name("scope.step"), Name("tf." + dtype))


def _names(plan: Plan, tower: int, names: InputNames, trainable: Any, initializers: Mapping[str, str]) -> Names:
    """Returns the expressions that stand for the inputs of one tower's part."""
    given: Dict[str, Expression] = {}
    for name, entry in names.inputs.items():
        value: Expression = Item(Name("batch"), f'"{name}"')
        given[entry.tensors[min(tower, len(entry.tensors) - 1)]] = Item(value, "0") if name in names.copied else value
    constants = {source: constant for constant, source in names.settings.items()}
    given.update(whole_sizes(plan, given))
    for entry in plan.inputs + plan.common:
        if entry.name in constants:
            given.update((tensor, Name(constants[entry.name])) for tensor in entry.tensors)
    noise: Dict[str, Tuple[str, str]] = {}
    for random in plan.noise + plan.common_noise:
        node = random.nodes[min(tower, len(random.nodes) - 1)]
        if node:
            noise[node + ":0"] = (names.streams[random.name], random.op)
    common = frozenset(f"{node}:0" for random in plan.common_noise for node in random.nodes)
    return Names(given, noise, trainable, initializers, drawn_for_all=common)
