import numpy as np
import pytest

from parity.diagnosis.stage_checks.average_check import check_averages, share_of_step
from tests.parity.diagnosis.stage_checks.sides import EPS, side
from workloads.workload import MovingAverage

RULE = MovingAverage(0.75, warm_up=False)
NEW, OTHER, OLD, AVERAGE = (np.array(v) for v in ([4.0, 8.0, 1.0], [1.0, 3.0, -5.0], [2.0, 2.0, 2.0], [0.0, 4.0, 8.0]))


def checked(average, rule=RULE):
    taken = side(
        {"weights": {"w": OLD, "v": OLD}, "averages": {"w": AVERAGE}},
        {"weights": {"w": NEW, "v": OTHER}, "averages": {"w": average}},
    )
    (error,) = check_averages(taken, rule, EPS)
    return error


def test_an_average_takes_up_its_share_of_the_new_weight():
    assert not checked(AVERAGE + 0.25 * (NEW - AVERAGE)).off


@pytest.mark.parametrize(
    "average, fact",
    [
        (AVERAGE + 0.5 * (NEW - AVERAGE), "takes up 0.5 of the new weights (by the rule 0.25 of the new ones)"),
        (AVERAGE + 0.25 * (OTHER - AVERAGE), "takes up 0.25 of the weights v (by the rule 0.25 of the new ones)"),
        (AVERAGE + 0.25 * (OLD - AVERAGE), "takes up 0.25 of the weights before the step (by the rule 0.25 of"),
        (AVERAGE, "does not change"),
        (AVERAGE * np.nan, "values that are not finite"),
    ],
)
def test_what_it_takes_up_instead_is_said(average, fact):
    error = checked(average)
    assert error.off and error.fact.startswith(fact)


@pytest.mark.parametrize("decay, off", [(0.75, False), (0.74, True)])
def test_a_hundredth_of_the_decay_is_seen(decay, off):
    assert checked(AVERAGE + (1 - decay) * (NEW - AVERAGE)).off == off


def test_the_decay_warms_up_with_the_steps():
    assert share_of_step(MovingAverage(0.75), 7) == 0.5
    assert share_of_step(MovingAverage(0.75), 1000) == 0.25
