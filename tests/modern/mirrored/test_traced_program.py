import threading

import numpy as np
import pytest
import tensorflow as tf

import modern.factory
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.traced_program import ENDING_INPUT, TracedProgram
from modern.options import ModernOptions
from tests.cases import Dyadic, setup
from workloads.job import Job
from workloads.program import State
from workloads.sources import Synthetic


class Input:
    """Notes the steps at which it was started."""

    def __init__(self):
        self.started = []

    def start(self, step):
        self.started.append(step)
        return {}

    def put(self, step):
        self.started.append(f"{step} alone")
        return True

    def close(self):
        self.started.append("closed")


class Adding(TracedProgram):
    """A program whose step adds one to its weight; the weight is its loss."""

    def __init__(self, steps_per_call=2):
        self._job, self._options = Job(Dyadic(), 1, 4), ModernOptions(steps_per_call=steps_per_call)
        self._variables = MirroredState(tf.distribute.get_strategy(), a_state(0, 0.0))
        self._input, self._step = Input(), 0

    def variables(self):
        return ()

    def describe(self):
        return {}

    def _observed_step(self):
        return object()

    def _run_once(self):
        weight = self._variables.weights["w"]
        tf.raw_ops.AssignAddVariableOp(resource=weight.handle, value=tf.constant(1.0))
        tf.raw_ops.AssignAddVariableOp(resource=self._variables.step.handle, value=tf.ones([], tf.int64))
        return [weight.read_value()]


def a_state(step, weight):
    """A `State` of one weight."""
    return State(step, {"w": np.float32(weight)}, {}, {}, {})


@pytest.mark.parametrize("steps_per_call", [1, 2, 5])
def test_steps_are_run_and_counted(steps_per_call):
    program = Adding(steps_per_call)
    assert [float(loss) for loss in program.run(5)] == [5.0]
    state = program.state()
    assert (state.step, float(state.weights["w"])) == (5, 5.0)


def test_the_input_is_opened_once_and_at_the_first_step():
    program = Adding()
    assert program._input.started == []
    program.run(3)
    program.run(2)
    assert program._input.started == [0]


def test_another_step_that_is_loaded_opens_the_input_anew_and_traces_only_the_loop_again():
    program = Adding()
    program.run(2)
    observed, many = program._observed, program._many
    program.load(a_state(7, 1.0))
    assert [float(loss) for loss in program.run(1)] == [2.0]
    assert program._input.started == [0, 7]
    assert program._observed is observed and program._many is not many


def test_observed_steps_after_a_jump_are_put_alone_until_the_loop_opens_the_input():
    program = Adding()
    program._start_observed()
    program.load(a_state(7, 1.0))
    program._start_observed()
    program.run(1)
    assert program._input.started == [0, "7 alone", 7]


def test_a_state_of_the_same_step_leaves_the_input_open():
    program = Adding()
    program.run(2)
    program.load(a_state(2, 8.0))
    assert [float(loss) for loss in program.run(1)] == [9.0]
    assert program._input.started == [0]


def test_a_closed_program_holds_no_function():
    program = Adding()
    program.run(1)
    program.close()
    assert program._batches is program._observed is program._many is None
    assert program._input.started == [0, "closed"]


class Blocked(Synthetic):
    """Makes the batches of some steps, and then waits for `released`."""

    def __init__(self, job):
        super().__init__(job)
        self.reached, self.released = threading.Event(), threading.Event()

    def _examples(self, step):
        if step >= 4:
            self.reached.set()
            assert self.released.wait(60)
        return super()._examples(step)


def test_nobody_waits_for_batches_that_a_closed_program_reads_ahead():
    job = Job(Dyadic(), 1, 4)
    source = Blocked(job)
    program = modern.factory.modern_program(job, source, ModernOptions(), ["CPU:0"])
    program.step()
    assert source.reached.wait(60)
    program.close()  # would wait for ever here
    [ending] = [thread for thread in threading.enumerate() if thread.name == ENDING_INPUT and thread.is_alive()]
    source.released.set()
    ending.join(60)
    assert not ending.is_alive()


def test_every_op_of_a_step_is_on_a_replicas_device():
    with setup(Dyadic(), 2).modern_program() as program:
        graph = program.trace_step()
    reads = [op for op in graph.get_operations() if op.type in ("ReadVariableOp", "Identity", "Mul")]
    assert {op.device.rpartition(":")[2] for op in reads if "replica_1" in op.name} == {"1"}
