"""Reasons why a graph tells nothing of another number of towers: its numbers may follow it in more than one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.loss_scale import may_be_its_own, sizes_of_inputs
from legacy.saved.analysis.other_numbers import changes_in_turn, doubted_factors, factors_of_towers
from legacy.saved.analysis.values.update_sources import tower_of_op
from legacy.saved.graph.differentiation import differentiated
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase, Plan
from workloads.support.wording import FEW, listed

if TYPE_CHECKING:
    from legacy.saved.analysis.other_numbers.unlike_towers import Further


def describe_other_towers(context: Context, plan: Plan, further: Further) -> None:
    """Sets the fields of a plan that are about other numbers of replicas than it has towers.

    Args:
      context: of the graph.
      plan: the plan.
      further: the towers that there would be besides.
    """
    plan.like_first = further.like_first

    def has_its_own(phase: Phase) -> bool:
        return _has_its_own(context, plan, phase)

    def tower_of(node: str) -> int | None:
        return tower_of_op(context.graph, context.towers, node)

    changed = changes_in_turn.changed_by_several(plan, context.graph, tower_of)
    changed = [name for name in changed if not changes_in_turn.is_set_alike(plan, name, context.data)]
    read = changes_in_turn.read_in_training(plan, context.graph, context.state.reads) if plan.towers > 1 else set()
    plan.changed_beside = [name for name in changed if name not in read]
    plan.factors_of_towers = factors_of_towers.factors_of_towers(plan, context.graph, context.imported)
    in_turn = [name for name in changed if name in read]
    plan.own_number = next(_reasons(context, plan, further, in_turn, read, has_its_own), "")


def _has_its_own(context: Context, plan: Plan, phase: Phase) -> bool:
    """Whether the losses' factor of one over the towers may be one of their own; see `may_be_its_own`."""
    if not phase.losses or phase.shared_loss:
        return False
    loss = parse_tensor_name(phase.losses[0]).node
    return may_be_its_own(context.graph, context.data, loss, plan.towers, sizes_of_inputs(plan))


def _reasons(
    context: Context,
    plan: Plan,
    further: Further,
    changed: Sequence[str],
    read: set[str],
    has_its_own: Callable[[Phase], bool],
) -> Iterator[str]:
    """Yields the reasons, the most obvious one first.

    Args:
      context: of the graph.
      plan: the plan.
      further: the towers that there would be besides.
      changed: variables that each tower changes in turn, and that training reads.
      read: all variables that training reads.
      has_its_own: see `doubted_factors`.
    """
    if further.unknown:
        yield f"the towers differ, and what further ones would be is not known: {further.unknown}"
    shared = [entry.name for entry in plan.inputs if entry.kind in ("batch", "whole") and entry.shares_parts]
    if shared:
        yield f"several towers take the same part of {listed(shared, FEW)}, and others take another one"
    if changed:
        yield f"each tower changes {listed(changed, FEW)} in turn, by which the program trains"
    yield from changes_in_turn.raised_by_all(plan, context.imported, read)
    if plan.towers > 1 and any(_has_divided_penalty(context, plan, phase) for phase in plan.phases):
        yield "a penalty is added to all towers' losses, and their number divides the sum"
    yield from doubted_factors.doubted_factors(plan, context.graph, context.imported, has_its_own)


def _has_divided_penalty(context: Context, plan: Plan, phase: Phase) -> bool:
    """Whether a train op differentiates a loss of all towers in which a penalty is divided with theirs."""
    graph, towers = context.graph, context.towers
    members = graph.ancestors([effect.node for effect in phase.effects]) if phase.shared_loss else ()
    targets = [target for target in differentiated(graph, members) if towers.is_shared(target)]
    given = (graph, context.imported, towers.masks)
    return any(doubted_factors.penalty_is_divided(*given, target, plan.towers) for target in targets)
