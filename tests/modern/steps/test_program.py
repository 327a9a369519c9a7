"""A workload with a step of its own under MirroredStrategy: numbers by hand, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.factory import legacy_program
from legacy.options import LegacyOptions
from modern.factory import modern_program
from modern.options import ModernOptions
from modern.steps.program import StepProgram
from modern.steps.replica import run_train_op
from tests.small_steps import EXAMPLES, Weighed
from workloads.job import Job
from workloads.sources import Source
from workloads.support.errors import InputError, UserError


class Given(Source):
    """Ones for the first replica, twos for the second."""

    def shards(self, step):
        return [{"x": np.full((EXAMPLES, 3), replica + 1, np.float32)} for replica in range(self._job.replicas)]


def program(workload=None, replicas=2, **options):
    job = Job(workload or Weighed(), replicas, EXAMPLES * replicas)
    devices = [f"CPU:{n}" for n in range(replicas)]
    return modern_program(job, Given(job), ModernOptions(exact=True, **options), devices)


def test_train_ops_take_turns_on_all_replicas():
    with program() as made:
        assert isinstance(made, StepProgram)
        first, second = made.step(), made.step()
    assert [float(loss) for loss in first.losses] == [3.0, 6.0]
    assert [gradients["w"].tolist() for gradients in first.gradients] == [[2.0] * 3, [4.0] * 3]
    assert first.state.slots["w/Momentum"].tolist() == [3.0 * 2.0 + 6.0 * 4.0] * 3
    assert first.state.weights["w"].tolist() == [0.5 - 0.25 * 30.0] * 3
    assert first.state.statistics["mean"] == 1.0 and first.state.statistics["count"] == 8
    assert second.state.weights["w"].tolist() == [-3.5] * 3 and second.gradients == [{}, {}]
    assert second.state.step == 2


def test_unobserved_steps_are_the_same():
    with program() as one, program() as many:
        one.step(), one.step(), one.step()
        assert [float(loss) for loss in many.run(3)]
        assert many.state().weights["w"].tolist() == one.state().weights["w"].tolist()


def test_a_train_op_that_returns_no_loss_is_refused():
    class Without(Weighed):
        def train_ops(self):
            return [lambda scope, batch, variables, context: None]

    with program(Without(), 1) as made, pytest.raises(InputError, match="got NoneType, must be a scalar"):
        made.step()


def test_an_error_in_a_train_op_is_the_users():
    def broken(scope, batch, variables, context):
        return variables["no such variable"]

    class Broken(Weighed):
        def train_ops(self):
            return [broken]

    with program(Broken(), 1) as made, pytest.raises(UserError, match="weighed.broken raised KeyError"):
        made.step()


def test_options_of_named_updates_are_refused():
    with pytest.raises(InputError, match="--autodiff: got 'tape', weighed has a step of its own"):
        program(autodiff="tape")
    with pytest.raises(InputError, match="has a step of its own, which towers do not run.*--against"):
        job = Job(Weighed())
        legacy_program(job, Given(job), LegacyOptions(), ["CPU:0", "CPU:0"])


def test_a_counter_is_the_step_of_the_losses():
    seen = []

    def train(scope, batch, variables, context):
        seen.append(scope.step)
        return tf.cast(scope.step, tf.float32)

    class Counted(Weighed):
        def train_ops(self):
            return [train]

    with program(Counted(counter="count"), 1) as made:
        assert float(made.step().losses[0]) == 7.0
    assert seen[0].dtype == tf.int64 and callable(run_train_op)
