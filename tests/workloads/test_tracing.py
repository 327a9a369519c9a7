import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.cases import Dyadic, Everything
from workloads import initializers, tracing
from workloads.frame import NoiseSpec
from workloads.selection import registry
from workloads.support.errors import InputError


def test_trace_finds_variables_without_running():
    specs = {spec.name: spec for spec in tracing.trace(Everything(), 4)}
    assert specs["first/weights"].shape == (6, 5)
    assert specs["norm/moving_mean"].trainable is False


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
    specs = [spec for spec in tracing.trace(registry.get(name, "seed"), 1) if spec.trainable]
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
        tracing.trace(bad(loss), 2)


@dataclasses.dataclass(frozen=True)
class Staged(Dyadic):
    """Two pipeline stages with one weight each; the second by the former name."""

    def loss(self, here, batch):
        with here.pipeline_stage(0, 2):
            a = here.get("a", (), initializers.Constant(1.0))
        with here.stage(1, 2):
            return tf.reduce_mean(batch["x"]) * a * here.get("b", (), initializers.Constant(1.0))


def test_pipeline_stages_are_on_their_devices_also_by_the_former_name():
    places = tracing.trace_devices(Staged(), 2, "float32", ["/device:CPU:0", "/device:CPU:1"])
    assert places == {"a": "/device:CPU:0", "b": "/device:CPU:1"}


def test_a_model_with_fewer_stages_than_devices_is_refused():
    devices = [f"/device:CPU:{index}" for index in range(3)]
    with pytest.raises(InputError, match="--layer_devices: got 3, the layers of dyadic fill 2"):
        tracing.trace_devices(Staged(), 2, "float32", devices)


def test_only_models_with_untrained_variables_have_statistics():
    assert tracing.has_statistics(Everything())
    assert not tracing.has_statistics(Dyadic())


def test_the_noise_and_the_decayed_weights_of_a_model_are_found():
    assert tracing.trace_noise(Everything(), 4, "float32") == {"dropout": NoiseSpec((4, 5), "uniform")}
    assert tracing.trace_decayed(Everything()) == ("first/weights",)
    assert tracing.trace_decayed(Everything(weight_decay=0.0)) == ()


def test_noise_may_have_a_shape_that_the_model_computes():
    def loss(self, scope, batch):
        x = batch["x"]
        positive = tf.boolean_mask(x, x > 0.0)
        drawn = [scope.uniform("computed", tf.shape(positive)), scope.uniform("known", tf.shape(x))]
        return scope.get("w", ()) * tf.add_n([tf.reduce_sum(one) for one in drawn])

    drawn = tracing.trace_noise(bad(loss), 4, "float32")
    assert drawn["computed"].shape is None
    assert drawn["known"].shape[0] == 4


def test_a_model_that_asks_for_the_number_of_replicas_is_told():
    class Divided(Dyadic):
        def loss(self, scope, batch):
            return super().loss(scope, batch) / scope.child("model").replicas

    assert [tracing.asks_for_replicas(model, 2) for model in (Dyadic(), Divided())] == [False, True]
