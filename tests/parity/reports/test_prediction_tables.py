"""Tables of predictions."""

import io

from rich.console import Console

from parity.prediction.machines.selection import machine_named
from parity.prediction.prediction import DeviceTimeline, Prediction
from parity.prediction.what_if import Gain
from parity.reports.prediction_tables import prediction_parts


def prediction(replicas, seconds):
    """A made-up prediction of 128 examples a replica."""
    timeline = [DeviceTimeline("GPU:0", seconds / 2, seconds / 4, 0.0, seconds / 4)]
    return Prediction("modern", "v100x2", replicas, 128 * replicas, seconds, timeline, {})


def text(parts):
    console = Console(width=160, record=True, file=io.StringIO())
    for part in parts:
        console.print(part, highlight=False)
    return console.export_text()


def test_all_that_a_user_asks_for_is_shown():
    curves = {"modern": {1: prediction(1, 0.5), 2: prediction(2, 0.5)}}
    gains = {"modern": [Gain("twice the compute", 1.75), Gain("no cost of a call", 1.001)]}
    shown = text(prediction_parts(curves, gains, machine_named("v100x2").name, "weak", 2))
    assert "500.00" in shown and "250.00 (50%)" in shown and "125.00 (25%)" in shown
    assert "256" in shown and "2.00" in shown
    assert "bound by arithmetic of the devices" in shown and "twice the compute 1.75" in shown
    assert "no cost of a call" not in shown
