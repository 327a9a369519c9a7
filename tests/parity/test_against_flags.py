"""`parity.verify --against` as people run it."""

import json

import pytest

from parity import against_flags
from tests import old_programs
from tests.commands import refused, run
from tests.marks import slow_after

PORT = "tests/parity/against/hand_ports.py"


def test_a_port_in_a_file_is_proven_against_the_old_graph(tmp_path):
    out = tmp_path / "out.json"
    lift = old_programs.lifted("c_queue_ema")
    process = run("parity.verify", f"--workload={PORT}:C", f"--against={lift}", "--steps=2", f"--json={out}")
    assert process.returncode == 0, process.stderr + process.stdout
    result = json.loads(out.read_text())
    assert (result["verdict"], result["tolerance"], result["workload"]) == ("parity", "exact", "c_port")
    assert result["settings"]["legacy"]["program"] == "the saved graph in a session"
    assert len(result["visits"]) > 2 and result["forward_difference"] is None


def test_scalars_that_nothing_gives_a_value_are_assumed_and_said(tmp_path):
    """The port's learning rate is 0.01, which is assumed for the old graph, and then not the 0.02 that it is given."""
    lift = old_programs.lifted("b_adam_clip")
    flags = ["parity.verify", f"--workload={PORT}:B", f"--against={lift}", "--steps=2"]
    process = run(*flags, f"--json={tmp_path / 'out.json'}")
    assert process.returncode == 0, process.stderr + process.stdout
    sentence = "assumed for the old graph: learning_rate=0.01; --settings=NAME=VALUE gives what the program fed"
    assert sentence in process.stdout
    assert json.loads((tmp_path / "out.json").read_text())["notes"][0] == sentence
    given = run(*flags, "--settings=learning_rate=0.02")
    assert given.returncode == 1 and "assumed for" not in given.stdout and "LEARNING_RATE_SCALED" in given.stdout


@pytest.mark.slow
def test_the_line_where_the_losses_part_is_named(tmp_path):
    out = tmp_path / "out.json"
    lift = old_programs.lifted("e_slim_dropout")
    flags = [f"--workload={PORT}:E", f"--against={lift}", "--settings=keep_prob=0.5", "--steps=2", f"--json={out}"]
    process = run("parity.verify", *flags)
    assert process.returncode == 1, process.stderr + process.stdout
    assert "the forward passes diverge at tests/parity/against/hand_ports.py:" in process.stdout
    result = json.loads(out.read_text())
    assert result["verdict"] == "no parity" and result["forward_difference"]["kind"] == "GreaterEqual"


@pytest.mark.parametrize(
    "port, name, more, message",
    slow_after(
        1,
        [
            ("A", "d_batch_norm", [], "the old graph has no 'net/w1'"),
            ("A", "i_odd_combine", [], "the port has no"),
            ("A", "a_split_sgd", ["--recording=x.npz"], "--recording: got 'x.npz', not with --against"),
            ("no_such", "a_split_sgd", [], "has no attribute 'no_such'"),
        ],
    ),
)
def test_what_cannot_be_compared_is_refused_in_one_line(port, name, more, message):
    lift = old_programs.lifted(name)
    assert message in refused(run("parity.verify", f"--workload={PORT}:{port}", f"--against={lift}", *more))


def test_the_flag_is_off_by_default():
    assert against_flags.FLAGS["against"].default is None
