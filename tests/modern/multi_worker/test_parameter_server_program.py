import logging

import numpy as np
import pytest
import tensorflow as tf

from modern.mirrored.step.step_tensors import StepTensors
from modern.multi_worker import local_servers, parameter_server_program
from modern.multi_worker.parameter_server_program import join_updates, shorten_log_record


def an_update(number):
    """The values of one update whose numbers are multiples of `number`."""
    return StepTensors(
        loss=np.float32(number),
        gradients={"w": np.float32(2 * number)},
        combined={"w": np.float32(3 * number)},
        learning_rate=np.float32(0.25),
        proposals={"mean": np.float32(4 * number)},
        masks={"drop": np.array([number > 1])},
    )


def test_the_updates_of_a_step_are_listed_in_the_replicas_order():
    joined = join_updates([an_update(1), an_update(2)])
    assert joined.loss == [1.0, 2.0]
    assert joined.gradients == [{"w": 2.0}, {"w": 4.0}]
    assert joined.combined == {"update 0: w": 3.0, "update 1: w": 6.0}
    assert joined.proposals == [{"mean": 4.0}, {"mean": 8.0}]
    assert [bool(mask["drop"][0]) for mask in joined.masks] == [False, True]
    assert joined.learning_rate == 0.25


def test_a_lone_update_is_named_as_a_synchronous_step():
    assert join_updates([an_update(5)]).combined == {"w": 15.0}


@pytest.mark.parametrize(
    "message, arguments, short",
    [
        ("worker %d failed\nTraceback ...", (3,), "worker 3 failed"),
        ("x" * 500, (), "x" * 160),
        ("one line", (), "one line"),
    ],
)
def test_a_log_message_keeps_its_first_line(message, arguments, short):
    record = logging.LogRecord("tensorflow", logging.ERROR, "file.py", 1, message, arguments, None)
    assert shorten_log_record(record)
    assert record.getMessage() == short


def test_servers_are_stopped_if_the_program_cannot_be_made(monkeypatch):
    class Servers:
        closed = 0
        cluster = {"worker": ["a:1"], "ps": ["b:2"], "chief": ["c:3"]}

        def __init__(self, *counts):
            pass

        def close(self):
            Servers.closed += 1

    def refuse(*arguments):
        raise RuntimeError("no program")

    monkeypatch.setattr(parameter_server_program.local_servers, "LocalServers", Servers)
    monkeypatch.setattr(parameter_server_program, "ParameterServerProgram", refuse)
    job = type("Job", (), {"replicas": 1})
    with pytest.raises(RuntimeError, match="no program"):
        parameter_server_program.start_parameter_server_program(job, None, None, 1)
    assert Servers.closed == 1


@pytest.mark.parametrize(
    "message",
    [
        "/job:worker/task:0 encountered the following error when processing closure: InvalidArgumentError()",
        "Start cancelling closures due to error InvalidArgumentError()",
        "Remote function on worker /job:worker/replica:0/task:1 failed with CancelledError():CANCELLED",
        "Remote function on worker /job:worker/replica:0/task:0 failed with UnavailableError():Graph execution error:",
    ],
)
def test_what_is_raised_as_well_is_not_logged(message):
    assert not shorten_log_record(logging.LogRecord("tensorflow", logging.ERROR, "", 0, message, None, None))


class Servers:
    """Stands in for servers of this machine; `all_running` as given, and whether they were ended."""

    def __init__(self, all_running):
        self.all_running, self.closed = all_running, False

    def close(self):
        self.closed = True


@pytest.mark.parametrize("error", [None, KeyboardInterrupt(), tf.errors.UnavailableError(None, None, "gone")])
@pytest.mark.parametrize("started", [None, Servers(False), Servers(True)])
def test_functions_are_removed_only_where_all_servers_still_run(monkeypatch, error, started):
    kept = []
    monkeypatch.setattr(local_servers, "_kept", kept)
    program = object.__new__(parameter_server_program.ParameterServerProgram)
    program._coordinator, program._observed, program._unobserved, program._started = "made", [len], [len], started
    program.__exit__(None if error is None else type(error), error, None)
    assert program._observed is None and (started is None or started.closed)
    removed = error is None and started is not None and started.all_running
    assert any("made" in held for held in kept) is not removed
    assert any(error in held for held in kept) is (error is not None)
