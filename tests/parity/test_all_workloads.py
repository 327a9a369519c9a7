"""The command `python -m parity`: its phases, its defaults where there are GPUs, and its exit status."""

import os
from types import SimpleNamespace

import pytest
import tensorflow as tf
from absl import flags

from parity.processes.json_command import CommandEnd
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import all_workloads

VERIFIED = {"verdict": "parity"}
TIMED = {"ratio": {"median": 1.0}}


@pytest.mark.parametrize(
    "verified, timed, status",
    [
        ([VERIFIED], [TIMED], 0),
        ([VERIFIED, {"verdict": "no parity"}], [TIMED, TIMED], 1),
        ([VERIFIED], [{"verdict": "no parity"}], 1),
        ([VERIFIED, {"verdict": "not shown"}], [TIMED, TIMED], 3),
        ([{"verdict": "no parity"}, {"verdict": "not shown"}], [TIMED, TIMED], 1),
    ],
)
def test_every_workload_must_have_parity_and_be_timed(verified, timed, status):
    assert all_workloads.exit_status({"verify": verified, "benchmark": timed}) == status


def test_built_in_workloads_a_users_own_and_lifts_are_allowed():
    all_workloads.check_workloads(["regression", "package.module:NAME"])
    with pytest.raises(InputError, match="--workloads: got 'other', allowed: .*regression.*; package.module:attribute"):
        all_workloads.check_workloads(["regression", "other"])


def test_a_phase_has_the_flags_of_the_command_and_two_more(monkeypatch):
    monkeypatch.setattr("sys.argv", ["parity", "--phase=all", "--steps=3"])
    arguments = all_workloads.phase_arguments("verify", ["a", "b"])
    assert arguments == ["--phase=all", "--steps=3", "--workloads=a,b", "--phase=verify"]


def result(phase, name, gpus="0"):
    return {"phase": phase, "name": name, "environment": {"GPUs": gpus}}


def children(monkeypatch, statuses, gpus="0"):
    """Replaces child processes; each ends with its phase's status, and may write results.

    Returns:
      The workloads of each child.
    """
    started = []
    monkeypatch.setattr(all_workloads, "FLAGS", SimpleNamespace(workloads=["a", "b", "c"]))

    def run(module, arguments, variables, passes_output_on):
        assert module == "parity" and passes_output_on
        phase = arguments[-1].partition("=")[2]
        workloads = arguments[-2].partition("=")[2].split(",")
        started.append((phase, workloads))
        assert variables["TOWER_PARITY_PROGRESS"] == "lines" and os.path.isdir(variables["TOWER_PARITY_TURNS"])
        status, writes = statuses[phase]
        return CommandEnd(status, [result(phase, name, gpus) for name in workloads] if writes else None, "")

    monkeypatch.setattr(all_workloads, "run_json_command", run)
    return started


def test_both_phases_results_are_joined(monkeypatch):
    children(monkeypatch, {"verify": (0, True), "benchmark": (1, True)})
    assert all_workloads.run_phases() == {
        phase: [result(phase, name) for name in "abc"] for phase in ("verify", "benchmark")
    }


def test_two_processes_share_a_phase_but_where_kernels_are_chosen_by_their_speed(monkeypatch):
    halves = [("verify", ["a", "c"]), ("verify", ["b"])]
    started = children(monkeypatch, {"verify": (0, True), "benchmark": (0, True)})
    all_workloads.run_phases()
    assert sorted(started[:2]) == halves
    assert sorted(started[2:]) == [("benchmark", ["a", "c"]), ("benchmark", ["b"])]
    started = children(monkeypatch, {"verify": (0, True), "benchmark": (0, True)}, gpus="2")
    all_workloads.run_phases()
    assert sorted(started[:2]) == halves and started[2:] == [("benchmark", ["a", "b", "c"])]


def test_a_phase_that_refuses_its_input_ends_the_command(monkeypatch):
    children(monkeypatch, {"verify": (2, False)})
    assert all_workloads.run_phases() == 2


def test_a_phase_without_a_result_is_an_error(monkeypatch):
    children(monkeypatch, {"verify": (0, True), "benchmark": (-9, False)})
    with pytest.raises(InputError, match="phase benchmark ended with status -9 and no result"):
        all_workloads.run_phases()


@pytest.fixture
def given(monkeypatch):
    """Flags that count as not given on the command line; they are set by assignment."""
    values = flags.FlagValues()
    flags.DEFINE_integer("replicas", None, "", flag_values=values)
    flags.DEFINE_string("size", "small", "", flag_values=values)
    flags.DEFINE_string("tolerance", None, "", flag_values=values)
    flags.DEFINE_string("device", "auto", "", flag_values=values)
    values.mark_as_parsed()
    monkeypatch.setattr(all_workloads, "FLAGS", values)
    return values


def adapted(given, gpus, monkeypatch):
    """The flags after they were adapted to so many GPUs."""
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["GPU"] * gpus)
    all_workloads._adapt_defaults_to_gpus()
    return given.replicas, given.size, given.tolerance


def test_without_gpus_the_defaults_stay(given, monkeypatch):
    assert adapted(given, 0, monkeypatch) == (None, "small", None)


def test_all_gpus_are_used(given, monkeypatch):
    assert adapted(given, 4, monkeypatch) == (4, "seed", "auto")


def test_flags_that_were_given_stay(given, monkeypatch):
    given.replicas, given["replicas"].present = 2, 1
    assert adapted(given, 4, monkeypatch) == (2, "seed", "auto")


def test_the_cpu_that_was_asked_for_is_used(given, monkeypatch):
    given.device = "cpu"
    assert adapted(given, 4, monkeypatch) == (None, "small", None)


def test_blocks_are_shorter_than_the_benchmarks_unless_flags_say_otherwise(given):
    flags.DEFINE_integer("blocks", 20, "", flag_values=given)
    flags.DEFINE_integer("most_blocks", 64, "", flag_values=given)
    flags.DEFINE_float("block_seconds", 0.25, "", flag_values=given)
    given.most_blocks, given["most_blocks"].present = 40, 1
    flags.DEFINE_integer("parity_steps", 5, "", flag_values=given)
    flags.DEFINE_list("tried_inputs", ["feed", "queue"], "", flag_values=given)
    flags.DEFINE_boolean("memory", True, "", flag_values=given)
    flags.DEFINE_boolean("all_cores", True, "", flag_values=given)
    all_workloads._set_defaults(all_workloads.SHORTER)
    assert (given.blocks, given.most_blocks, given.block_seconds) == (10, 40, 0.1)
    assert not given.memory and not given.all_cores


@pytest.mark.parametrize(
    "values, message",
    [
        ({"devices": "abacus"}, "--devices: got 'abacus', allowed: gtx1060"),
        ({"devices": "v100x2", "replicas": 4}, "--replicas: got 4, v100x2 has 2 devices"),
    ],
)
def test_devices_that_cannot_be_predicted_are_refused(values, message):
    with set_flags(all_workloads.FLAGS, **values), pytest.raises(InputError, match=message):
        all_workloads.check_devices()
