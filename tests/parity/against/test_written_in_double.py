"""Written ports against their old graphs, judged in float64: what float32's rounding hides is found."""

import dataclasses

import pytest
import tensorflow as tf

from parity.comparison.judging import tolerance
from parity.comparison.result import Verdict
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from tests.marks import slow_after
from tests.parity.against import hand_ports
from tests.parity.against.test_against_setup import setup_of
from workloads import optimizers, schedules

#: A factor that changes a float32 number by eight of its last places.
SLIGHTLY = 1 + 2.0**-20


def compared(name, steps=3, port=None, **changes):
    setup = setup_of(name, **changes)
    if port is not None:
        setup = dataclasses.replace(setup, job=dataclasses.replace(setup.job, workload=port))
    return compare_programs(setup, None, ComparisonPlan(steps, "free", "auto", with_visits=False)).verification


@dataclasses.dataclass(frozen=True)
class OtherPower(hand_ports.QueueAverages):
    """Another exponent in the local response normalization, which moves the loss by two roundings of float32."""

    beta: float = 0.7875

    def loss(self, scope, batch):
        normalize = tf.nn.local_response_normalization
        tf.nn.local_response_normalization = lambda x, *args, **kwargs: normalize(
            x, *args, **{**kwargs, "beta": self.beta}
        )
        try:
            return super().loss(scope, batch)
        finally:
            tf.nn.local_response_normalization = normalize


@dataclasses.dataclass(frozen=True)
class LongerGradient(hand_ports.SplitSgd):
    """One weight's gradient is too long by a millionth."""

    def loss(self, scope, batch):
        class Slightly(type(scope)):
            def child(self, name):
                return Slightly(self._frame, self._prefix + name + "/")

            def get(self, name, *args, **kwargs):
                value = super().get(name, *args, **kwargs)
                return value * SLIGHTLY - tf.stop_gradient(value * 2.0**-20) if name == "w1" else value

        return super().loss(Slightly(scope._frame), batch)


@dataclasses.dataclass(frozen=True)
class WithRoundedFactor(hand_ports.SplitSgd):
    """A part of the loss, and that many times it: its first factor is rounded in float32."""

    def loss(self, scope, batch):
        return super().loss(scope, batch) * (1 / 61) * 61.0


@pytest.mark.parametrize("name", slow_after(2, ["c_queue_ema", "b_adam_clip", "d_batch_norm", "e_slim_dropout"]))
def test_hand_written_ports_agree_in_float64(name):
    result = compared(name, 2)
    assert result.passed and result.single_only == "" and result.unproven == []
    # The old graph of e divides by keep_prob, the port multiplies by its reciprocal, which Python computes.
    limit = 1e-7 if name == "e_slim_dropout" else 1e-12
    assert result.double and all(summary.max_rel < limit for summary in result.double.values())


def test_another_exponent_within_float32s_rounding_is_found():
    result = compared("c_queue_ema", 2, OtherPower())
    assert result.verdict is Verdict.NO_PARITY and result.first.precision == "float64"
    assert all(summary.failed is None for summary in result.stages.values())  # float32 could not tell
    assert compared("c_queue_ema", 2, OtherPower(beta=0.75)).passed


def test_a_gradient_that_is_too_long_by_a_millionth_is_found():
    result = compared("a_split_sgd", 2, LongerGradient())
    assert not result.passed and result.first.difference.name.startswith("net/w1")


@pytest.mark.parametrize(
    "name, changes",
    slow_after(
        2,
        [
            ("a_split_sgd", {"learning_rate": schedules.Fixed(0.1 * SLIGHTLY)}),
            ("b_adam_clip", {"optimizer": optimizers.Adam(beta1=0.9 * SLIGHTLY)}),
            ("b_adam_clip", {"optimizer": optimizers.Adam(beta2=0.999 * SLIGHTLY)}),
            ("d_batch_norm", {"optimizer": optimizers.Momentum(0.9 * SLIGHTLY, True)}),
        ],
    ),
)
def test_a_constant_that_is_off_by_a_millionth_is_no_parity(name, changes):
    assert compared(name, **changes).verdict is Verdict.NO_PARITY


def test_a_change_as_small_as_a_constants_rounding_is_neither_approved_nor_refused():
    result = compared("a_split_sgd", 2, WithRoundedFactor())
    assert result.verdict is Verdict.NOT_SHOWN and result.passed
    assert "in float64 they differ by up to" in result.unproven[0]
    largest = max(summary.max_rel for summary in result.double.values())
    assert 0 < largest <= tolerance.CONSTANT_UNITS * 2.0**-23
