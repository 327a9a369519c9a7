"""Workloads written by hand after recorded old programs: identical bits, and a wrong constant is found."""

import dataclasses

import pytest

from parity.against.against_setup import (
    old_graph_of,
    require_comparable,
)
from parity.against.loss_sizes import averaging_factors
from parity.comparison import stages
from parity.comparison.runs.verification import verify
from parity.confirmation.injected_port import can_be_injected
from parity.verdict.explanation import explain_failure
from tests import old_programs
from tests.parity.against import hand_ports
from tests.parity.against.exact_setup import exact_setup_against
from tests.small_lift import small_plan
from workloads import optimizers, schedules
from workloads.job import Job
from workloads.lifted.plan import Effect
from workloads.selection import registry
from workloads.support.errors import InputError
from workloads.workload import Clip

#: {recorded program: (port, values of the scalars that it is fed with)}.
PORTS = {
    "a_split_sgd": (hand_ports.A, {}),
    "b_adam_clip": (hand_ports.B, {"learning_rate": 0.01}),
    "c_queue_ema": (hand_ports.C, {}),
    "d_batch_norm": (hand_ports.D, {}),
    "e_slim_dropout": (hand_ports.E, {"keep_prob": 0.75}),
    "g_embedding_adagrad": (hand_ports.G, {}),
}


def setup_of(name, replicas=None, **changes):
    port, settings = PORTS[name]
    lift = registry.get(old_programs.lifted(name))
    count = replicas or lift.plan.towers
    job = Job(dataclasses.replace(port, **changes), count, count * (lift.plan.batch or 8))
    return exact_setup_against(job, old_graph_of(lift, job, settings))


def compared(name, steps=4, replicas=None, **changes):
    setup = setup_of(name, replicas, **changes)
    with setup.legacy_program() as left, setup.modern_program() as right:
        return verify(left, right, setup.job, steps)


@pytest.mark.parametrize("name", sorted(set(PORTS) - {"g_embedding_adagrad"}))
def test_hand_written_ports_have_the_old_graphs_bits(name):
    result = compared(name)
    assert result.passed, result.first
    assert result.stages[stages.LOSS].tensors == result.stages[stages.BATCH].tensors == 8
    assert {stages.GRADIENTS, stages.COMBINED, stages.RATE, stages.WEIGHTS} <= set(result.stages)


@pytest.mark.parametrize("name", ["b_adam_clip", "c_queue_ema", "d_batch_norm"])
def test_hand_written_ports_have_its_bits_at_other_numbers_of_replicas(name):
    result = compared(name, steps=2, replicas=4)
    assert result.passed, result.first
    assert result.stages[stages.LOSS].tensors == 8


def test_a_port_whose_loss_names_the_number_of_towers_is_found_at_another_one():
    assert compared("e_slim_dropout", steps=1, replicas=4).first.stage == stages.COMBINED


@pytest.mark.parametrize(
    "name, changes, stage",
    [
        ("a_split_sgd", {"combine": "sum"}, stages.COMBINED),
        ("b_adam_clip", {"clip": Clip(0.75, "tower")}, stages.COMBINED),
        ("c_queue_ema", {"learning_rate": schedules.ExponentialDecay(0.1, 3, 0.5, staircase=True)}, stages.RATE),
        ("d_batch_norm", {"optimizer": optimizers.Momentum(0.875, True)}, stages.WEIGHTS),
        ("e_slim_dropout", {"keep_prob": 0.5}, stages.LOSS),
    ],
)
def test_a_wrong_constant_of_the_port_is_found_in_its_stage(name, changes, stage):
    result = compared(name, **changes)
    assert not result.passed and result.first.stage == stage


@pytest.mark.parametrize(
    "changes, cause",
    [
        ({"statistics": "mean_of_towers"}, "BN_WHO_UPDATES"),
        ({"statistics": "last_tower"}, "BN_WHO_UPDATES"),
    ],
)
def test_causes_in_statistics_are_named_though_a_saved_graph_shows_no_proposals(changes, cause):
    setup = setup_of("d_batch_norm", **changes)
    with setup.legacy_program() as left, setup.modern_program() as right:
        result = verify(left, right, setup.job, 3)
    found = explain_failure(setup, None, result).recognized
    assert [entry.cause.id for entry in found] == [cause]


def test_rows_of_a_sparse_gradient_are_compared_as_a_dense_one():
    result = compared("g_embedding_adagrad", steps=1)
    # The old graph divides every row and then adds them; the port adds each tower's rows first.
    assert result.first.stage == stages.COMBINED and result.first.difference.name == "lm/embedding"
    assert result.stages[stages.GRADIENTS].differing_elements == 0
    assert result.stages[stages.COMBINED].max_rel < 1e-6


def test_the_port_is_not_taken_for_a_clean_one():
    setup = setup_of("a_split_sgd")
    assert setup.has_old_graph and setup.has_written_port and not can_be_injected(setup)


def test_what_cannot_be_compared_is_refused():
    a, gan = (registry.get(old_programs.lifted(name)) for name in ("a_split_sgd", "l_gan"))
    odd = registry.get(old_programs.lifted("i_odd_combine"))
    with pytest.raises(InputError, match="--replicas: got 4, .* not recognised .*: only --replicas=3"):
        old_graph_of(odd, Job(hand_ports.A, 4))
    with pytest.raises(InputError, match="--global_batch: got 8, this graph takes 16 a replica"):
        old_graph_of(a, Job(hand_ports.A, 2, 8))
    with pytest.raises(InputError, match="'l_gan', which runs d_train, g_train in turn; a workload has one update"):
        old_graph_of(gan, Job(hand_ports.A, 2))
    with pytest.raises(InputError, match="the port has no 'conv1/weights'"):
        old_graph_of(registry.get(old_programs.lifted("e_slim_dropout")), Job(hand_ports.A, 2, 16))


def test_statistics_that_each_tower_changes_are_for_their_number():
    lift = registry.get(old_programs.lifted("d_batch_norm"))
    (phase,) = lift.plan.phases
    statistics = {variable.name for variable in lift.plan.variables if variable.role == "statistic"}
    moved = next(effect for effect in phase.effects if effect.writes[0] in statistics)
    of_towers = [next(iter(gradients.values())).split(":")[0] for gradients in phase.gradients]
    again = [dataclasses.replace(moved, node=node) for node in of_towers]
    phase = dataclasses.replace(phase, effects=[*phase.effects, *again])
    twice = dataclasses.replace(lift, plan=dataclasses.replace(lift.plan, phases=[phase]))
    with pytest.raises(InputError, match="--replicas: got 4, each tower changes .* in turn: only --replicas=2"):
        old_graph_of(twice, Job(hand_ports.D, 4))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"losses": []}, "does not tell what is minimized"),
        ({"effects": [Effect("update", "AssignSub", ["w"], ["x:0"])]}, "updates 'w' by ops of its own"),
        ({"raw": [{}, {}]}, "does not tell its towers' gradients before they are clipped"),
    ],
)
def test_a_graph_that_lacks_a_tensor_is_refused(change, message):
    clipped = dataclasses.replace(hand_ports.A, clip=Clip(1.0, "tower"))
    require_comparable(small_plan().phases[0], clipped)
    with pytest.raises(InputError, match=message):
        require_comparable(dataclasses.replace(small_plan().phases[0], **change), clipped)


@pytest.mark.parametrize(
    "scale, shared, combine, divisor, factors",
    [
        (1.0, False, "mean", 2, (1.0, 1.0)),
        (0.5, False, "mean", 2, (2.0, 2.0)),
        (0.5, True, "mean", 2, (2.0, 1.0)),
        (0.5, True, "sum", 2, (1.0, 0.5)),
        (0.5, True, "sum", 8, (0.25, 0.125)),
        (0.5, False, "sum", 2, (1.0, 1.0)),
        (0.5, False, "sum", 8, (0.25, 0.25)),
        (0.25, False, "mean", 2, (1.0, 1.0)),
    ],
)
def test_losses_that_the_graph_divides_are_taken_times_their_number(scale, shared, combine, divisor, factors):
    summed = [dataclasses.replace(entry, kind="sum") for entry in small_plan().phases[0].combine]
    phase = dataclasses.replace(small_plan().phases[0], loss_scale=scale, shared_loss=shared, combine=summed)
    assert averaging_factors(phase, dataclasses.replace(hand_ports.A, combine=combine), 2, divisor) == factors


def test_losses_that_the_graph_divides_are_left_as_they_are_where_it_averages_their_gradients_too():
    averaged = [dataclasses.replace(entry, kind="mean") for entry in small_plan().phases[0].combine]
    phase = dataclasses.replace(small_plan().phases[0], loss_scale=0.5, combine=averaged)
    assert averaging_factors(phase, dataclasses.replace(hand_ports.A, combine="mean"), 2, 2) == (1.0, 1.0)
