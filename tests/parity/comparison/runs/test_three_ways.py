"""Recordings of real old environments against the old graph here and the port."""

import concurrent.futures
import dataclasses
import io
import json
import shutil
import sys
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from legacy.rerun.recording import RecordedSteps
from parity.comparison.difference import Difference
from parity.comparison.result import Failure, Verdict, Verification
from parity.comparison.runs import doubts, three_ways
from parity.comparison.stage_summary import StageSummary
from tests import old_programs
from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Noise, Race
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.mark.slow
@pytest.mark.parametrize("name", old_programs.NAMES)
def test_port_does_what_the_original_did(name):
    result = three_ways.compare_three_ways(old_programs.setup(name), old_programs.path(name), None)
    assert result.passed, result.columns[three_ways.COLUMNS[-1]].first
    assert result.columns[three_ways.COLUMNS[1]].passed  # the port has the old graph's bits, on the recorded batches
    assert all(verification.steps == 20 for verification in result.columns.values())


def test_says_which_orders_the_original_took():
    result = three_ways.compare_three_ways(old_programs.setup("c_queue_ema"), old_programs.path("c_queue_ema"), 5)
    races = result.columns[three_ways.COLUMNS[-1]].races
    assert races and all("ExponentialMovingAverage" in text for text in races)


def tampered(name, tmp_path, change):
    """A copy of a recording with one step's arrays changed."""
    folder = tmp_path / "recording"
    shutil.copytree(old_programs.path(name), folder)
    with zipfile.ZipFile(folder / "steps.zip") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with np.load(io.BytesIO(members["00002.npz"])) as arrays:
        arrays = {key: arrays[key] for key in arrays.files}
    change(arrays)
    content = io.BytesIO()
    np.savez(content, **arrays)
    members["00002.npz"] = content.getvalue()
    with zipfile.ZipFile(folder / "steps.zip", "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return str(folder)


def test_another_weight_in_the_recording_is_seen(tmp_path):
    def change(arrays):
        arrays["after/net/w"] = arrays["after/net/w"] * np.float32(1 + 1e-4)

    folder = tampered("f_sum_clip_after", tmp_path, change)
    result = three_ways.compare_three_ways(old_programs.setup("f_sum_clip_after"), folder, 5)
    first = result.columns[three_ways.COLUMNS[-1]].first
    assert not result.passed and (first.step, first.stage) == (2, "weights")
    assert "this TensorFlow" in three_ways.verdict(result)  # the port has the old graph's bits
    fed = dataclasses.replace(result, fed="the program fed a state")
    assert three_ways.verdict(fed).endswith("but the port has the old graph's bits: the program fed a state")


def test_an_average_that_no_order_gives_is_seen(tmp_path):
    def change(arrays):
        key = "after/local/weights/ExponentialMovingAverage"
        arrays[key] = arrays[key] * np.float32(1.01)

    result = three_ways.compare_three_ways(
        old_programs.setup("c_queue_ema"), tampered("c_queue_ema", tmp_path, change), 5
    )
    assert result.columns[three_ways.COLUMNS[-1]].first.stage == "moving averages"


def test_refuses_what_is_no_recording_of_this_program(tmp_path):
    setup = old_programs.setup("f_sum_clip_after")
    with pytest.raises(InputError, match="is not a recording"):
        three_ways.compare_three_ways(setup, str(tmp_path), None)
    with pytest.raises(InputError, match="step 0 ran Adam"):
        three_ways.compare_three_ways(setup, old_programs.path("b_adam_clip"), None)
    with pytest.raises(InputError, match="--steps: got 99, the recording holds 20"):
        three_ways.compare_three_ways(setup, old_programs.path("f_sum_clip_after"), 99)
    damaged = tmp_path / "damaged"
    shutil.copytree(old_programs.path("f_sum_clip_after"), damaged)
    (damaged / "steps.zip").write_bytes((damaged / "steps.zip").read_bytes()[:5000])
    with pytest.raises(InputError, match="damaged"):
        three_ways.compare_three_ways(setup, str(damaged), None)


def test_steps_are_read_rightly_from_several_threads():
    setup = old_programs.setup("a_split_sgd")
    steps = RecordedSteps(old_programs.path("a_split_sgd"), setup.job.workload.plan)
    expected = [steps.tensor(step, "images:0").tobytes() for step in range(20)]

    def read(offset):
        numbers = [(offset + step // 3) % 20 for step in range(60)]
        return all(steps.tensor(number, "images:0").tobytes() == expected[number] for number in numbers)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads meet between any two lines
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(0, 20, 2)))
    finally:
        sys.setswitchinterval(interval)


def test_a_recording_says_where_it_was_made():
    with open(old_programs.path("a_split_sgd", "recording.json")) as file:
        about = json.load(file)
    assert (about["tensorflow"], about["python"], len(about["steps"])) == ("0.12.1", "2.7.18", 20)


def compared(failed=(), **floors):
    """A comparison with the original in which some stages failed, and {stage: (difference, distance from float64)}."""
    found = Verification("auto", "locked", 3, passed=not failed)
    for stage in ("loss", "gradients", "weights"):
        found.stages[stage] = StageSummary(failed=0 if stage in failed else None)
    for stage, (difference, distance) in floors.items():
        found.floor[stage] = {"legacy_to_itself": difference, "legacy_to_truth": distance}
    return found


@pytest.mark.parametrize(
    "failed, floors, is_noise",
    [
        (["gradients"], {"gradients": (0.5, 0.125)}, True),
        (["gradients"], {"gradients": (0.5, 2.0**-6)}, False),
        (["gradients", "weights"], {"gradients": (0.5, 0.125), "weights": (0.5, 0.0)}, False),
        (["gradients", "weights"], {"gradients": (0.5, 0.125)}, False),
        (["gradients"], {"gradients": (np.inf, np.inf)}, False),
        (["gradients"], {"gradients": (np.nan, 1.0)}, False),
        ([], {}, False),
    ],
)
def test_a_difference_from_the_original_may_be_eight_times_the_old_graphs_own_distance(failed, floors, is_noise):
    assert doubts.is_as_large_as_noise(compared(failed, **floors)) is is_noise


def test_what_float32_does_not_determine_is_not_shown():
    judged = compared(["gradients"], gradients=(0.5, 0.125))
    judged.passed = True
    judged.unproven.append(doubts.noise_text(judged))
    result = three_ways.ThreeWays({column: judged for column in three_ways.COLUMNS}, [])
    assert judged.verdict is Verdict.NOT_SHOWN
    assert three_ways.verdict(result) == (
        "NOT SHOWN: the port has the old graph's bits, but not the original's: the gradients differ by up to 0.5, and "
        "float32 does not determine them: in the old graph here they are up to 0.12 away from float64"
    )


DRAWN = [
    Noise("dropout", "RandomUniform", "keyed", ["dropout"]),
    Noise("while/noise", "RandomUniform", "keyed", ["a"], True),
]


@pytest.mark.parametrize(
    "failed, noise, is_drawn",
    [
        (["loss", "gradients", "weights"], DRAWN, True),
        (["weights"], DRAWN[1:], True),
        (["loss", "gradients"], DRAWN[:1], False),  # recorded, and given to all
        (["batch", "loss"], DRAWN, False),
        (["learning rate"], DRAWN, False),
        ([], DRAWN, False),
    ],
)
def test_a_difference_may_be_of_numbers_that_are_drawn_inside_loops(failed, noise, is_drawn):
    judged = compared(failed)
    judged.stages.update({stage: StageSummary(failed=0) for stage in failed})
    text = doubts.loop_text(judged, dataclasses.replace(small_plan(), noise=noise))
    expected = (
        "1 random op draws inside loops or branches, where the recorder cannot read the numbers, such as while/noise"
    )
    assert text == (expected if is_drawn else None)


@pytest.mark.parametrize(
    "failed, reader, is_open",
    [
        (["gradients", "weights"], "loss0", True),  # reads w, and its tower's loss follows from it
        (["gradients", "weights"], "update", False),  # reads w for no loss: other orders are tried
        (["weights"], "loss0", False),  # gradients agree
        ([], "loss0", False),
    ],
)
def test_a_difference_may_be_of_reads_that_the_graph_orders_with_no_update(failed, reader, is_open):
    plan = small_plan()
    plan.phases[0].races = [Race("w", reader or "loss0", "update", reader)]
    text = doubts.race_text(compared(failed), plan, small_graph())
    assert (text is not None) is is_open
    assert not is_open or "w: loss0 may use it before or after update; taken before" in text


@pytest.mark.parametrize("first, is_open", [("update", True), ("after", False)])
def test_a_difference_may_be_of_a_read_between_two_updates_that_do_not_both_wait_for_it(first, is_open):
    plan, graph = small_plan(), small_graph()
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(graph.graph_def)
    for name in ("after", "later"):  # two updates that wait for both losses
        node = graph_def.node.add(name=name, op="NoOp", input=["^loss0", "^loss1"])
        assert node.name == name
    plan.phases[0].races = [Race("w", first, "later")]
    text = doubts.race_text(compared(["gradients"]), plan, Graph(graph_def))
    assert (text is not None) is is_open
    assert not is_open or text.endswith(f"w: changed by {first} and later in any order")


@pytest.mark.parametrize(
    "beyond, raced, is_open",
    [
        ([("statistics", "mean")], ["mean", "count"], True),
        ([("statistics", "mean"), ("weights", "w")], ["mean"], False),  # w has an order
        ([("statistics", "mean"), ("loss", "mean")], ["mean"], False),
        ([("statistics", "mean")], [], False),
        ([], ["mean"], False),
    ],
)
def test_a_difference_may_be_of_an_order_that_is_not_tried(beyond, raced, is_open):
    plan, judged = small_plan(), compared(["statistics"])
    plan.phases[0].races = [Race(name, "update", "after") for name in raced]
    judged.beyond.update(beyond)
    text = doubts.state_text(judged, plan)
    assert (text or "").startswith("1 variable differs, whose reads and updates" if is_open else "")
    assert (text is not None) is is_open


def test_all_tensors_beyond_their_tolerances_are_kept():
    found = Verification("auto", "locked")
    for name in ("a", "b"):
        found.add_failures([Failure(0, "weights", Difference(name), 0.0)])
    assert found.beyond == {("weights", "a"), ("weights", "b")} and found.first.difference.name == "a"
