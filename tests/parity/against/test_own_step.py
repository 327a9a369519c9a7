"""A port with a step of its own against its old graph: what corresponds, and what is refused."""

import dataclasses

import pytest

from modern.lifted.port_step import PortStep
from parity.against.own_step import with_own_step
from tests import old_programs
from tests.legacy.gallery import source
from tests.legacy.source import old_towers
from workloads.frame import NoiseSpec
from workloads.lifted.plan import Noise
from workloads.lifted.workload import load_lift
from workloads.steps.tracing import trace_step
from workloads.support.errors import InputError


@pytest.fixture(scope="module")
def lift():
    return load_lift(old_programs.lifted("l_gan"))


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    path = tmp_path_factory.mktemp("port") / "port.py"
    path.write_text(source("l_gan").text)
    return old_towers.load(path, "port_of_a_gan").PORT


def bound(lift, port, replicas=2):
    return with_own_step(lift, port, trace_step(port, 8, replicas), {}, replicas)


def changed(port, **methods):
    return type("Changed", (type(port),), {name: lambda self, v=value: v for name, value in methods.items()})()


def test_a_lift_gets_the_port_and_its_records_have_gradients_by_weight(lift, port):
    made = bound(lift, port)
    assert made.port.workload is port and made.is_lifted and not lift.port
    assert {label for phase in made.plan.phases for label in phase.gradients[0]} >= {"d/w", "g/w"} or all(
        phase.gradients[0] for phase in made.plan.phases
    )
    assert not any(effect.gradient or effect.learning_rate for p in made.plan.phases for effect in p.effects)
    assert hasattr(PortStep, "describe_reduction")


def test_another_number_of_train_ops_is_refused(lift, port):
    with pytest.raises(InputError, match="runs d_train, g_train, and the port runs 1"):
        bound(lift, changed(port, train_ops=port.train_ops()[:1]))


def test_a_variable_on_one_side_only_is_refused(lift, port):
    import tensorflow as tf

    others = {**port.other_variables(), "extra": ((), 0, tf.float32)}
    with pytest.raises(InputError, match="the old graph has no 'extra'"):
        bound(lift, changed(port, other_variables=others))
    with pytest.raises(InputError, match="the port has no"):
        bound(lift, changed(port, slots=[]))


def test_statistics_that_each_tower_changes_are_for_their_number(lift, port):
    (first, *others), name = lift.plan.phases, lift.plan.variables[0].name
    of_towers = [next(iter(gradients.values())).split(":")[0] for gradients in first.gradients]
    effects = [dataclasses.replace(first.effects[0], node=node, writes=[name]) for node in of_towers]
    variables = [dataclasses.replace(lift.plan.variables[0], role="statistic"), *lift.plan.variables[1:]]
    phases = [dataclasses.replace(first, effects=effects), *others]
    twice = dataclasses.replace(lift, plan=dataclasses.replace(lift.plan, phases=phases, variables=variables))
    with pytest.raises(InputError, match="--replicas: got 1, each tower changes .* in turn: only --replicas=2"):
        bound(twice, port, replicas=1)


@pytest.mark.parametrize("drawn, count", [((), 0), (("added",), 1)])
def test_noise_of_updates_is_that_of_losses_which_draw_it(lift, port, drawn, count):
    """As noise that is added to gradients, which the port's losses may hand on to the update."""
    last = lift.plan.phases[-1].train_op
    noise = Noise("added/RandomUniform", "RandomUniform", "keyed", [last])
    plan = dataclasses.replace(lift.plan, noise=[*lift.plan.noise, noise])
    traced = trace_step(port, 8, 2)
    spec = NoiseSpec(kind="uniform", shape=(3,))
    traced = traced._replace(noises={**traced.noises, **dict.fromkeys(drawn, spec)})
    made = with_own_step(dataclasses.replace(lift, plan=plan), port, traced, {}, 2)
    assert list(made.port.noise.values()).count("added/RandomUniform") == count


def test_noise_of_the_port_alone_is_refused(lift, port):
    traced = trace_step(port, 8, 2)
    traced = traced._replace(noises={**traced.noises, "other": NoiseSpec(kind="uniform", shape=(3,))})
    with pytest.raises(InputError, match="the old graph draws none for 'other'"):
        with_own_step(lift, port, traced, {}, 2)
