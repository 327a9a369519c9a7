"""The number of steps of a whole period, in the verdict of a comparison that takes fewer."""

import pytest
import tensorflow as tf

from parity.reports.verification_text import verification_verdict
from parity.verdict.compare_programs import ComparisonPlan, compare_programs
from parity.verdict.period import runs_of_period, too_few_steps
from tests.cases import Dyadic
from tests.legacy.variants.programs import apply, gradient_of, lifted, plain, split_batch, towers
from tests.small_steps import Weighed

v1 = tf.compat.v1
SENTENCE = "the period has 4 runs: --steps=4 or more"


def period(tmp_path):
    """`Setup` of a program that adds up gradients in two runs, applies them, and sets the sum back."""

    def build():
        xs = split_batch()
        kept = plain("kept", [3, 2])
        v1.group(v1.assign_add(kept, tf.add_n(towers(lambda i: gradient_of(xs[i])))), name="keep")
        v1.group(v1.assign(kept, tf.zeros([3, 2])), name="forget")
        return v1.group(apply(kept), name="use")

    return lifted(build, tmp_path, train_op=["keep", "keep", "use", "forget"])


def test_the_runs_of_a_period(tmp_path):
    lift = period(tmp_path).job.workload
    assert runs_of_period(lift) == 4
    assert too_few_steps(lift, 3) == SENTENCE and too_few_steps(lift, 4) == ""
    assert runs_of_period(Weighed()) == 2
    assert runs_of_period(Dyadic()) == 1 and too_few_steps(Dyadic(), 1) == ""


@pytest.mark.parametrize("steps, with_visits, told", [(2, False, True), (4, False, False), (2, True, False)])
def test_the_verdict_names_the_steps_that_are_missing(tmp_path, steps, with_visits, told):
    plan = ComparisonPlan(steps, with_visits=with_visits)
    verification = compare_programs(period(tmp_path), None, plan).verification
    assert verification.passed
    assert (SENTENCE in verification_verdict(verification)) is told
    assert (verification.not_shown[:1] == [SENTENCE]) is told


def test_a_recording_is_not_asked_for_more_steps(tmp_path):
    setup = period(tmp_path)
    with setup.legacy_program() as left:
        found = compare_programs(setup, left, ComparisonPlan(2, with_visits=False))
    assert found.verification.not_shown and SENTENCE not in found.verification.not_shown
