"""The command `parity.placement`: traffic by device, of traces that are made up, and its report."""

import pytest
from rich.console import Console

from parity.comparison.result import Verification
from parity.profiling.device_trace import DeviceTrace
from tests.cases import setup
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import placement
    from parity.placement import DeviceTraffic


def trace(size, busy=0.5):
    """A step of 2 s in which CPU:0 sends `size` bytes to CPU:1, which sends 4 back and 2 to CPU:2."""
    crossing = {("CPU:0", "CPU:1"): size, ("CPU:1", "CPU:0"): 4, ("CPU:1", "CPU:2"): 2}
    return DeviceTrace(crossing, 3, {"CPU:1": 2.0, "CPU:0": 2 * busy, "CPU:2": 0.0}, 2.0)


def test_bytes_are_summed_by_device_and_time_is_relative_to_the_step():
    assert placement.device_traffic({"legacy": [trace(8)]}) == [
        DeviceTraffic("legacy", "CPU:0", 8, 4, 0.5),
        DeviceTraffic("legacy", "CPU:1", 6, 8, 1.0),
        DeviceTraffic("legacy", "CPU:2", 0, 2, 0.0),
    ]


def test_the_median_of_the_traces_counts():
    traces = [trace(8, 0.25), trace(16, 0.75), trace(800, 0.5)]
    row = placement.device_traffic({"modern": traces})[0]
    assert row == DeviceTraffic("modern", "CPU:0", 16, 4, 0.5)


def test_a_device_that_one_trace_lacks_was_not_busy_in_it():
    other = DeviceTrace({}, 0, {}, 2.0)
    assert [row.busy for row in placement.device_traffic({"legacy": [trace(8), other, other]})] == [0.0, 0.0, 0.0]


def test_json_has_a_rows_old_keys():
    row = DeviceTraffic("legacy", "CPU:0", 8, 4, 0.5)
    assert row.to_json() == {"side": "legacy", "device": "CPU:0", "out": 8, "in": 4, "busy": 0.5}


def test_the_report_has_verdicts_and_figures():
    console = Console(record=True, width=120, quiet=False)
    verdicts = {"legacy | modern, 2 devices": Verification("exact", "free", 20)}
    with console.capture() as capture:
        placement.print_report(
            console, setup("stacked_lstm"), verdicts, [DeviceTraffic("legacy", "CPU:0", 8192, 4, 0.5)]
        )
    text = capture.get()
    assert "legacy | modern, 2 devices: PARITY: 20 steps, every stage identical bits" in text
    assert "8,192" in text and "50%" in text and "2 micro-batches of" in text


@pytest.mark.parametrize(
    "values, message",
    [
        ({"steps": 0}, "--steps: got 0, must be at least 1"),
        ({"trace_steps": 0}, "--trace_steps: got 0, must be at least 1"),
        ({"placement": "towers"}, "--placement: got 'towers', here: layers"),
    ],
)
def test_what_cannot_be_used_is_refused(values, message):
    placement.check_flags()
    with set_flags(placement.FLAGS, **values), pytest.raises(InputError, match=message):
        placement.check_flags()
