"""The command that kills a worker of parameter servers: its flags, its lines, and the order of its runs."""

import contextlib

import pytest

from parity.processes.worker_loss import TrainingOutcome
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity.qualification import lost_worker


@pytest.fixture
def flags(monkeypatch):
    """Sets flags of the command; the checks of the port's own flags are left out."""
    monkeypatch.setattr(lost_worker.modern_flags, "check_strategy", lambda: None)
    with contextlib.ExitStack() as stack:
        yield lambda **values: stack.enter_context(set_flags(lost_worker.FLAGS, **values))


def test_the_defaults_are_a_cluster_of_parameter_servers(flags):
    assert lost_worker.FLAGS.strategy == "parameter_server" and lost_worker.FLAGS.workers == 3
    lost_worker.check_flags()


@pytest.mark.parametrize(
    "values, message",
    [
        ({"steps": 1}, "--steps: got 1, must be at least 2"),
        ({"runs": 2}, "--runs: got 2, must be at least 3"),
        ({"workers": 1}, "--workers: got 1, must be at least 2"),
        ({"strategy": "mirrored"}, "--strategy: got 'mirrored', here: parameter_server"),
    ],
)
def test_what_cannot_be_used_is_refused(values, message, flags):
    flags(**values)
    with pytest.raises(InputError, match=message):
        lost_worker.check_flags()


def test_a_line_has_the_loss_and_the_staleness():
    outcome = TrainingOutcome(0.25, {0: 3, 2: 1})
    assert lost_worker.outcome_line(outcome, killed=True) == (
        "one worker killed: final loss 0.25000, 4 updates, staleness mean 0.50, most 2"
    )
    assert lost_worker.outcome_line(outcome, killed=False).startswith("all workers kept  : final loss")


def test_every_second_run_loses_a_worker_in_its_middle(flags, monkeypatch):
    flags(runs=3, steps=10)
    kills = []

    def train(job, make_source, options, parameter_servers, steps, kill_at):
        kills.append(kill_at)
        return TrainingOutcome(float(len(kills)), {0: steps})

    monkeypatch.setattr(lost_worker.job_flags, "job_from_flags", lambda **_: (None, None))
    monkeypatch.setattr(lost_worker.modern_flags, "options_from_flags", lambda exact: None)
    monkeypatch.setattr(lost_worker.worker_loss, "train_losing_worker", train)
    losses = lost_worker.train_all_runs()
    assert kills == [None, 5, None, 5, None, 5]
    assert losses.kept == [1.0, 3.0, 5.0] and losses.killed == [2.0, 4.0, 6.0]
