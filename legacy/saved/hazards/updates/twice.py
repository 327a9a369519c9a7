"""Hazards of variables that a step changes in two ways: two updates, or an average that is trained besides."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.plan import Effect, Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
#: The largest share that an average keeps of itself and is taken for one whose shares are exchanged.
LITTLE = 0.3
#: The least share that is no rounding error.
TOLERANCE = 1e-6


def updated_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that update variables twice in one run, other than once by each tower alone."""
    for phase in found.plan.phases:
        updates: dict[str, list[Effect]] = collections.defaultdict(list)
        for effect in phase.effects:
            if effect.node in found.context.state.rules and effect.gradient is not None:
                updates[effect.writes[0]].append(effect)
        twice = {name: effects for name, effects in updates.items() if _are_two(found, phase, effects)}
        for variable, effects in twice.items():
            yield Hazard(
                "UPDATED_TWICE",
                effects[1].node,
                f"one run of {phase.train_op} updates {counted(len(twice), 'variable')} "
                f"({listed(list(twice), MOST_NAMED)}) twice: {effects[0].node} ({op_types.rule_name(effects[0].op)}) "
                f"and {effects[1].node} ({op_types.rule_name(effects[1].op)}) both change {variable}",
                "leave out the update that was not meant, such as a minimize() that is left; for parity keep both",
            )
            break


def _are_two(found: Analysis, phase: Phase, effects: Sequence[Effect]) -> bool:
    """Whether some updates of a variable are more than one that can run together, and not one of each tower."""
    if len(effects) < 2 or exclude_each_other(found.cut.graph, effects[0].node, effects[1].node):
        return False
    parts = {entry.tensor: [bool(names) for names in entry.parts] for entry in phase.combine}
    alone = [parts.get(effect.gradient or "", []) for effect in effects]
    return any(sum(towers) != 1 for towers in alone) or len(set(map(tuple, alone))) < len(alone)


def averages_that_are_trained(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages of weights that an optimizer trains besides, as of a teacher; one hazard for all."""
    trained = {whole.variable_of(apply) for apply in whole.applies if apply in whole.members}
    found: dict[str, tuple[str, str]] = {}
    for name, variable in whole.writes.items():
        if name in whole.members and variable in trained and name not in whole.applies:
            kept = kept_share(whole, name)
            others = {variable_read(whole.graph, node) for node in kept.weights} & (trained - {variable})
            if 0 < kept.share < 1 and others:
                found[variable] = (name, sorted(map(str, others))[0])
    for variable, (name, other) in found.items():
        yield Hazard(
            "AVERAGE_TRAINED",
            name,
            f"{counted(len(found), 'variable is', 'variables are')} moving averages of others, and an optimizer trains "
            f"them besides ({listed(list(found), MOST_NAMED)}): {variable} follows {other} by {name}, and gradients",
            "make them with trainable=False, and put tf.stop_gradient behind what they compute; for parity keep both",
        )
        return


def averages_that_keep_little(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages and statistics that keep little of themselves in each step; one hazard for all.

    A statistic of a decay of 0.01 is the last batch's; frameworks give the name momentum to either share.
    """
    little: dict[str, tuple[str, float]] = {}
    for name, variable in whole.writes.items():
        if name not in whole.members | whole.read or name in whole.applies or whole.is_scalar(variable):
            continue
        kept = kept_share(whole, name)
        if TOLERANCE < kept.share <= LITTLE and not any(map(is_gradient_op, kept.weights)):
            little.setdefault(variable, (name, kept.share))
    for name, share in little.values():
        yield Hazard(
            "AVERAGE_KEEPS_LITTLE",
            name,
            f"{counted(len(little), 'moving average keeps', 'moving averages keep')} {share:.4g} of themselves in each "
            f"step, and take {1 - share:.4g} of the new value ({listed(list(little), MOST_NAMED)}): they hardly "
            "average; are both shares exchanged?",
            "in TensorFlow the decay or momentum is the share that is kept, in PyTorch the one that is new; for parity "
            "keep it",
        )
        return
