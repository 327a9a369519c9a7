"""Shares and waits of devices, from made-up events."""

import pytest

from parity.profiling.device_waits import Wait, kernel_share, longest_wait
from parity.profiling.kernel_events import KernelEvent

EVENTS = [
    KernelEvent("MatMul", "CPU:1", 4, 6, "late"),
    KernelEvent("Split", "CPU:0", 0, 2, "split"),
    KernelEvent("_Recv", "CPU:1", 0, 4, "receive"),
    KernelEvent("MatMul", "CPU:1", 7, 8, "last"),
    KernelEvent("Mean", "CPU:0", 8, 16, "mean"),
]


def test_the_share_of_a_devices_kernels_is_without_those_that_wait():
    assert kernel_share(EVENTS, "CPU:0") == 10 / 13 and kernel_share(EVENTS, "CPU:1") == 3 / 13
    assert kernel_share(EVENTS, "CPU:2") == 0 and kernel_share([], "CPU:0") == 0


@pytest.mark.parametrize(
    "events, device, wait",
    [
        (EVENTS[:4], "CPU:1", Wait("late", "MatMul", 4 / 8)),
        (EVENTS, "CPU:1", Wait("", "", 8 / 16)),  # until the step ends
        (EVENTS, "CPU:0", Wait("mean", "Mean", 6 / 16)),
        (EVENTS, "CPU:2", Wait("", "", 1.0)),  # nothing runs there
        ([*EVENTS, KernelEvent("MatMul", "CPU:0", 1, 9, "covers")], "CPU:0", Wait("split", "Split", 0.0)),
    ],
)
def test_the_longest_wait(events, device, wait):
    assert longest_wait(events, device) == wait
    assert longest_wait(events[::-1], device) == wait
