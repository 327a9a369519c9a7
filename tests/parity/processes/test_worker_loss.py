"""Training that loses a worker, with made-up servers and a made-up coordinator."""

import types

import pytest

from modern.multi_worker import local_servers, parameter_server_program
from parity.processes import worker_loss
from parity.processes.worker_loss import TrainingOutcome
from workloads.support.errors import Lost

JOB = types.SimpleNamespace(replicas=2)


class MadeUpChild:
    """Sends messages one after the other; an exception is raised."""

    def __init__(self, messages=()):
        self.messages, self.killed = list(messages), False

    def receive(self, timeout):
        message = self.messages.pop(0)
        if isinstance(message, Exception):
            raise message
        return message

    def kill(self):
        self.killed = True


class MadeUpServers:
    """Two workers."""

    cluster = {"worker": ["a:1", "b:2"]}

    def __init__(self, workers, parameter_servers):
        self.children = {f"worker {index}": MadeUpChild() for index in range(workers)}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.closed = True


@pytest.fixture
def started(monkeypatch):
    """{"servers", "coordinator", "arguments"} of the run; "messages" are what the coordinator sends."""
    made = {"messages": []}

    def start_servers(*arguments):
        made["servers"] = MadeUpServers(*arguments)
        return made["servers"]

    def start_child(name, target, arguments, exact):
        assert (name, target, exact) == ("coordinator", worker_loss.coordinate_training, True)
        made["arguments"], made["coordinator"] = arguments, MadeUpChild(made["messages"])
        return made["coordinator"]

    monkeypatch.setattr(local_servers, "LocalServers", start_servers)
    monkeypatch.setattr(worker_loss.child_processes, "Child", start_child)
    return made


def test_the_final_loss_is_the_mean_of_the_last_tenth(started):
    started["messages"] = [float(step) for step in range(20)] + [{0: 30, 1: 10}]
    outcome = worker_loss.train_losing_worker(JOB, "source", "options", 1, steps=20)
    assert outcome == TrainingOutcome(18.5, {0: 30, 1: 10})
    assert started["arguments"] == (JOB, "source", "options", MadeUpServers.cluster, 20)
    assert started["coordinator"].killed and started["servers"].closed
    assert not any(child.killed for child in started["servers"].children.values())


def test_the_last_worker_is_killed_after_its_step(started):
    started["messages"] = [4.0, 2.0, 1.0, {0: 6}]
    assert worker_loss.train_losing_worker(JOB, None, None, 1, steps=3, kill_at=1).final_loss == 1.0
    assert {name: child.killed for name, child in started["servers"].children.items()} == {
        "worker 0": False,
        "worker 1": True,
    }


def test_everything_is_ended_when_the_coordinator_is_lost(started):
    started["messages"] = [4.0, Lost("coordinator ended")]
    with pytest.raises(Lost):
        worker_loss.train_losing_worker(JOB, None, None, 1, steps=3)
    assert started["coordinator"].killed and started["servers"].closed


def test_the_coordinator_sends_mean_losses_and_then_the_staleness(monkeypatch):
    program = types.SimpleNamespace(run=lambda steps: [1.0, 2.0], staleness={0: 3})
    monkeypatch.setattr(local_servers, "coordinator_resolver", lambda cluster: "resolver of " + cluster)
    monkeypatch.setattr(parameter_server_program, "ParameterServerProgram", lambda *arguments: program)
    sent = []
    speaker = types.SimpleNamespace(say=sent.append)
    worker_loss.coordinate_training(speaker, "job", lambda job: "source of " + job, "options", "cluster", 2)
    assert sent == [1.5, 1.5, {0: 3}]


@pytest.mark.parametrize(
    "losses, within",
    [([2.0], True), ([5.0, -1.0], True), ([5.25], False), ([-1.25], False), ([2.0, 9.0], False), ([], True)],
)
def test_the_spread_is_three_deviations_about_the_mean(losses, within):
    assert worker_loss.within_spread(losses, [1.0, 2.0, 3.0]) == within  # mean 2, deviation 1
