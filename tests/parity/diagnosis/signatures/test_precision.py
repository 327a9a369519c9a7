import numpy as np
import pytest

from parity.comparison import stages
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.precision import find_narrow_values, round_to_format, significant_bits
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

RNG = np.random.RandomState(0)
ONE, TWO = (RNG.normal(size=64).astype(np.float32) for _ in range(2))


def narrow(values, name):
    return round_to_format(values, name).astype(np.float32)


def found(gradients=(ONE, TWO), combined=None, combine="mean"):
    mean = (ONE.astype(np.float64) + TWO) / 2
    left = step_record(gradients=[{"w": ONE}, {"w": TWO}], combined={"w": mean.astype(np.float32)})
    made = mean.astype(np.float32) if combined is None else combined
    right = step_record(gradients=[{"w": gradient} for gradient in gradients], combined={"w": made})
    step = compared_step(left, right, made_up_state({"w": ONE}))
    return find_narrow_values(made_up_evidence([step], Context(2, 8, combine=combine)))


@pytest.mark.parametrize(
    "value, bits", [(0.0, 0), (1.0, 1), (-3.0, 2), (1 + 2.0**-7, 8), (1 + 2.0**-23, 24), (np.inf, 0)]
)
def test_the_bits_of_a_significand_are_counted(value, bits):
    assert significant_bits(np.array([value, 0.5 * bool(bits)])) == bits


def test_rounding_to_a_format_keeps_its_bits_and_no_more():
    assert round_to_format(np.array([1 + 2.0**-7, 1 + 2.0**-9]), "bfloat16").tolist() == [1 + 2.0**-7, 1.0]
    assert significant_bits(round_to_format(ONE, "float16")) == 11


def test_gradients_of_a_narrow_format_are_found_with_its_name():
    (seen,) = found(gradients=[narrow(ONE, "bfloat16"), narrow(TWO, "bfloat16")])
    assert (seen.stage, seen.names, seen.format, seen.before) == (stages.GRADIENTS, ("w",), "bfloat16", False)


def test_a_result_that_was_rounded_is_distinguished_from_addends_that_were():
    mean = (ONE.astype(np.float64) + TWO) / 2
    (after,) = found(combined=narrow(mean, "float16"))
    assert (after.stage, after.format, after.before) == (stages.COMBINED, "float16", False)
    rounded = (round_to_format(ONE, "float16") + round_to_format(TWO, "float16")) / 2
    (before,) = found(combined=rounded.astype(np.float32))
    assert (before.stage, before.format, before.before) == (stages.COMBINED, "float16", True)


def test_full_precision_and_few_numbers_are_no_narrow_format():
    assert found() == []
    few = np.array([0.5, 0.25, 1.0], np.float32)
    assert found(gradients=[np.resize(few, 64), np.resize(few, 64)]) == []


def test_what_is_left_over_where_numbers_cancel_is_no_narrow_format():
    small = np.arange(-32, 32).astype(np.float32)  # of few bits, as multiples of the last bit of numbers near one
    assert found(gradients=[small * 2.0**-24, small * 2.0**-24]) == []
    (seen,) = found(gradients=[small * 2.0**-8, small * 2.0**-8])
    assert seen.format == "bfloat16"
