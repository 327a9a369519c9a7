"""Profiles of made-up kernel events."""

import pytest

from parity.profiling.kernel_events import KernelEvent
from parity.profiling.op_kinds import PRODUCTS
from parity.profiling.step_profile import DeviceTime, profile_of_events, union_length


def event(op, device, start, end):
    """An event with times in eighths of a second."""
    return KernelEvent(op, device, start * 0.125e9, end * 0.125e9)


#: Two steps in a second. CPU:0 computes for half of it, waits for input, for CPU:1, for a transfer, and for nothing.
EVENTS = [
    event("MatMul", "CPU:0", 0, 3),
    event("Mul", "CPU:0", 2, 4),
    event("IteratorGetNext", "CPU:0", 3, 5),
    event("MatMul", "CPU:1", 4, 6),
    event("_Recv", "CPU:0", 4, 7),
    event("Mul", "CPU:1", 7.5, 8),
]


def test_kernels_are_summed_by_kind_and_type_for_one_step():
    profile = profile_of_events(EVENTS, 2)
    assert profile.seconds == 0.5
    assert profile.kinds == {PRODUCTS: 5 / 16, "element-wise": 2.5 / 16}
    assert profile.ops == {"MatMul": 5 / 16, "Mul": 2.5 / 16}
    assert list(profile.kinds) == [PRODUCTS, "element-wise"]


def test_a_devices_time_is_divided_once():
    first, second = profile_of_events(EVENTS, 2).devices
    assert first == DeviceTime("CPU:0", 4 / 8, 1 / 8, 1.5 / 8, 1 / 8, 0.5 / 8)
    assert second == DeviceTime("CPU:1", 2.5 / 8, 0.0, 4 / 8, 0.0, 1.5 / 8)
    assert sum(first[1:]) == sum(second[1:]) == 1


def test_shares_of_the_kernels_time():
    profile = profile_of_events(EVENTS, 1)
    assert profile.kernel_share(PRODUCTS) == 2 / 3 and profile.kernel_share("rectifiers") == 0
    assert profile_of_events([event("_Recv", "CPU:0", 0, 1)], 1).kernel_share(PRODUCTS) == 0


def test_json_has_seconds_and_shares():
    entry = profile_of_events(EVENTS, 2).to_json()
    assert entry["profiled_seconds"] == 0.5 and entry["products_share"] == 2 / 3
    assert entry["devices"][0]["device"] == "CPU:0" and entry["devices"][0]["dispatch"] == 0.0625


@pytest.mark.parametrize(
    "spans, length",
    [([], 0), ([(0, 2), (1, 3)], 3), ([(5, 6), (0, 1), (0, 1)], 2), ([(0, 10), (2, 3)], 10), ([(0, 1), (1, 2)], 2)],
)
def test_the_length_of_the_union(spans, length):
    assert union_length(spans) == length
