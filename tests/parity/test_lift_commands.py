"""The commands of the lift as people run them, one after the other, on recorded old programs."""

import json
import os

import numpy as np
import pytest

from tests import old_programs
from tests.commands import refused, run
from tests.marks import slow_after


@pytest.fixture(scope="module")
def lifted(tmp_path_factory):
    """A folder that `legacy.lift` wrote."""
    out = tmp_path_factory.mktemp("lift") / "lifted"
    name = "d_batch_norm"
    process = run(
        "legacy.lift",
        old_programs.path(name, "graph.meta"),
        f"--checkpoint={old_programs.path(name, 'model.ckpt')}",
        f"--out={out}",
        "--name=d_batch_norm",
    )
    assert process.returncode == 0, process.stderr
    assert "2 towers, recognised by" in process.stdout
    return str(out)


def test_inspect_prints_a_page_and_writes_json(tmp_path):
    out = tmp_path / "page.json"
    process = run("legacy.inspect", old_programs.path("b_adam_clip", "graph.meta"), f"--json={out}")
    assert process.returncode == 0, process.stderr
    for text in (
        "written by TensorFlow  1.4.1",
        "TOWERS",
        "in each tower, by global norm",
        "beta1=0.9",
        "fed at every step",
    ):
        assert text in process.stdout
    sections = json.loads(out.read_text())
    assert {row["name"] for row in sections["variables"]} >= {"model/out/kernel", "beta1_power"}


def test_verify_is_exact_by_default_at_the_towers_own_number(lifted, tmp_path):
    out = tmp_path / "out.json"
    process = run("parity.verify", f"--workload={lifted}", "--steps=5", f"--json={out}")
    assert process.returncode == 0, process.stdout + process.stderr
    result = json.loads(out.read_text())
    assert (result["verdict"], result["tolerance"], result["steps"]) == ("parity", "exact", 5)
    assert result["settings"]["modern"]["reduction"] == "as written, on every replica"


def test_verify_against_a_recording_shows_three_columns(lifted, tmp_path):
    out = tmp_path / "out.json"
    process = run(
        "parity.verify", f"--workload={lifted}", f"--recording={old_programs.path('d_batch_norm')}", f"--json={out}"
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "PARITY with the original: 20 steps" in process.stdout
    assert len(json.loads(out.read_text())["columns"]) == 3


def test_verify_against_the_saved_graph_in_the_true_old_tensorflow(lifted, legacy_python, tmp_path):
    out = tmp_path / "out.json"
    process = run("parity.verify", f"--workload={lifted}", f"--legacy_python={legacy_python}", f"--json={out}")
    assert process.returncode == 0, process.stdout + process.stderr
    assert json.loads(out.read_text())["legacy_environment"]["tensorflow"].startswith("1.")


def test_train_goes_on_from_real_batches_and_convert_takes_it_home(lifted, tmp_path):
    rng = np.random.RandomState(1)
    x = rng.rand(96, 6, 6, 2).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=(x.mean((1, 2, 3)) * 3).astype(np.int32) % 3)
    process = run(
        "modern.train",
        f"--workload={lifted}",
        f"--data={tmp_path / 'data.npz'}",
        "--replicas=3",
        "--global_batch=24",
        "--steps=60",
        "--log_every=20",
        "--json_lines",
        f"--save={tmp_path / 'saved'}",
    )
    assert process.returncode == 0, process.stderr
    losses = [json.loads(line)["loss"] for line in process.stdout.splitlines() if "loss" in line]
    assert losses[-1] < losses[0]
    process = run("legacy.convert", str(tmp_path / "saved"), f"--out={tmp_path / 'model.ckpt-60'}")
    assert process.returncode == 0 and "for TensorFlow 1.x" in process.stdout, process.stderr
    from workloads.lifted import checkpoint

    values = checkpoint.read_checkpoint(str(tmp_path / "model.ckpt-60"))
    assert values["global_step"] == 60 and np.abs(values["conv0/kernel/Momentum"]).max() > 0


def test_train_takes_a_dataset_function(lifted, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import tensorflow as tf\n\n\ndef batches(global_batch):\n"
        "    x = tf.random.stateless_uniform([40, 6, 6, 2], [1, 2])\n"
        "    data = tf.data.Dataset.from_tensor_slices({'x': x, 'y': tf.zeros([40], tf.int32)})\n"
        "    return data.batch(global_batch, drop_remainder=True)\n"
    )
    process = run("modern.train", f"--workload={lifted}", "--data=mine:batches", "--steps=5", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "step      5 of 5" in process.stdout


def test_benchmark_times_the_old_graph_against_the_port(lifted, tmp_path):
    out = tmp_path / "out.json"
    process = run(
        "parity.benchmark",
        f"--workload={lifted}",
        "--warmup=2",
        "--blocks=10",
        "--most_blocks=10",
        "--block_seconds=0.02",
        "--parity_steps=2",
        "--steps_per_call=5",
        "--nomemory",
        f"--json={out}",
    )
    assert process.returncode == 0, process.stdout + process.stderr
    result = json.loads(out.read_text())
    assert result["ratio"]["median"] > 0 and result["settings"]["legacy"]["program"] == "the saved graph in a session"


@pytest.mark.parametrize(
    "arguments, message",
    slow_after(
        4,
        [
            (["legacy.lift", "/no/such.meta", "--out=x"], "graph file: cannot read /no/such.meta: No such file"),
            (["legacy.lift", "--out=x"], "argument: got [], expected GRAPH"),
            (["legacy.lift", "GRAPH"], "--out: got None, name the folder to write"),
            (["legacy.lift", "GRAPH", "--out=/no/such/folder/x"], "--out: got '/no/such/folder/x'"),
            (["legacy.lift", "GRAPH", "--out=x", "--train_op=nothing"], "--train_op: got 'nothing'"),
            (["legacy.lift", "GRAPH", "--out=x", "--feed=nothing=1"], "--feed: got 'nothing', no such placeholder"),
            (["legacy.lift", "GRAPH", "--out=x", "--feed=is_training"], "expected placeholder=value"),
            (["legacy.lift", "GRAPH", "--out=x", "--carry=nothing=y:0"], "--carry: got 'nothing', no such tensor"),
            (["legacy.lift", "GRAPH", "--out=x", "--checkpoint=/no/such"], "checkpoint: cannot read '/no/such'"),
            (["legacy.inspect"], "argument: got [], expected GRAPH"),
            (["legacy.convert", "/no/such", "--out=x"], "checkpoint: cannot read '/no/such'"),
            (["legacy.convert", "/no/such"], "--out: got None"),
            (["parity.benchmark", "--workload=LIFT", "--replicas=4"], "--replicas: got 4, the old graph has 2 towers"),
            (["parity.verify", "--workload=LIFT", "--update_rules=keras"], "a lift keeps its own; only tf1"),
            (["parity.verify", "--workload=LIFT", "--recording=/no/such"], "'/no/such' is not a recording"),
            (["parity.verify", "--workload=LIFT", "--data_dir=."], "--data_dir: got '.', not for a lifted workload"),
            (
                ["modern.train", "--workload=LIFT", "--data=/no/such.npz"],
                "--data: cannot read /no/such.npz: No such file",
            ),
            (["modern.train", "--workload=LIFT", "--settings=lr=1"], "--settings: got 'lr', allowed: x, y"),
            (["modern.train", "--data=x.npz"], "--data: cannot read x.npz: No such file"),
            (["modern.train", "--save=x"], "--save: got 'x', only for a lifted workload"),
        ],
    ),
)
def test_bad_input_is_refused_in_one_line(arguments, message, lifted, tmp_path):
    graph = old_programs.path("d_batch_norm", "graph.meta")
    arguments = [text.replace("GRAPH", graph).replace("LIFT", lifted) for text in arguments]
    assert message in refused(run(*arguments, cwd=tmp_path))
    assert not os.listdir(tmp_path)
