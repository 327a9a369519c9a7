"""A loss that differs: the line of the port where the forward passes diverge."""

import dataclasses

import pytest

from parity.against.against_setup import old_graph_of
from parity.against.loss_explanation import explain_loss
from parity.comparison.runs.verification import verify
from tests import old_programs
from tests.parity.against import hand_ports
from tests.parity.against.exact_setup import exact_setup_against
from workloads import optimizers
from workloads.job import Job
from workloads.selection import registry


def explained(name, port, settings=None, replicas=None, steps=2):
    lift = registry.get(old_programs.lifted(name))
    count = replicas or lift.plan.towers
    job = Job(port, count, count * (lift.plan.batch or 8))
    old = old_graph_of(lift, job, settings)
    setup = exact_setup_against(job, old)
    with setup.legacy_program() as left, setup.modern_program() as right:
        result = verify(left, right, setup.job, steps)
    assert not result.passed
    return explain_loss(setup, old, result)


@pytest.mark.parametrize("replicas", [2, 3])
def test_the_line_of_a_wrong_constant_is_named(replicas):
    port = dataclasses.replace(hand_ports.E, keep_prob=0.5)
    found = explained("e_slim_dropout", port, {"keep_prob": 0.75}, replicas)
    assert found.kind == "GreaterEqual" and "hand_ports.py:" in found.place and found.place.endswith(", in loss")
    assert found.instead == ("clone_0/dropout1/dropout/GreaterEqual (GreaterEqual)",)


@dataclasses.dataclass(frozen=True)
class WrongNorm(hand_ports.BatchNorm):
    """The second normalization gets its input times a number."""

    def _batch_norm(self, scope, x, fused):
        return super()._batch_norm(scope, x if fused else scaled(x), fused)


def scaled(x):
    return x * 1.001


def test_the_function_is_named():
    found = explained("d_batch_norm", WrongNorm())
    assert found.place.endswith(", in scaled") and found.inputs[0].endswith("/conv1/Conv2D:0")


def test_nothing_is_named_where_the_loss_agrees():
    port = dataclasses.replace(hand_ports.D, optimizer=optimizers.Momentum(0.5, True))
    assert explained("d_batch_norm", port, steps=1) is None
