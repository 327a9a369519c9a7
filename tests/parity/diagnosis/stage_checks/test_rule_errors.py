"""All rules of a job, applied to one step."""

from parity.comparison import stages
from parity.diagnosis.candidates.combined_forms import stated_form
from parity.diagnosis.stage_checks.rule_errors import StageRules
from parity.diagnosis.stage_checks.side_step import SideStep
from tests.parity.step_records import made_up_state, step_record
from workloads import optimizers
from workloads.workload import MovingAverage

EPSILON = 2.0**-23
STEP = SideStep(
    step_record(
        gradients=[{"w": [2.0]}, {"w": [0.0]}],
        combined={"w": [1.0]},
        state=made_up_state({"w": [3.5]}, averages={"w": [5.75]}, statistics={"m": [2.0]}),
        proposals=[{"m": [2.0]}, {"m": [4.0]}],
    ),
    made_up_state({"w": [4.0]}, averages={"w": [8.0]}, statistics={"m": [1.0]}),
)
RULES = StageRules(
    stated_form("mean", None), optimizers.GradientDescent(), MovingAverage(0.5, warm_up=False), "first_tower"
)


def off(rules):
    return [error.stage for error in rules.errors(STEP, EPSILON) if error.off]


def test_each_stage_that_has_a_rule_is_checked():
    checked = [error.stage for error in RULES.errors(STEP, EPSILON)]
    assert checked == [stages.COMBINED, stages.WEIGHTS, stages.AVERAGES, stages.STATISTICS] and off(RULES) == []
    assert StageRules().errors(STEP, EPSILON) == []


def test_another_rule_is_off_in_its_own_stage_only():
    assert off(RULES._replace(combined=stated_form("sum", None))) == [stages.COMBINED]
    assert off(RULES._replace(moving_average=MovingAverage(0.25, warm_up=False))) == [stages.AVERAGES]
    assert off(RULES._replace(statistics="mean_of_towers")) == [stages.STATISTICS]
