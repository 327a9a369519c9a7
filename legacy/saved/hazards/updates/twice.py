"""Hazards of what is changed twice: a variable by two updates of one run, an Adam's powers by two train ops in turn."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.updates.decoupled_decay import factor_of_weight
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect, Phase
from workloads.support.wording import FEW, counted, listed

#: Endings of the update rules that correct moments by powers of their decays.
CORRECTED = ("ApplyAdam", "ApplyAdaMax")


def updated_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that update variables twice in one run, other than once by each tower alone, or by a decay.

    Optimizers of losses that have nothing in common, as an actor's and its critic's, may well share layers.
    """
    for phase in found.plan.phases:
        updates: dict[str, list[Effect]] = collections.defaultdict(list)
        for effect in phase.effects:
            is_update = effect.node in found.context.state.rules and effect.gradient is not None
            if is_update and factor_of_weight(found.context, effect) is None:
                updates[effect.writes[0]].append(effect)
        twice = {name: effects for name, effects in updates.items() if _are_two(found, phase, effects)}
        twice = {name: effects for name, effects in twice.items() if not _have_own_losses(whole, effects)}
        for variable, effects in twice.items():
            yield Hazard(
                "UPDATED_TWICE",
                effects[1].node,
                f"one run of {phase.train_op} updates {counted(len(twice), 'variable')} "
                f"({listed(list(twice), FEW)}) twice: {effects[0].node} ({op_types.rule_name(effects[0].op)}) "
                f"and {effects[1].node} ({op_types.rule_name(effects[1].op)}) both change {variable}",
                "leave out the update that was not meant, such as a minimize() that is left; for parity keep both",
            )
            break


def powers_raised_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds one Adam of two train ops, whose powers are raised more often than a weight is updated; one for all."""
    raised: dict[str, list[Effect]] = collections.defaultdict(list)
    trained: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    first = {phase.train_op: phase for phase in found.plan.phases}  # a turn may run one several times
    for phase in first.values():
        corrected = [effect for effect in phase.effects if effect.op.endswith(CORRECTED)]
        for power, names in _weights_by_power(found, corrected).items():
            trained[power].update(names)
            raised[power] += [effect for effect in phase.effects if power in effect.writes and effect.condition is None]
    for power, effects in raised.items():
        if len(effects) > min(trained[power].values()):
            yield Hazard(
                "CORRECTION_COUNTS_TWICE",
                effects[1].node,
                f"one Adam trains {len(trained[power])} variables by {len(effects)} train ops, and each of them raises "
                f"its powers, such as {power} by {effects[0].node} and {effects[1].node}: the corrections by 1 - b^t "
                f"count {len(effects)} steps in a turn",
                "an optimizer for each train op; for parity one for all, whose iterations each of them raises",
            )
            return


def _weights_by_power(found: Analysis, updates: Sequence[Effect]) -> dict[str, set[str]]:
    """{variable that holds a power of a decay: the variables whose updates take it}."""
    graph, weights = found.cut.graph, collections.defaultdict(set)
    scalars = {variable.name for variable in found.plan.variables if variable.shape == []}
    for effect in updates:
        for tensor in effect.values:
            power = variable_read(graph, parse_tensor_name(tensor).node)
            if power in scalars:
                weights[power].add(effect.writes[0])
    return weights


def _are_two(found: Analysis, phase: Phase, effects: Sequence[Effect]) -> bool:
    """Whether some updates of a variable are more than one that can run together, and not one of each tower."""
    if len(effects) < 2 or exclude_each_other(found.cut.graph, effects[0].node, effects[1].node):
        return False
    parts = {entry.tensor: [bool(names) for names in entry.parts] for entry in phase.combine}
    alone = [parts.get(effect.gradient or "", []) for effect in effects]
    return any(sum(towers) != 1 for towers in alone) or len(set(map(tuple, alone))) < len(alone)


def _have_own_losses(whole: WholeGraph, effects: Sequence[Effect]) -> bool:
    """Whether each of some updates has gradients of losses of its own, none of which is a part of another's.

    A loss behind `stop_gradient`, as in a weight of another one, is no part of that.
    """
    graph = whole.graph
    ends = [parse_tensor_name(effect.gradient).node for effect in effects if effect.gradient]
    losses = [set(differentiated(graph, graph.ancestors([name], controls=False))) for name in ends]
    stopped = graph.of_types("StopGradient")
    behind = [graph.ancestors(own, stopped, controls=False) for own in losses]
    pairs = itertools.permutations(range(len(losses)), 2)
    return all(losses) and not any(losses[first] & behind[second] for first, second in pairs)
