"""The study of pinned towers: its sentences on made-up traces, and the placements at a small size."""

import pytest

from parity.experiments.studies import pinned_towers
from parity.experiments.studies.alternatives.placements import (
    DEFAULT,
    FORWARD_PINNED,
    PINNED,
    PLACEMENTS,
    REPAIRED,
    Seen,
)
from parity.experiments.studies.alternatives.predicted import PredictedStep
from parity.experiments.studies.alternatives.turns import TurnTimes
from parity.profiling.device_waits import Wait
from tests.parity.experiments.studies.in_process import in_process  # noqa: F401

TIMES = TurnTimes({DEFAULT: [1.0] * 4, PINNED: [4.0] * 4, FORWARD_PINNED: [3.0] * 4, REPAIRED: [0.5] * 4})


def seen(host_share, size, wait=None, hazards=None):
    wait = wait or Wait("w", "MatMul", 0.25)
    return Seen({("CPU:0", "CPU:1"): size, ("CPU:1", "CPU:0"): size}, host_share, wait, hazards or {})


def of_placements(hazards=None):
    return {
        DEFAULT: seen(0.0, 1000000),
        PINNED: seen(1.0, 0, Wait("", "", 1.0), hazards),
        FORWARD_PINNED: seen(0.5, 8000000),
        REPAIRED: seen(0.0, 2000000, hazards={"BOTH": "here too"}),
    }


def predicted(**seconds):
    names = {"default": DEFAULT, "pinned": PINNED, "forward": FORWARD_PINNED, "repaired": REPAIRED}
    return {names[key]: PredictedStep("gtx1060x2", value, 2e6) for key, value in seconds.items()}


PREDICTED = predicted(default=1.0, pinned=6.0, forward=3.0, repaired=0.5)


def test_the_answer_has_the_share_of_the_host_and_the_gain():
    text = pinned_towers.answer(TIMES, of_placements(), PREDICTED)
    assert "100% of the kernels' time on the host (repaired: 0%)" in text
    assert "a predicted 12.0 times on gtx1060x2, and 8.00 [8.00, 8.00] times here" in text


def test_the_findings_have_the_bytes_and_the_hazard():
    text = " ".join(pinned_towers.findings(TIMES, of_placements({"TOWER_ON_CPU": "tower 0", "BOTH": "here too"})))
    assert "With the forward passes alone pinned, 50% of the kernels' time is spent on the host." in text
    assert "waits for the whole step: it runs no op at all" in text
    assert "Pinned, 0.00 MB cross" in text and "pinned 16.00 MB" in text and "repaired 4.00 MB" in text
    assert "not in the repaired one: TOWER_ON_CPU (tower 0)." in text
    assert "5.6 times as long as one device" in text


def test_a_graph_without_a_hazard_of_its_own_has_none_to_name():
    text = " ".join(pinned_towers.findings(TIMES, of_placements({"BOTH": "here too"})))
    assert "finds no hazard in the pinned graph that the repaired one lacks" in text


@pytest.mark.parametrize(
    "wait, words",
    [
        (Wait("n", "SigmoidGrad", 0.5), "waits longest for SigmoidGrad (50% of the step)"),
        (Wait("", "", 0.5), "waits longest for the step to end (50% of it)"),
    ],
)
def test_what_a_device_waits_for(wait, words):
    assert words in pinned_towers.wait_sentence(seen(0.0, 0, wait))


def test_predictions_stand_beside_the_write_ups_times():
    assert "one device: 1 s (write-up: 0.868 s); " in pinned_towers.predicted_sentence(PREDICTED)
    rows = {row[0]: row[1:] for row in pinned_towers.predicted_table(PREDICTED).rows}
    assert rows[PINNED] == ("6.000", "4.885", "2.00 MB") and rows[REPAIRED] == ("0.500", "-", "2.00 MB")


@pytest.mark.slow
def test_the_whole_study_at_a_small_size(in_process):  # noqa: F811
    report = pinned_towers.run_study(True, lambda *unused: None)
    found = report.content["placements"]
    assert [row[0] for row in report.tables[0].rows] == list(PLACEMENTS) == list(in_process.opened[:4])
    # One device gets the batch of 8 matrices of 32 x 32 float32; towers also get six weights and biases, and send
    # gradients; pinned towers get nothing.
    batch, weights = 8 * 32 * 32 * 4, 6 * (32 + 1) * 32 * 4
    sizes = {name: {tuple(entry[:2]): entry[2] for entry in found[name]["crossing"]} for name in PLACEMENTS}
    assert sizes[DEFAULT]["CPU:0", "CPU:1"] == batch and not sum(sizes[PINNED].values())
    assert sizes[REPAIRED]["CPU:0", "CPU:1"] >= batch // 2 + weights <= sizes[REPAIRED]["CPU:0", "CPU:2"]
    assert sizes[REPAIRED]["CPU:1", "CPU:0"] >= weights
    assert sum(sizes[FORWARD_PINNED].values()) > sum(sizes[REPAIRED].values())
    assert found[PINNED]["host_share"] == 1.0 and found[DEFAULT]["host_share"] < found[FORWARD_PINNED]["host_share"]
    # Predicted of the same size: the input goes to the first GPU, which splits it; the rest as measured.
    predicted = report.content["predicted"]
    assert batch <= predicted[DEFAULT]["bytes_crossing"] <= batch + 1000
    assert predicted[REPAIRED]["bytes_crossing"] > batch + 2 * weights
    assert "TOWER_ON_CPU" in found[PINNED]["hazards"] and "TOWER_ON_CPU" not in found[REPAIRED]["hazards"]
