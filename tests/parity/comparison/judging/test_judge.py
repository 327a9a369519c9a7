"""The judge, on made-up records: identical bits, tolerances, float64, rounding, factors, trajectories, orders."""

import dataclasses

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.judging.judge import Judge
from parity.comparison.references import ReferenceRecords
from parity.comparison.result import Verdict, Verification
from tests.cases import Dyadic
from tests.parity.step_records import made_up_state, step_record
from workloads.job import Job
from workloads.support.errors import InputError

JOB = Job(Dyadic(), replicas=1, global_batch=4)
EPSILON = 2.0**-23


def judge(tolerance="exact", mode="free", units=None):
    result = Verification(tolerance, mode)
    return result, Judge(result, JOB, None, units or {})


def record(step=0, combined=4.0, weight=4.0, loss=4.0):
    return step_record(
        step,
        losses=[loss],
        gradients=[{"w": [combined]}],
        combined={"w": [combined]},
        state=made_up_state({"w": [weight]}, step=step + 1),
    )


def test_identical_records_pass():
    result, judging = judge()
    judging.compare_initial(made_up_state(), made_up_state())
    judging.compare_step(record(), record())
    judging.finish()
    assert result.passed and result.first is None
    assert set(result.stages) >= {stages.INITIAL, stages.LOSS, stages.WEIGHTS}


def test_the_first_stage_beyond_its_tolerance_is_kept():
    result, judging = judge()
    judging.compare_step(record(), record(loss=4.5, weight=5.0))
    judging.compare_step(record(1), record(1, combined=8.0))
    assert not result.passed
    assert (result.first.step, result.first.stage, result.first.difference.right) == (0, stages.LOSS, 4.5)
    assert result.stages[stages.WEIGHTS].failed == 0 and result.stages[stages.COMBINED].failed == 1


def test_other_initial_values_fail():
    result, judging = judge()
    judging.compare_initial(made_up_state({"w": [1.0]}), made_up_state({"w": [2.0]}))
    assert result.first.stage == stages.INITIAL


@pytest.mark.parametrize("ulps, passed", [(16, True), (17, False)])
def test_auto_allows_a_weight_so_many_units_and_no_more(ulps, passed):
    result, judging = judge("auto", "locked")
    judging.compare_step(record(), record(weight=4.0 * (1 + ulps * EPSILON)))
    assert result.passed is passed


def test_units_widen_a_stage():
    result, judging = judge("auto", "locked", {stages.WEIGHTS: 32.0})
    judging.compare_step(record(), record(weight=4.0 * (1 + 32 * EPSILON)))
    assert result.passed


def test_no_step_may_differ_by_more_than_its_tolerance():
    result, judging = judge("auto", "locked")
    for step in range(6):
        judging.compare_step(record(step), record(step, combined=4.125 if step == 3 else 4.0))
    assert (result.passed, result.first.step, result.first.stage, result.kinks) == (False, 3, stages.GRADIENTS, [])


class MadeUpReferences:
    """References whose records and responses are given."""

    half_precision = ""

    def __init__(self, truth, port, response=None, single_only="", own_constants=False):
        self.single_only, self.own_constants = single_only, own_constants
        self.records, self.response, self.asked = ReferenceRecords(record(), truth, port), response or {}, []

    def step(self):
        return self.records

    def sensitivity(self, dtype):
        self.asked.append(dtype)
        return self.response


def double_record(combined=4.0, weight=4.0):
    made = record(combined=combined, weight=weight)
    wide = {"w": np.array([combined])}
    state = dataclasses.replace(made.state, weights={"w": np.array([weight])})
    return dataclasses.replace(made, losses=[np.float64(4)], gradients=[wide], combined=wide, state=state)


def judge_with(references):
    result = Verification("auto", "locked")
    return result, Judge(result, JOB, references, {})


@pytest.mark.parametrize("factor, passed", [(1 + 2.0**-47, True), (1 + 2.0**-20, False)])
def test_the_mathematics_is_judged_in_float64(factor, passed):
    result, judging = judge_with(MadeUpReferences(double_record(), double_record(combined=4.0 * factor)))
    judging.compare_step(record(), record())  # float32 cannot tell
    assert result.passed is passed
    if not passed:
        assert (result.first.stage, result.first.precision) == (stages.GRADIENTS, "float64")


@pytest.mark.parametrize(
    "ulps, own, verdict", [(4, True, Verdict.NOT_SHOWN), (5, True, Verdict.NO_PARITY), (4, False, Verdict.NO_PARITY)]
)
def test_a_written_port_may_round_its_constants_elsewhere_but_that_is_not_shown(ulps, own, verdict):
    port = double_record(combined=4.0 * (1 + ulps * EPSILON))
    result, judging = judge_with(MadeUpReferences(double_record(), port, own_constants=own))
    judging.compare_step(record(), record(weight=4.0 * (1 + EPSILON)))
    judging.finish()
    assert result.verdict is verdict
    assert (
        result.unproven == [] or "differ by up to 4.8e-07 (gradients, w on replica 0 at step 0)" in result.unproven[0]
    )


def test_identical_bits_in_float32_are_parity_wherever_constants_are_rounded():
    references = MadeUpReferences(double_record(), double_record(combined=4.0 * (1 + EPSILON)), own_constants=True)
    result, judging = judge_with(references)
    judging.compare_step(record(), record())
    result.steps = 1
    judging.finish()
    assert result.verdict is Verdict.PARITY


def test_what_rounding_of_the_weights_does_too_is_allowed_and_noted():
    places = {(stages.GRADIENTS, "w on replica 0"): 0.125, (stages.COMBINED, "w"): 0.125}
    references = MadeUpReferences(double_record(), double_record(), places)
    result, judging = judge_with(references)
    judging.compare_step(record(), record(combined=4.5))
    assert (result.passed, result.kinks, references.asked) == (True, [0], ["float32"])
    references = MadeUpReferences(double_record(), double_record(), places)
    result, judging = judge_with(references)
    judging.compare_step(record(), record(combined=4.75))  # six times the response
    assert (result.passed, result.kinks) == (False, [])


def test_rounding_of_one_stage_does_not_excuse_another():
    places = {(stages.GRADIENTS, "w on replica 0"): 0.125, (stages.COMBINED, "w"): 0.125}
    result, judging = judge_with(MadeUpReferences(double_record(), double_record(), places))
    judging.compare_step(record(), record(combined=4.5, weight=2.0))
    assert (result.passed, result.first.stage) == (False, stages.WEIGHTS)


def test_the_response_is_measured_only_where_it_decides():
    references = MadeUpReferences(double_record(), double_record())
    result, judging = judge_with(references)
    judging.compare_step(record(), record())
    assert references.asked == []
    for step in (1, 2):
        judging.compare_step(record(step), record(step, combined=8.0))
    assert references.asked == ["float32"]  # not again after the first failure


def test_a_comparison_without_float64_says_so():
    assert "no programs in float64" in judge("auto")[0].single_only
    assert judge("exact")[0].single_only == "" and judge_with(MadeUpReferences(None, None))[0].single_only == ""
    references = MadeUpReferences(None, None, single_only="FakeQuant 'q' has no form in float64")
    assert judge_with(references)[0].single_only == "FakeQuant 'q' has no form in float64"


@pytest.mark.parametrize("factor, passed", [(1 + 15 * EPSILON, True), (1 + 18 * EPSILON, False)])
def test_a_factor_of_the_median_step_is_judged_over_all_steps(factor, passed):
    result, judging = judge("auto", "locked")
    for step in range(3):
        judging.compare_step(record(step), record(step, combined=4.0 * factor))
    assert result.passed  # each tensor by itself is within its 64 units
    judging.finish()
    assert result.passed is passed
    if not passed:
        assert result.first.difference.name == "factor of all tensors together"


def test_the_lockstep_replica_is_judged_and_the_trajectory_reported():
    result, judging = judge("auto")
    judging.compare_step(record(), record(weight=8.0), lockstep=record())
    assert result.passed and result.diverged_at == 0
    assert result.trajectory[stages.WEIGHTS].failed == 0 and result.stages[stages.WEIGHTS].failed is None


def test_another_order_of_reads_and_updates_explains_a_state():
    result, judging = judge("exact", "locked")
    judging.compare_step(record(), record(weight=5.0), others=[record(weight=6.0), record(weight=4.0)])
    assert result.passed and result.races == ["w at step 0"]
    result, judging = judge("exact", "locked")
    judging.compare_step(record(), record(weight=5.0), others=[record(weight=6.0)])
    assert not result.passed and result.races == []


def test_drift_between_copies_fails_by_itself():
    result, judging = judge()
    drifted = record()
    drifted.drift = ["w"]
    judging.compare_step(record(), drifted)
    assert (result.passed, result.drift, result.first) == (False, ["w at step 0"], None)


def test_integers_and_texts_have_no_tolerance():
    result, judging = judge("auto", "locked")
    left, right = step_record(digests=["aa"]), step_record(digests=["bb"])
    judging.compare_step(left, right)
    assert (result.passed, result.first.stage) == (False, stages.BATCH)


def test_records_of_different_tensors_are_refused():
    _, judging = judge()
    with pytest.raises(InputError, match="records do not line up: combined gradients 'w' against learning rate"):
        judging.compare_step(step_record(combined={"w": [np.float32(1)]}), step_record())


def judge_half(response, combined):
    places = {(stages.GRADIENTS, "w on replica 0"): response, (stages.COMBINED, "w"): response}
    references = MadeUpReferences(double_record(), double_record())
    references.half_precision = "bfloat16"
    references.sensitivity = lambda dtype: places if dtype == "bfloat16" else {}
    result, judging = judge_with(references)
    judging.compare_step(record(), record(combined=combined))
    judging.finish()
    return result


def test_what_rounding_to_half_precision_does_too_is_not_shown():
    result = judge_half(2.0**-6, 4.0 + 2.0**-5)
    assert result.verdict is Verdict.NOT_SHOWN and result.kinks == []
    assert "computes in bfloat16, and 4 differences are as large as its rounding" in result.unproven[0]
    result = judge_half(2.0**-6, 4.0 + 2.0**-3)  # eight times the response
    assert (result.verdict, result.first.stage) == (Verdict.NO_PARITY, stages.GRADIENTS)


def test_a_job_in_half_precision_whose_bits_agree_is_parity():
    result = judge_half(0.0, 4.0)
    assert (result.verdict, result.unproven) == (Verdict.PARITY, [])


def test_a_factor_beyond_one_rounding_of_half_precision_is_none():
    assert judge_half(1.0, 4.0 * (1 + 2.0**-7)).verdict is Verdict.NOT_SHOWN
    assert judge_half(1.0, 4.0 * (1 + 2.0**-6)).verdict is Verdict.NO_PARITY


@pytest.mark.parametrize("port, passed", [(1e-9, True), (1.0, False)])
def test_noise_that_a_recording_has_as_zero_is_not_judged(port, passed):
    """The truth has far less of it than the old graph here: float32 does not determine it."""
    references = MadeUpReferences(double_record(combined=1e-17), None)
    references.records = references.records._replace(again=record(combined=1e-9))
    result, judging = judge_with(references)
    judging.compare_step(record(combined=0.0), record(combined=port))
    assert result.passed == passed
