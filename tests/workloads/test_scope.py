import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.cases import Dyadic, Everything
from workloads import initializers, scope
from workloads.selection import registry
from workloads.support.errors import InputError


def test_trace_finds_variables_without_running():
    specs = {spec.name: spec for spec in scope.trace(Everything(), 4)}
    assert specs["first/weights"].shape == (6, 5)
    assert specs["norm/moving_mean"].trainable is False
    assert scope.variable_bytes(specs["first/weights"]) == 6 * 5 * 4


@pytest.mark.parametrize(
    "name, count, parameters",
    [
        ("sigmoid_stack", 12, 6 * (1000 * 1000 + 1000)),
        ("regression", 8, 600 * 512 + 512 * 128 + 128 * 128 + 128 + 4),
        ("cifar_cnn", 10, 1_068_298),
        ("resnet18", 62, 701_466),
        ("stacked_lstm", 14, 4 * 128 * (32 + 128 + 1) + 5 * 4 * 128 * (256 + 1) + 128 * 10 + 10),
    ],
)
def test_seed_sizes_have_the_write_ups_parameters(name, count, parameters):
    specs = [spec for spec in scope.trace(registry.get(name, "seed"), 1) if spec.trainable]
    assert len(specs) == count
    assert sum(int(np.prod(spec.shape)) for spec in specs) == parameters


def bad(loss):
    return type("Bad", (Dyadic,), {"loss": loss})()


@pytest.mark.parametrize(
    "loss, message",
    [
        (lambda self, s, b: b["x"] * s.get("w", ()), "must be a scalar"),
        (lambda self, s, b: tf.reduce_mean(b["x"]), "no trainable variable"),
        (lambda self, s, b: tf.reduce_sum(s.get("w", (2,))) + s.get("w", ()), "asked for as"),
        (lambda self, s, b: (s.update("w", 0.0), s.get("w", ()))[1], "not a statistic"),
        (lambda self, s, b: (s.update("m", 0.0), s.update("m", 0.0), s.get("w", ()))[2], "updated twice"),
    ],
)
def test_models_that_break_the_contract_are_refused(loss, message):
    with pytest.raises(InputError, match=message):
        scope.trace(bad(loss), 2)


def test_an_initial_value_depends_on_its_own_name_alone():
    specs = scope.trace(Everything(), 4)
    everything = scope.initial_values(specs, seed=0)
    alone = scope.initial_values(specs[:1], seed=0)
    assert alone["first/weights"].tobytes() == everything["first/weights"].tobytes()
    other_seed = scope.initial_values(specs, seed=1)
    assert other_seed["first/weights"].tobytes() != everything["first/weights"].tobytes()


class StubFrame(scope.Frame):
    def variable(self, name, shape, initializer, trainable):
        return tf.zeros(shape, self.dtype)


def noise(seed=0, step=0, replica=0, name="n", dtype="float32"):
    frame = StubFrame(dtype, seed, tf.constant(step, tf.int64), replica)
    return scope.Scope(frame).uniform(name, (64,)).numpy()


def test_noise_is_its_own_for_every_seed_step_replica_and_name():
    draws = [noise(), noise(seed=1), noise(step=1), noise(replica=1), noise(name="m")]
    assert len({draw.tobytes() for draw in draws}) == 5
    assert noise().tobytes() == draws[0].tobytes()
    assert draws[0].min() >= 0 and draws[0].max() < 1


def test_noise_is_the_same_in_both_precisions():
    assert noise(dtype="float64").tobytes() == noise().astype("float64").tobytes()


def test_decay_adds_half_the_square_once_per_tower():
    frame = StubFrame("float32", 0, tf.constant(0, tf.int64), 0)
    scope.Scope(frame).decay(0.5, tf.constant([2.0, 4.0]))
    assert [float(penalty) for penalty in frame.penalties] == [0.5 * (4 + 16) / 2]


def test_child_scopes_prefix_names():
    @dataclasses.dataclass(frozen=True)
    class Nested(Dyadic):
        def loss(self, here, batch):
            return tf.reduce_mean(batch["x"]) * here.child("a").child("b").get("w", (), initializers.Constant(1.0))

    assert [spec.name for spec in scope.trace(Nested(), 2)] == ["a/b/w"]


@dataclasses.dataclass(frozen=True)
class Staged(Dyadic):
    """Two pipeline stages with one weight each; the second by the former name."""

    def loss(self, here, batch):
        with here.pipeline_stage(0, 2):
            a = here.get("a", (), initializers.Constant(1.0))
        with here.stage(1, 2):
            return tf.reduce_mean(batch["x"]) * a * here.get("b", (), initializers.Constant(1.0))


def test_pipeline_stages_are_on_their_devices_also_by_the_former_name():
    places = scope.trace_devices(Staged(), 2, "float32", ["/device:CPU:0", "/device:CPU:1"])
    assert places == {"a": "/device:CPU:0", "b": "/device:CPU:1"}


def test_a_model_with_fewer_stages_than_devices_is_refused():
    devices = [f"/device:CPU:{index}" for index in range(3)]
    with pytest.raises(InputError, match="--layer_devices: got 3, the layers of dyadic fill 2"):
        scope.trace_devices(Staged(), 2, "float32", devices)


def test_only_models_with_untrained_variables_have_statistics():
    assert scope.has_statistics(Everything())
    assert not scope.has_statistics(Dyadic())


def test_the_noise_and_the_decayed_weights_of_a_model_are_found():
    assert scope.trace_noise(Everything(), 4, "float32") == {"dropout": (4, 5)}
    assert scope.trace_decayed(Everything()) == ("first/weights",)
    assert scope.trace_decayed(Everything(weight_decay=0.0)) == ()


def test_a_variable_without_initializer_has_no_initial_value():
    with pytest.raises(InputError, match="initial_values: 'w' has no initializer"):
        scope.initial_values([scope.VariableSpec("w", (), "float32", True, None)], 0)
