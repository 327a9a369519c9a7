"""States of stages in one line: what failed comes first."""

from parity.comparison.stage_summary import StageSummary
from parity.reports.stage_states import stage_states


def test_each_stage_has_one_state_in_causal_order():
    stages = {
        "batch": StageSummary(),
        "loss": StageSummary(differing_elements=1),
        "gradients": StageSummary(differing_elements=3, failed=2),
        "weights": StageSummary(),
    }
    assert stage_states(stages) == "NOT EQUAL: gradients (step 2); identical: batch, weights; within tolerance: loss"


def test_nothing_is_said_before_the_first_step():
    assert stage_states({}) == ""
