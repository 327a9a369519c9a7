"""Mutants of graph constants, against ports that are really changed, and against no change at all."""

import contextlib
import dataclasses

import numpy as np
import pytest

from parity.causes.basics.injection import in_workload
from parity.comparison import stages
from parity.comparison.tour import Visit
from parity.coverage.graph.constants import opposite_change
from parity.coverage.graph.mutants import ConstantChange, MutatedTowers, why_guard
from parity.coverage.measuring import detector
from parity.coverage.mutant import Effect
from parity.coverage.mutants.native_mutants import native_mutants
from parity.coverage.mutants.update_mutants import GradientLog
from parity.coverage.observed_step import ObservedStep
from parity.coverage.schedules import RateFunction
from tests.cases import Everything, setup
from workloads import optimizers, tracing
from workloads.schedules import ExponentialDecay
from workloads.workload import Clip, MovingAverage

WORKLOAD = dataclasses.replace(Everything(), clip=Clip(0.25, "tower"), moving_average=MovingAverage(0.5))
SETUP = setup(WORKLOAD)


@pytest.fixture(scope="module")
def steps():
    """The first four steps of the towers."""
    with SETUP.legacy_program() as program:
        found, state = [], program.state()
        for _ in range(4):
            record = program.step()
            found.append(ObservedStep(SETUP.job, state, record, "float32"))
            state = record.state
    return found


@pytest.fixture(scope="module")
def towers():
    with contextlib.closing(MutatedTowers(SETUP.legacy_program())) as made:
        yield made


def test_no_change_is_not_seen(towers, steps):
    pairs = list(towers._effects(ConstantChange(0, {}), steps[1]))
    assert pairs and not any(detector.detects_any_bit(effect) for effect in pairs)


def test_steps_with_different_changes_are_given_the_same_tensors(steps, monkeypatch):
    """So that TensorFlow prepares the graph once, and not for each change."""
    with contextlib.closing(MutatedTowers(SETUP.legacy_program())) as towers:
        mutants = list(towers.mutants(with_towers=True))
        given = []
        replace = towers._program.replace_tensors
        monkeypatch.setattr(towers._program, "replace_tensors", lambda values: given.append(values) or replace(values))
        for mutant in mutants[:3]:
            assert any(True for _ in mutant.effects(steps[1]))
        assert len(given) == 4 and len({frozenset(values) for values in given}) == 1  # one step without a change
        assert all(np.array_equal(given[0][name], towers._own[name]) for name in given[0])
        assert all(any(np.any(given[0][name] != values[name]) for name in values) for values in given[1:])


def test_the_opposite_change_is_tried_in_visits_too(towers, steps):
    [constant] = [found for found in towers.index.constants() if found.name.endswith("Momentum/momentum")]
    [(_, values)] = towers.index.changed_values(constant)
    visited = dataclasses.replace(steps[1], visit=Visit("another state", steps[1].before))
    unseen = dict.fromkeys(values, constant.value)

    def is_seen(step, opposite):
        return any(
            detector.detects_any_bit(effect) for effect in towers._effects(ConstantChange(0, unseen, opposite), step)
        )

    opposite = opposite_change(constant, values)
    assert is_seen(visited, opposite) and not is_seen(steps[1], opposite) and not is_seen(visited, {})


def test_changed_constants_are_seen(towers, steps):
    mutants = {mutant.name: mutant for mutant in towers.mutants(with_towers=True)}
    update_only = {mutant.name for mutant in towers.mutants(with_towers=False)}
    assert update_only < set(mutants)
    dropped = [name for name in mutants if "GreaterEqual" in name or "dropout" in name]
    momentum = [name for name in mutants if name.endswith("Momentum/momentum")]
    assert momentum and all(name in update_only for name in momentum)
    for name in dropped + momentum:
        assert any(detector.detects_any_bit(effect) for step in steps for effect in mutants[name].effects(step)), name


def test_the_step_of_the_smallest_gradients_is_found(towers, steps):
    def length(step):
        squares = [[np.sum(np.square(np.float64(g))) for g in of_tower.values()] for of_tower in step.record.gradients]
        return min(map(sum, squares))

    lengths = [length(step) for step in steps]
    found = towers.find_small_gradients(steps[0].before, len(steps))
    assert found.step == int(np.argmin(lengths)) and len(set(lengths)) > 1
    assert towers.find_small_gradients(steps[0].before, 1).step == 0


CHANGES = {
    "optimizer.momentum": {"optimizer": optimizers.Momentum(1 - (1 - 0.9) * 1.01)},
    "schedule.decay_rate": {"learning_rate": ExponentialDecay(0.125, 3, 0.505, staircase=True)},
    "clip.limit": {"clip": Clip(0.25 * 1.01, "tower")},
    "clip.where": {"clip": Clip(0.25, "combined")},
    "combine": {"combine": "sum"},
    "statistics": {"statistics": "mean_of_towers"},
    "moving_average.decay": {"moving_average": MovingAverage(0.505)},
    "optimizer.nesterov": {"optimizer": optimizers.Momentum(0.9, True)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_predicted_is_what_a_changed_port_shows(name, steps):
    job, specs = SETUP.job, tracing.trace(WORKLOAD, SETUP.job.per_replica_batch)
    rate = RateFunction(WORKLOAD.learning_rate, job.global_batch)
    mutants = native_mutants(job, SETUP.make_source(job), specs, rate, [3], GradientLog())
    mutant = next(mutant for mutant in mutants if mutant.name == name)
    with in_workload(lambda _: CHANGES[name])(SETUP) as port:
        for step in steps:
            port.load(step.before)
            pairs = zip(stages.tensors(step.record), stages.tensors(port.step()))
            shown = [Effect(stage, tensor, a, b) for (stage, tensor, a), (_, _, b) in pairs if stage != "batch"]
            first = next((effect.stage for effect in shown if detector.detects_any_bit(effect)), None)
            predicted = next(
                (effect.stage for effect in mutant.effects(step) if detector.detects_any_bit(effect)), None
            )
            assert predicted == first, step.place


def test_guards_of_tensorflows_functions_are_known():
    assert why_guard("clip_by_norm_1/ones_like/Const:0") and not why_guard("clip_by_norm_1/mul/y:0")
    assert why_guard("PiecewiseConstant/case/If_0/Const:0") and not why_guard("PiecewiseConstant/case/If_1/Const:0")
