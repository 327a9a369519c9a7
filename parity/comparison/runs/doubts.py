"""Reasons why an original's other numbers show no difference of the port, where it has the old graph's bits."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from parity.comparison import stages
from parity.comparison.judging import tolerance
from parity.comparison.result import Verification
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Plan, Race
from workloads.support.wording import counted


def doubt_text(found: Verification, plan: Plan, graph: Graph) -> str | None:
    """Returns why a comparison with the original shows neither parity nor a difference.

    Args:
      found: the comparison of the original with the port.
      plan: of the lift.
      graph: of the lift.

    Returns:
      The reason: rounding, random numbers that are not recorded, or an order that the graph leaves open; else None.
    """
    if is_as_large_as_noise(found):
        return noise_text(found)
    return loop_text(found, plan) or race_text(found, plan, graph) or state_text(found, plan)


def is_as_large_as_noise(found: Verification) -> bool:
    """Whether every stage that failed differs by no more than float32 may, by the old graph's distance from float64.

    A net whose gradients float32 hardly determines, such as a deep one with batch normalization of a few examples, has
    other numbers in every TensorFlow.
    """
    failed = [stage for stage, summary in found.stages.items() if summary.failed is not None]
    floors = [found.floor.get(stage, {}) for stage in failed]
    gaps = [(floor.get("legacy_to_itself", np.inf), floor.get("legacy_to_truth", 0.0)) for floor in floors]
    return bool(gaps) and all(np.isfinite(gap) and gap <= tolerance.FLOOR_FACTOR * noise for gap, noise in gaps)


def noise_text(found: Verification) -> str:
    """The reason why a difference from the original that rounding may make is not shown to be rounding."""
    stage = next(stage for stage, summary in found.stages.items() if summary.failed is not None)
    floor = found.floor[stage]
    return (
        f"the {stage} differ by up to {floor['legacy_to_itself']:.2g}, and float32 does not determine them: in the old "
        f"graph here they are up to {floor['legacy_to_truth']:.2g} away from float64"
    )


def loop_text(found: Verification, plan: Plan) -> str | None:
    """The reason why differences from the original show nothing where random numbers are drawn in loops or branches.

    The recorder cannot read such numbers, and the old graph here draws others: its losses are of another dropout.

    Args:
      found: the comparison of the original with the port.
      plan: of the lift.

    Returns:
      The reason; None if nothing differs, if no number is drawn inside a loop, or if something differs that does not
      follow from random numbers, such as a batch.
    """
    drawn = [noise.name for noise in plan.noise if noise.in_loop]
    failed = {stage for stage, summary in found.stages.items() if summary.failed is not None}
    if not drawn or not failed or failed & {stages.INITIAL, stages.BATCH, stages.RATE}:
        return None
    return (
        f"{counted(len(drawn), 'random op draws', 'random ops draw')} inside loops or branches, where the "
        f"recorder cannot read the numbers, such as {drawn[0]}"
    )


def race_text(found: Verification, plan: Plan, graph: Graph) -> str | None:
    """The reason why differences show nothing where towers may read a weight before or after its update.

    Sessions take either place, in any step and for each such read; the lift takes one. Reads that no loss and no
    gradient follows from have other orders that are tried.

    Args:
      found: the comparison of the original with the port.
      plan: of the lift.
      graph: of the lift.

    Returns:
      The reason; None if there is no such read, or neither losses nor gradients differ.
    """
    failed = {stage for stage, summary in found.stages.items() if summary.failed is not None}
    if not failed & {stages.LOSS, stages.GRADIENTS} or failed & {stages.INITIAL, stages.BATCH, stages.RATE}:
        return None
    for phase in plan.phases:
        ends = [*phase.losses, *(name for tower in phase.gradients for name in tower.values())]
        before = graph.ancestors([parse_tensor_name(name).node for name in ends], controls=False)
        open_ = [race for race in phase.races if race.reader in before]
        if open_:
            return (
                f"{counted(len(open_), 'read')} of weights on the way to losses and gradients may come before or after "
                f"their update, and the original may have taken either in each step, such as {open_[0].text}"
            )
        updates = next((race for race in phase.races if _leaves_reads_open(race, plan, graph, before)), None)
        if updates is not None:
            return (
                f"of {updates.variable}, losses or gradients may be computed between its two updates, and the original "
                f"may have done so in any step: {updates.text}"
            )
    return None


def state_text(found: Verification, plan: Plan) -> str | None:
    """The reason why differences show nothing where only variables differ that a step uses in no fixed order.

    Several towers that change several variables, as of an average that is not biased towards zero, have more orders
    than those that are tried.

    Args:
      found: the comparison of the original with the port.
      plan: of the lift.

    Returns:
      The reason; None if nothing differs, or a tensor that no race is about.
    """
    raced = {race.variable for phase in plan.phases for race in phase.races}
    names = sorted({name for _, name in found.beyond})
    if not names or set(names) - raced or {stage for stage, _ in found.beyond} - set(stages.OF_STATE):
        return None
    return (
        f"{counted(len(names), 'variable differs', 'variables differ')}, whose reads and updates the old graph leaves "
        f"in an open order, such as {names[0]}; the original's order is none of those that were tried"
    )


def _leaves_reads_open(race: Race, plan: Plan, graph: Graph, before: Collection[str]) -> bool:
    """Returns whether two updates of a variable come in any order, and one does not wait for all reads of it.

    Args:
      race: of the plan.
      plan: of the lift.
      graph: of the lift.
      before: the nodes that losses and gradients are computed from.
    """
    if race.reader is not None:
        return False
    reads = {name for name in before if any(plan.aliases.get(t.name) == race.variable for t in graph.inputs(name))}
    return any(reads - graph.ancestors([update]) for update in (race.first, race.second))
