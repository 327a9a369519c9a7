"""The optimizer of a lift, read from the update ops of recorded programs."""

import dataclasses

import pytest

from tests import old_programs
from workloads import optimizers
from workloads.lifted.optimizer import OtherUpdate, optimizer_of_lift, update_arguments


def lift_of(name):
    return old_programs.setup(name).job.workload


def weights_of(lift):
    return [variable.name for variable in lift.plan.variables if variable.role == "weight"]


def test_the_constants_are_the_graphs():
    lift = lift_of("d_batch_norm")
    assert optimizer_of_lift(lift, weights_of(lift)) == optimizers.Momentum(0.9, nesterov=True)


def test_an_update_of_rows_alone_is_refused_by_its_name():
    lift = lift_of("g_embedding_adagrad")
    with pytest.raises(OtherUpdate, match="SparseApplyAdagrad.* is no update of a known optimizer"):
        optimizer_of_lift(lift, weights_of(lift))


def test_every_weight_must_be_updated():
    lift = lift_of("d_batch_norm")
    with pytest.raises(OtherUpdate, match="are not those of one optimizer"):
        optimizer_of_lift(lift, [*weights_of(lift), "another"])


def test_train_ops_in_turn_have_no_one_optimizer():
    lift = lift_of("l_gan")
    with pytest.raises(OtherUpdate, match="the lift runs 2 train ops in turn"):
        optimizer_of_lift(lift, weights_of(lift))


def test_an_update_under_a_condition_is_not_the_optimizers():
    lift = lift_of("d_batch_norm")
    phase = lift.plan.phases[0]
    effects = [dataclasses.replace(effect, condition="ok:0") for effect in phase.effects]
    plan = dataclasses.replace(lift.plan, phases=[dataclasses.replace(phase, effects=effects)])
    with pytest.raises(OtherUpdate, match="is no update of a known optimizer"):
        optimizer_of_lift(dataclasses.replace(lift, plan=plan), weights_of(lift))


def test_arguments_have_the_names_of_the_kernel():
    effect = next(effect for effect in lift_of("b_adam_clip").plan.phases[0].effects if effect.gradient)
    found = update_arguments(effect)
    assert found["var"] == effect.writes[0] and {"beta1", "beta2", "epsilon", "grad"} <= set(found)
