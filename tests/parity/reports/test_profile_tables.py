"""Tables of made-up profiles."""

from parity.profiling.op_kinds import PRODUCTS
from parity.profiling.side_profiles import SideProfile, SideProfiles
from parity.profiling.step_profile import DeviceTime, StepProfile
from parity.reports import profile_tables
from parity.speed.ratio import SpeedRatio
from tests.parity.reports.rendering import rows


def side(kinds, ratio=None):
    device = DeviceTime("CPU:0", 0.5, 0.0, 0.25, 0.0, 0.25)
    return SideProfile(StepProfile(0.02, kinds, {}, [device]), 0.016, ratio)


TIMES = SpeedRatio(1.25, 1.125, 1.5, 0)
SIDES = {"legacy": side({PRODUCTS: 0.003, "rectifiers": 0.001}, TIMES), "modern": side({PRODUCTS: 0.002}, TIMES)}
KNOWN = SideProfiles(SIDES, 12, 0.0128, "")


def test_kinds_that_a_side_has_are_rows_with_its_share():
    found = rows(profile_tables.kinds_table(KNOWN, "job"))
    assert [row[:3] for row in found] == [(PRODUCTS, "3.000", "75%"), ("rectifiers", "1.000", "25%")]
    assert [row[4:6] for row in found] == [("2.000", "100%"), ("0.000", "0%")]


def test_bars_are_relative_to_the_longest_of_both_sides():
    left, right = [list(profile_tables.kinds_table(KNOWN, "job").columns[number].cells) for number in (3, 6)]
    assert [bar.end / bar.size for bar in left] == [1, 1 / 3] and left[0].width == profile_tables.BAR
    assert [bar.end / bar.size for bar in right] == [2 / 3, 0]


def test_each_devices_time():
    found = rows(profile_tables.devices_table(KNOWN))
    assert found[0] == ("legacy", "CPU:0", "50%", "0%", "25%", "0%", "25%") and len(found) == 2


def test_the_distance_to_the_floor():
    floor, legacy, modern = profile_tables.floor_lines(KNOWN)
    assert floor == "floor: 12.800 ms: the step's 12 convolutions and products alone, back to back"
    assert legacy == "legacy: 16.000 ms a step, +25 % over the floor, 95 % [1.12, 1.50] times it"


def test_a_floor_that_is_unknown():
    sides = {"legacy": side({PRODUCTS: 0.003})}
    lines = list(profile_tables.floor_lines(SideProfiles(sides, 0, None, "no product")))
    assert lines == ["floor: unknown: no product", "legacy: 16.000 ms a step"]


def test_all_parts():
    assert len(list(profile_tables.profile_tables(KNOWN, "job"))) == 5
