"""Several programs compared with one: each is judged by itself, from the first one's states."""

import contextlib
import dataclasses

import numpy as np
import pytest

from parity.speed.joint_verification import Rival, verify_together
from parity.speed.one_device import AsItIs
from tests.cases import Dyadic, setup
from workloads.program import RecordRewriter


class HalfGradients(RecordRewriter):
    """A port that reports half of the combined gradient in one step."""

    def rewrite(self, record):
        if record.step == 1:
            record = dataclasses.replace(
                record, combined={name: np.asarray(value / 2) for name, value in record.combined.items()}
            )
        return record


@pytest.fixture(scope="module")
def job_setup():
    return setup(Dyadic())


def outcomes(job_setup, rivals, references=None, left=None, steps=3):
    with left or job_setup.legacy_program() as program:
        return verify_together(program, rivals, job_setup.job, steps, references, lambda done: None)


def test_each_rival_has_its_own_result(job_setup):
    with job_setup.modern_program() as good, job_setup.modern_program() as wrapped:
        first, second = outcomes(job_setup, [Rival(good, AsItIs), Rival(HalfGradients(wrapped), AsItIs)])
    assert first.verification.passed and first.verification.steps == 3
    failed = second.verification
    assert not failed.passed and (failed.first.step, failed.first.stage) == (1, "combined gradients")


def test_in_float64_with_shared_references_and_the_noise_floor_afterwards(job_setup):
    with contextlib.ExitStack() as stack:
        references = stack.enter_context(job_setup.closing_references())
        port, same, other = (stack.enter_context(job_setup.modern_program()) for _ in range(3))
        rivals = [Rival(port, AsItIs), Rival(same, AsItIs, lambda: job_setup.modern_program("float64"))]
        made = outcomes(job_setup, rivals, references)
        assert [outcome.verification.passed for outcome in made] == [True, True]
        assert all(outcome.verification.double and outcome.floor is not None for outcome in made)
        again = outcomes(job_setup, [Rival(other, AsItIs, floor=made[1].floor)])
    assert again[0].verification.passed and again[0].floor is made[1].floor


def test_a_fault_that_only_float64_has_is_found(job_setup):
    with job_setup.closing_references() as references, job_setup.modern_program() as port:
        wrong = Rival(port, AsItIs, lambda: HalfGradients(job_setup.modern_program("float64")))
        (outcome,) = outcomes(job_setup, [wrong], references)
    assert outcome.verification.first.precision == "float64"


def test_a_comparison_may_go_on_where_the_left_one_stands(job_setup):
    with job_setup.legacy_program() as left, job_setup.modern_program() as port:
        for _ in range(2):
            (outcome,) = verify_together(left, [Rival(port, AsItIs)], job_setup.job, 2, None, lambda done: None)
            assert outcome.verification.passed
        assert left.state().step == 4


def test_other_variables_are_not_compared(job_setup):
    other = setup("regression")
    with other.modern_program() as port:
        (outcome,) = outcomes(job_setup, [Rival(port, AsItIs)])
    assert not outcome.verification.passed and outcome.verification.mismatched and not outcome.verification.steps
