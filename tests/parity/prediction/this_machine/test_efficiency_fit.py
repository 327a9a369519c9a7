"""Efficiencies from ops that were run by themselves: by hand, on powers of two."""

import math

import pytest

from parity.prediction.machines.machine import OTHER_KINDS
from parity.prediction.this_machine.efficiency_fit import LEAST_SLOPE, Line, MeasuredOp, efficiencies, fitted_line
from parity.profiling.op_kinds import PRODUCTS

NO_CONSTANT = math.inf


def test_efficiencies_by_type_by_kind_and_for_the_rest():
    measured = [
        MeasuredOp("MatMul", 2.0, 4.0, 4.0), MeasuredOp("Conv2D", 2.0, 16.0, 12.0), MeasuredOp("Relu", 1.0, 16.0, 8.0),
    ]  # fmt: skip
    found = efficiencies(measured, 2, 0.0)
    assert {name: share.compute for name, share in found.items()} == {
        "MatMul": 0.5, "Conv2D": 1 / 6, PRODUCTS: 0.25, "Relu": 0.125, "rectifiers": 0.125, OTHER_KINDS: 0.125,
    }  # fmt: skip
    # As fast on each of two lanes as on both: no gain by the second. A product that takes both takes half the time.
    assert found["Relu"].speedup == 1.0 and found["MatMul"].speedup == 2.0 and found["Conv2D"].speedup == 1.5


def test_kernels_of_little_work_show_the_setup_of_their_type_alone():
    measured = [MeasuredOp("Relu", ideal, 1.0, 16.0 + 2.0 * ideal) for ideal in (1.0, 4.0, 8.0)]
    found = efficiencies(measured, 4, 1.0)
    assert found["Relu"].compute == pytest.approx(0.5, rel=1e-12)  # sums of a few rounded quotients
    assert found["Relu"].setup == pytest.approx(64.0, rel=1e-12)  # of a lane, of which there are four
    assert found["rectifiers"].setup == found["Relu"].setup
    assert found[OTHER_KINDS].setup == 0.0
    assert efficiencies(measured, 4, 2.0)["Relu"].setup == 0.0  # below ten dispatches


def test_a_line_goes_through_its_points():
    assert fitted_line([1.0, 3.0], [4.0, 8.0], 0.0) == Line(2.0, 2.0)
    assert fitted_line([1.0, 3.0], [4.0, 4.0], 0.0) == pytest.approx((4.0 - 2.0 * LEAST_SLOPE, LEAST_SLOPE), rel=1e-12)


def test_a_line_without_a_constant_follows_the_kernels_of_most_work():
    assert fitted_line([4.0], [8.0], 0.0) == Line(0.0, 2.0)
    assert fitted_line([1.0, 3.0], [0.0, 8.0], 0.0) == Line(0.0, 2.4)  # 24 / 10; the constant would be -4
    assert fitted_line([1.0, 3.0], [4.0, 8.0], NO_CONSTANT) == Line(0.0, 2.8)  # 28 / 10
