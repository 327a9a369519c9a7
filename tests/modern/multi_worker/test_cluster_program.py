import dataclasses
import doctest

import numpy as np
import pytest

from modern.collectives import worker
from modern.multi_worker import cluster_config, cluster_program
from modern.options import ModernOptions
from workloads.program import State, StepRecord
from workloads.support.errors import InputError, Lost
from workloads.support.machine import threads


def a_record(loss, weight=1.0, drift=()):
    """One worker's record with one replica; `loss` tells it apart."""
    return StepRecord(
        step=4,
        digests=[f"digest of {loss}"],
        losses=[np.float32(loss)],
        gradients=[{"w": np.float32(loss)}],
        combined={"w": np.float32(0.5)},
        learning_rate=np.float32(0.25),
        state=State(5, {"w": np.float32(weight)}, {"w/m": np.float32(0.0)}, {}, {}),
        drift=list(drift),
        examples=[np.array([loss])],
        masks=[{}],
        proposals=[{}],
    )


def test_the_workers_replicas_are_put_in_a_row():
    merged = cluster_program.merge_records([a_record(1.0), a_record(2.0), a_record(3.0)])
    assert [float(loss) for loss in merged.losses] == [1.0, 2.0, 3.0]
    assert merged.digests == ["digest of 1.0", "digest of 2.0", "digest of 3.0"]
    assert [float(gradient["w"]) for gradient in merged.gradients] == [1.0, 2.0, 3.0]
    assert (merged.step, merged.state.step, merged.drift) == (4, 5, [])


def test_a_weight_that_differs_between_workers_drifts():
    assert cluster_program.merge_records([a_record(1.0), a_record(2.0, weight=1.5)]).drift == ["w"]


@pytest.mark.parametrize("changed", ["combined", "slots"])
def test_other_bits_of_one_value_are_drift(changed):
    other = a_record(2.0)
    if changed == "combined":
        other = dataclasses.replace(other, combined={"w": np.float32(-0.5)})
    else:
        other.state.slots["w/m"] = np.float32(-0.0)  # equal, and another bit
    drift = cluster_program.merge_records([a_record(1.0), other]).drift
    assert drift == [{"combined": "w", "slots": "w/m"}[changed]]


def test_the_workers_own_drift_is_kept():
    assert cluster_program.merge_records([a_record(1.0, drift=["b"]), a_record(2.0, drift=["a"])]).drift == ["a", "b"]


def test_workers_on_the_cpu_see_the_gpus_that_they_saw():
    assert cluster_program.own_gpus(1, ["CPU:0", "CPU:1"]) == {}


@pytest.mark.parametrize("index, visible", [(0, "0,1"), (2, "4,5")])
def test_workers_on_gpus_see_their_own(index, visible):
    assert cluster_program.own_gpus(index, ["GPU:0", "GPU:1"]) == {"CUDA_VISIBLE_DEVICES": visible}


class Connection:
    """A parent that sends these messages and keeps the answers."""

    def __init__(self, *messages):
        self._messages, self.answers = [*messages, None], []

    def listen(self):
        return self._messages.pop(0)

    def say(self, answer):
        self.answers.append(answer)


def test_a_worker_calls_the_methods_that_the_parent_names(monkeypatch):
    class Program:
        def __init__(self, *arguments):
            self.arguments = arguments

        def variables(self):
            return "variables"

        def describe(self):
            return {"worker": self.arguments[-1]}

        def run(self, steps):
            return [steps]

    within_ops, divided = (
        [],
        [],
    )  # the CPU of this process is not: it is divided once, and other tests need more devices
    monkeypatch.setattr("modern.collectives.strategy.divide_cpu", divided.append)
    monkeypatch.setattr("modern.mirrored.program.ModernProgram", Program)
    monkeypatch.setattr(threads, "share_of_cores", lambda replicas: 100 * replicas)
    monkeypatch.setattr(threads, "set_within_ops", within_ops.append)
    one_of_three = worker.Worker(None, 0, 3, on_machine=3)
    monkeypatch.setattr(cluster_program.cluster_config, "worker_from_environment", lambda: one_of_three)
    for exact in (True, False):
        parent = Connection(("run", (3,)), ("describe", ()))
        options = ModernOptions(exact=exact)
        cluster_program.serve_worker(parent, "job", lambda job: job + "'s source", options, ["CPU:0", "CPU:1"])
        assert parent.answers == [("variables", {"worker": one_of_three}), [3], {"worker": one_of_three}]
    assert divided == [2, 2] and within_ops == [600]


class Worker:
    """Stands in for a worker process: answers with its number, and is lost when it is told to be."""

    started = []

    def __init__(self, name, target, arguments, exact, variables, quiet):
        assert quiet  # what a lost worker's peers print is raised as well
        self.name, self.variables, self.sent = name, variables, []
        self.started.append(self)

    def send(self, message):
        self.sent.append(message)

    def answer(self):
        name, arguments = self.sent[-1] if self.sent else ("start", ())
        if arguments == ("lost",):
            raise Lost(f"{self.name} is lost")
        return {
            "start": ("specs", {"devices": "CPU:0"}),
            "step": a_record(1.0 + self.started.index(self)),
            "run": [self.name, *arguments],
            "state": self.name,
        }.get(name)


@pytest.fixture
def two_workers(monkeypatch):
    """A `ClusterProgram` of two stand-ins, and the list of those that were stopped."""
    stopped = []
    monkeypatch.setattr(Worker, "started", [])
    monkeypatch.setattr(cluster_program.child_processes, "Child", Worker)
    monkeypatch.setattr(cluster_program.child_processes, "stop_all", stopped.extend)
    monkeypatch.setattr(
        cluster_program.child_processes, "receive_from_all", lambda workers: [w.answer() for w in workers]
    )
    program = cluster_program.ClusterProgram("job", "make_source", ModernOptions(), 2, ["CPU:0"])
    return program, stopped


def test_every_worker_is_started_with_its_place_in_the_cluster(two_workers):
    program, _ = two_workers
    tasks = [cluster_config.parse_tf_config(w.variables["TF_CONFIG"], ("worker",)) for w in Worker.started]
    assert [task.index for task in tasks] == [0, 1]
    assert tasks[0].cluster == tasks[1].cluster and len(set(tasks[0].cluster["worker"])) == 2
    assert program.variables() == "specs"
    assert program.describe() == {"devices": "2 workers, each CPU:0"}


def test_every_worker_gets_each_command_and_the_first_one_answers(two_workers):
    program, _ = two_workers
    program.load("state")
    assert program.run(3) == ["worker 0", 3] and program.state() == "worker 0"
    assert [worker.sent for worker in Worker.started] == [[("load", ("state",)), ("run", (3,)), ("state", ())]] * 2


def test_a_steps_record_is_of_all_workers(two_workers):
    assert [float(loss) for loss in two_workers[0].step().losses] == [1.0, 2.0]


def test_the_others_are_stopped_when_a_worker_is_lost(two_workers):
    program, stopped = two_workers
    with pytest.raises(Lost, match="worker 0 is lost"):
        program.run("lost")
    assert stopped == Worker.started


def test_the_examples_in_the_documentation_hold():
    assert doctest.testmod(cluster_program).failed == 0


def test_a_workload_that_other_processes_cannot_find_is_refused():
    from tests.cases import Dyadic
    from workloads.job import Job

    cluster_program.check_picklable(Job(Dyadic()))

    @dataclasses.dataclass(frozen=True)
    class Local(Dyadic):
        pass

    with pytest.raises(InputError, match=r"class Local at .*test_cluster_program.py:\d+: got .* the top level"):
        cluster_program.check_picklable(Job(Local()))
    with pytest.raises(InputError, match="lambda"):
        cluster_program.check_picklable(Job(Dyadic(learning_rate=lambda step, global_batch: step)))
