"""Several workers, parameter servers and old clusters, as people start them: processes of their own."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from modern.multi_worker import cluster_program
from parity.processes import kill_and_resume, worker_loss
from tests.cases import Dyadic, records, setup
from tests.commands import ROOT, refused, run
from tests.marks import slow_after
from workloads import sources
from workloads.program import STATES
from workloads.support.processes import addresses, child_processes


def final(folder):
    """{name: array} of the newest checkpoint in `folder`."""
    return kill_and_resume.read_final_state(str(folder)).tensors


def test_two_workers_have_the_towers_bits_by_their_own_reduction(tmp_path):
    path = tmp_path / "result.json"
    flags = ["--workload=regression", "--workers=2", "--replicas=1", "--steps=4", "--all_reduce=auto"]
    process = run("parity.verify", *flags, "--tolerance=exact", f"--json={path}")
    assert process.returncode == 0, process.stdout + process.stderr
    result = json.loads(path.read_text())
    assert result["settings"]["modern"]["reduction"] == "CollectiveAllReduce RING"
    assert result["stages"]["batch"]["tensors"] == 8  # each worker's own part of each batch


@pytest.mark.slow
def test_two_workers_of_two_replicas_have_the_towers_bits_in_the_towers_order():
    flags = ["--workload=resnet18", "--workers=2", "--replicas=2", "--steps=3", "--tolerance=exact"]
    process = run("parity.verify", *flags)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "TowerOrder of gathered gradients" in process.stdout


def test_what_workers_do_not_have_in_common_is_drift():
    one, other = (records(setup(Dyadic()).modern_program(), 1)[0] for _ in range(2))
    assert cluster_program.merge_records([one, other]).drift == []
    other.state.weights["a"] = np.nextafter(other.state.weights["a"], np.float32(9))
    other.combined["b"] = other.combined["b"] + 1
    merged = cluster_program.merge_records([one, other])
    assert merged.drift == ["a", "b"]
    assert len(merged.losses) == 4 and merged.digests == one.digests + other.digests


@pytest.mark.parametrize("workers", slow_after(1, [1, 2]))
def test_a_killed_run_ends_with_the_bits_of_one_that_was_not(workers, tmp_path):
    path = tmp_path / "result.json"
    flags = ["--workload=regression", f"--workers={workers}", "--replicas=1", "--kills=1", "--steps=40"]
    process = run("parity.survival", *flags, "--kill_seed=1", f"--json={path}")
    assert process.returncode == 0, process.stdout + process.stderr
    result = json.loads(path.read_text())
    assert result["passed"] and len(result["kills"]) == 1 and result["kills"][0]["seconds"] < kill_and_resume.BOUND


def test_differing_names_what_differs():
    left = {"weights/a": np.float32(1), "weights/b": np.float32(2)}
    assert kill_and_resume.differing_tensors(left, dict(left)) == []
    assert kill_and_resume.differing_tensors(left, {"weights/a": np.float32(1.5), "slots/c": np.float32(0)}) == [
        "slots/c",
        "weights/a",
        "weights/b",
    ]


def start(*arguments, cwd=ROOT):
    """A running `python -m <arguments>` whose output is read as it comes."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env={**environment, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("workers", slow_after(0, [["--strategy=multi_worker", "--workers=2"], []]))
def test_a_preemption_signal_saves_first(workers, tmp_path):
    flags = ["--workload=regression", "--replicas=1", "--log_every=5", *workers]
    process = start("modern.train", *flags, "--steps=1000000", f"--checkpoint_dir={tmp_path / 'a'}")
    assert process.stdout.readline().startswith("modern | step")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "stopped by a signal at step" in out
    reached = int(final(tmp_path / "a")["step"])
    whole = run("modern.train", *flags, f"--steps={reached}", f"--checkpoint_dir={tmp_path / 'b'}")
    assert whole.returncode == 0, whole.stderr
    assert kill_and_resume.differing_tensors(final(tmp_path / "a"), final(tmp_path / "b")) == []


def descendants(pid):
    """Open process descriptors of all processes below `pid`."""
    below = []
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        below += [os.pidfd_open(int(child)), *descendants(int(child))]
    return below


COMMANDS = [
    ["modern.train", "--strategy=multi_worker", "--workers=2", "--replicas=1"],
    ["modern.train", "--strategy=parameter_server", "--workers=2"],
    ["legacy.train", "--cluster=worker=2;ps=1"],
]


@pytest.mark.parametrize(
    "command, end", slow_after(1, list(itertools.product(COMMANDS, [signal.SIGKILL, signal.SIGINT])))
)
def test_nothing_that_was_started_outlives_the_command(command, end):
    import select

    process = start(*command, "--workload=regression", "--steps=100000000", "--log_every=5")
    process.stdout.readline()
    below = descendants(process.pid)
    assert len(below) >= 2
    process.send_signal(end)  # to the command alone
    assert process.wait(timeout=120) in (130, -signal.SIGKILL)
    for descriptor in below:
        assert select.select([descriptor], [], [], 60)[0], "a process outlives its command"
    process.communicate()


@pytest.mark.slow
def test_one_worker_of_parameter_servers_is_the_sequential_run():
    flags = ["--strategy=parameter_server", "--parameter_servers=2", "--workload=regression", "--steps=4"]
    process = run("parity.verify", *flags, "--tolerance=exact")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "identical bits" in process.stdout


def test_training_goes_on_when_a_worker_is_lost():
    loss, late = worker_loss.train_losing_worker(*job_of("regression", 2), 1, steps=6, kill_at=2)
    assert np.isfinite(loss) and sum(late.values()) == 12


def job_of(name, workers):
    """(job, make_source, options) for parameter servers."""
    made = setup(name, workers)
    return made.job, made.make_source, made.modern


def test_beyond_the_spread_is_beyond_it():
    assert worker_loss.within_spread([1.0, 1.1], [0.9, 1.0, 1.1])
    assert not worker_loss.within_spread([1.0, 1.5], [0.9, 1.0, 1.1])


def be_task(speaker, job, cluster, kind, index):
    """A task of an old cluster; a worker takes six synchronous steps and says the state on the servers."""
    from legacy.towers import cluster as cluster_lib

    server = cluster_lib.start_server(cluster, kind, index)
    if kind == "worker":
        place = cluster_lib.WorkerTask(cluster, index, server.target)
        worker = cluster_lib.ClusterWorker(job, sources.Synthetic(job), place, sync=True, exact=True)
        worker.run(6)
        speaker.say(worker.state())
    speaker.listen()


# averages and decay; clipping after averaging
@pytest.mark.parametrize("name", slow_after(0, ["cifar_cnn", "stacked_lstm"]))
def test_sync_replicas_have_the_towers_bits(name):
    made, places = setup(name), addresses.free_addresses(4)
    cluster = {"worker": places[:2], "ps": places[2:]}
    tasks = {
        (kind, index): child_processes.Child(f"{kind} {index}", be_task, (made.job, cluster, kind, index), exact=True)
        for kind in cluster
        for index in range(2)
    }
    state = child_processes.receive_from_all([tasks["worker", 0], tasks["worker", 1]])[0]
    child_processes.stop_all(tasks.values())
    with made.legacy_program() as program:
        start = program.state()
        program.run(6)
        expected = program.state()
    for kind in STATES:
        for weight, value in getattr(expected, kind).items():
            assert getattr(state, kind)[weight].tobytes() == value.tobytes(), (kind, weight)
    assert all(start.weights[weight].tobytes() != value.tobytes() for weight, value in state.weights.items())


@pytest.mark.parametrize(
    "command, message",
    slow_after(
        3,
        [
            (["modern.train", "--workers=2"], "--workers: got 2, --strategy=mirrored has one"),
            (
                ["modern.train", "--strategy=other"],
                "flag --strategy=other: value should be one of <mirrored|multi_worker|",
            ),
            (
                ["modern.train", "--strategy=parameter_server", "--replicas=2"],
                "--replicas: got 2, a worker of a parameter",
            ),
            (["modern.train", "--checkpoint_every=0"], "--checkpoint_every: got 0, must be at least 1"),
            (["modern.train", "--staleness=-1"], "--staleness: got -1, must be at least 0"),
            (["modern.train", "--placement=layers", "--replicas=2"], "with --placement=layers: --micro_batches"),
            (["modern.train", "--all_reduce=ring"], "--all_reduce: got 'ring', is between workers"),
            (
                ["parity.verify", "--strategy=parameter_server", "--workers=2"],
                "only one worker has an order to compare",
            ),
            (["legacy.train", "--cluster=worker=2"], "--cluster: got 'worker=2', expected worker and ps"),
            (
                ["legacy.train", "--cluster=worker=a:1;ps=b:2", "--task=ps:1"],
                "--task: got 'ps:1', allowed: worker:0, ps:0",
            ),
            (["parity.survival", "--kills=0"], "--kills: got 0, must be at least 1"),
            (["parity.placement", "--placement=towers"], "--placement: got 'towers', here: layers"),
            (["parity.study", "--name=other"], "flag --name=other: value should be one of <"),
            (["parity.study", "--seeds=1"], "--seeds: got 1, from 2 to 16"),
        ],
    ),
)
def test_what_cannot_be_used_is_refused_in_one_line(command, message):
    assert message in refused(run(*command))


def test_the_true_old_tensorflow_trains_on_a_cluster(legacy_python):
    flags = ["--workload=stacked_lstm", "--steps=6", "--log_every=6", "--json_lines"]
    environment = dict(os.environ, PYTHONPATH=ROOT)
    command = [legacy_python, "-m", "legacy.train", *flags, "--cluster=worker=2;ps=1"]
    old = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert old.returncode == 0, old.stderr
    with setup("stacked_lstm").legacy_program() as program:
        losses = program.run(6)
    assert json.loads(old.stdout.splitlines()[0])["loss"] == pytest.approx(float(losses[0]), rel=1e-5)
