"""Sentences on properties of the old program that a port must keep, or decide about."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from legacy.saved.analysis.updates_by_hand import only_corrects_bias
from legacy.saved.derivatives.overridden_gradients import override_sentences
from legacy.saved.derivatives.recomputed import checkpoint_sentences
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.joint_losses import is_differentiated_by_each, is_no_sum
from legacy.saved.facts.basics.unsafe_ops import python_in_model
from legacy.saved.facts.combining.ratios_of_sums import ratio_sentences
from legacy.saved.facts.combining.sums import sum_text
from legacy.saved.facts.combining.uncombined import uncombined_sentences
from legacy.saved.facts.combining.unequal_means import unequal_mean_sentences
from legacy.saved.facts.combining.words import is_summed
from legacy.saved.facts.inputs.preparations import preparation_sentences
from legacy.saved.facts.inputs.tower_batch import examples_of_tower
from legacy.saved.facts.updates.decoupled_decay import decay_sentences
from legacy.saved.facts.updates.idle_counters import idle_counter_sentences
from legacy.saved.facts.updates.learning_rates import LearningRate
from legacy.saved.facts.updates.repeated_rows import repeated_row_sentences
from legacy.saved.facts.updates.weight_changes import multiplied_gradients, set_besides, updated_under_conditions
from legacy.saved.facts.variable_updates import VariableUpdate
from legacy.saved.inputs.description import is_only_measured, is_trained_on
from legacy.saved.inputs.parts import is_indexed
from legacy.saved.tower_search.towers import taker_alone
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Phase
from workloads.lifted.plan.race_sentences import race_sentences
from workloads.lifted.reduction_factors import is_averaged_twice, sums_to_mean
from workloads.support.wording import SEVERAL, counted, listed

#: Relative difference within which a loss weight is 1.
WEIGHT_TOLERANCE = 1e-6


def sentences(
    analysed: AnalysedStep, statistics: Sequence[VariableUpdate], rates: Sequence[LearningRate]
) -> Iterator[str]:
    """Yields a sentence for each property of the program that a port must reproduce or decide about.

    Args:
      analysed: the training step.
      statistics: updates of its statistics.
      rates: its learning rates.

    Yields:
      the sentences, in the order of the page.
    """
    plan = analysed.plan
    yield from plan.notes
    # A train op that takes several turns is described once.
    yield from dict.fromkeys(text for phase in plan.phases for text in _of_phase(analysed, phase, rates))
    yield from idle_counter_sentences(analysed, rates)
    if plan.differences:
        yield "the towers are not equal: see above; replicas run their own tower's graph"
    if plan.changed_beside:
        yield (
            f"each tower changes {listed(plan.changed_beside, SEVERAL)} in turn; replicas of another number than "
            f"{plan.towers} make the changes of {plan.towers} towers all the same, by results of the first and the "
            "last one"
        )
    if plan.factors_of_towers:
        ops = listed(plan.factors_of_towers, SEVERAL)
        yield (
            f"a factor of {plan.towers} in learning rates or losses ({ops}) may be the number of towers: with replicas "
            f"of another number it stays {plan.towers}"
        )
    yield from _of_overrides(analysed)
    yield from checkpoint_sentences(analysed.graph)
    same = [entry for entry in plan.inputs if entry.is_shared and plan.towers > 1]
    same = [entry for entry in same if is_trained_on(analysed.graph, plan.phases, entry)]
    same = [entry for entry in same if taker_alone(analysed.graph, analysed.context.towers, entry) is None]
    parts = {parse_tensor_name(name).node for entry in plan.inputs for name in entry.tensors}
    tensors = {entry.name: parse_tensor_name(entry.tensors[0]) for entry in same if entry.tensors}
    measured = [e for e in same if e.name in tensors and is_only_measured(analysed.graph, tensors[e.name], parts)]
    # A number of the whole batch beside each tower's part of it is computed of all replicas' parts.
    entries = plan.inputs + plan.common
    whole = [entry for entry in same if entry not in measured and not part_of_whole(entry, entries)]
    vectors = [one for one in whole if one.name in tensors and len(one.shape or []) == 1]
    settings = [one.name for one in vectors if is_indexed(analysed.graph, analysed.context.imported, tensors[one.name])]
    data = [entry.name for entry in whole if entry.name not in settings]
    if data:
        yield "every tower gets the same data: " + ", ".join(data)
    if settings:  # numbers that a program takes one by one, such as the shares that dropout keeps in each layer
        yield "every tower gets the same numbers, each by its place: " + ", ".join(settings)
    if measured:
        yield "every tower uses the shape alone of: " + ", ".join(entry.name for entry in measured)
    yield from preparation_sentences(analysed)
    if plan.towers > 1:
        yield from _of_statistics(statistics, plan.towers)
    if any(noise.how == "seeded" for noise in plan.noise + plan.common_noise):
        yield "some random ops have no stateless twin; they are reproducible by seed and order only"
    in_model = python_in_model(plan)
    for node, kind in plan.unsafe.items():
        if node in in_model:
            yield f"{node} ({kind}) is Python in the model, whose code is not in the graph: its results would be data"
        else:
            yield f"{node} ({kind}) runs Python, touches files or reaches the network"


def _of_overrides(analysed: AnalysedStep) -> list[str]:
    """Returns a sentence for each gradient on the way to the losses that the program has overridden."""
    losses = [parse_tensor_name(name).node for phase in analysed.plan.phases for name in phase.losses]
    return override_sentences(analysed.graph, losses)


def _of_statistics(statistics: Sequence[VariableUpdate], towers: int) -> Iterator[str]:
    """Yields a sentence on statistics that one tower alone changes: the first one's, or each tower's own."""
    makers: dict[str, set[tuple[int, ...]]] = collections.defaultdict(set)
    for update in statistics:
        makers[update.variable].add(update.towers)
    alone = [[name for name, made_by in makers.items() if made_by == {(tower,)}] for tower in range(towers)]
    if alone[0] and all(len(names) == len(alone[0]) for names in alone):
        how_many = counted(len(alone[0]), "statistic", "statistics")
        yield f"each tower keeps {how_many} of its own batches, such as {listed(alone[0], SEVERAL)}"
    elif alone[0]:
        yield f"{counted(len(alone[0]), 'statistic follows', 'statistics follow')} the first tower's batches only"


def _has_sums(analysed: AnalysedStep, phase: Phase) -> bool:
    """Whether some gradients are summed over the towers, and not all a multiple of their mean."""
    return not phase.combine or any(
        combine.kind != "sum" or is_summed(analysed, phase, combine) for combine in phase.combine
    )


def _of_phase(analysed: AnalysedStep, phase: Phase, rates: Sequence[LearningRate]) -> Iterator[str]:
    yield from ("race: " + text for text in race_sentences(phase.races))
    yield from _of_losses(analysed, phase)
    yield from uncombined_sentences(analysed, phase)
    summed = any(is_summed(analysed, phase, combine) for combine in phase.combine) and analysed.plan.towers > 1
    summed = summed and not is_no_sum(analysed, phase)
    summed = summed and (not phase.shared_loss or _has_scalar_losses(analysed, phase))
    text = sum_text(analysed, phase) if summed and abs(phase.loss_scale - 1) < WEIGHT_TOLERANCE else ""
    yield from [f"{phase.train_op}: {text}"] if text else []
    yield from set_besides(analysed, phase)
    yield from updated_under_conditions(analysed, phase)
    yield from multiplied_gradients(analysed, phase)
    yield from decay_sentences(analysed, phase)
    yield from repeated_row_sentences(analysed, phase)
    yield from unequal_mean_sentences(analysed, phase)
    yield from ratio_sentences(analysed, phase)
    yield from _of_schedules(analysed, phase, rates)
    if phase.joined_beside:
        yield (
            f"{phase.train_op}: how results of all towers set {listed(phase.joined_beside, SEVERAL)} is not "
            f"recognised; replicas of another number than {analysed.plan.towers} set it from the first and the last "
            "tower's"
        )


def _of_losses(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence where it is not known what is minimized, and on how the towers' losses are joined."""
    towers, of = analysed.plan.towers, analysed.numbers.of
    sets_alone = len(analysed.plan.phases) > 1 and not phase.combine  # as a turn that clips or copies weights
    if not phase.losses and (any(phase.gradients) or not (analysed.accumulators or sets_alone)):
        trained = [tower for tower, gradients in enumerate(phase.gradients) if gradients]
        unknown = "the gradient graph does not tell what is minimized"
        is_of_one = len(trained) == 1 < towers
        of_one = f"the loss of tower {of(trained[0])} alone is differentiated" if is_of_one else unknown
        yield f"{phase.train_op}: {of_one}; losses are not compared"
    if is_no_sum(analysed, phase):
        yield (
            f"{phase.train_op}: a function of all towers' losses that is no sum is minimized: how much each counts "
            "depends on what they are"
        )
    elif is_differentiated_by_each(analysed.graph, towers, phase):
        yield f"{phase.train_op}: each of the {towers} towers differentiates the one loss of all of them"
    elif sums_to_mean(phase, towers) and not is_averaged_twice(phase, towers) and _has_sums(analysed, phase):
        sign = "-" if phase.loss_scale < 0 else ""
        if analysed.may_be_its_own(phase):
            yield (
                f"{phase.train_op}: each tower's loss has the factor {sign}1/{towers}; the sum over towers is a mean "
                "if that stands for the towers, and no mean if it is a weight of the loss, such as the half of a square"
            )
        else:
            yield f"{phase.train_op}: each tower's loss counts {sign}1/{towers}: its sum over towers is a mean"
    elif is_averaged_twice(phase, towers) and not analysed.may_be_its_own(phase):
        yield (
            f"{phase.train_op}: each tower's loss is divided by {towers}, and their gradients are averaged besides; "
            f"replicas of another number divide by {towers}, too"
        )


def _has_scalar_losses(analysed: AnalysedStep, phase: Phase) -> bool:
    """Whether each tower has a loss of its own that is one number, and not one for each example."""
    return all(analysed.context.imported.shape(*parse_tensor_name(name)) == () for name in phase.losses)


def _rises_by_one(analysed: AnalysedStep, phase: Phase, variable: str) -> bool:
    """Whether a step counts itself in a variable: other runs count something else, several optimizers several times."""
    effects = [effect for effect in phase.effects if variable in effect.writes]
    return analysed.is_changed(variable) and sum(analysed.addend(effect) or 1 for effect in effects) in (0, 1)


def _of_schedules(analysed: AnalysedStep, phase: Phase, rates: Sequence[LearningRate]) -> Iterator[str]:
    """Yields a sentence for a schedule that counts updates and has no constant of the towers or their examples."""
    towers, batch = analysed.plan.towers, examples_of_tower(analysed)
    if phase.combine and all(combine.kind == "kept as written" for combine in phase.combine):
        return  # towers that update alone: an update is not of all their examples
    if any(entry.kind == "same batch" for entry in analysed.plan.inputs):
        return  # an update is of one batch, as of one tower
    reported: set[str] = set()
    for rate in [rate for rate in rates if towers > 1 and not rate.is_level]:
        read = [v.name for v in analysed.plan.variables if v.name in rate.reads and analysed.is_counter(v.name)]
        counters = [name for name in read if _rises_by_one(analysed, phase, name)]
        counters = [name for name in counters if not only_corrects_bias(analysed.context, rate.tensor, name)]
        # A schedule with the number of one tower's examples counts examples, and has a hazard of its own.
        counts_otherwise = {towers, towers * (batch or 1), batch} & set(rate.constants)
        if counters and rate.train_op == phase.train_op and not counts_otherwise and counters[0] not in reported:
            reported.add(counters[0])
            examples = f"{towers} x {batch} examples" if batch else f"{towers} batches of examples"
            examples += " of each run that it adds up" if analysed.accumulators else ""
            yield (
                f"the schedule counts updates ({counters[0]}), each of {examples}, and no constant of it "
                f"is {towers}: if its steps were planned for one tower's batch, it changes {towers} times too late"
            )
