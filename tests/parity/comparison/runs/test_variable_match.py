"""Variables that the sides do not share end a comparison before any number."""

import pytest

from parity.comparison.result import Verification
from parity.comparison.runs.variable_match import match_variables, mismatches
from tests.parity.step_records import MadeUpProgram
from workloads.variable_spec import VariableSpec

SPEC = VariableSpec("w", (2,), "float32", True, None)


class Holder(MadeUpProgram):
    """A program of given variables."""

    def __init__(self, specs):
        super().__init__([])
        self._specs = specs

    def variables(self):
        return self._specs


@pytest.mark.parametrize(
    "other, line",
    [
        ([], "w: only on the left"),
        ([SPEC, SPEC._replace(name="v")], "v: only on the right"),
        ([SPEC._replace(shape=(3,))], "w: shape (2,) against (3,)"),
        ([SPEC._replace(dtype="float64")], "w: dtype float32 against float64"),
        ([SPEC._replace(trainable=False)], "w: trainable True against False"),
    ],
)
def test_a_variable_is_matched_by_name_shape_dtype_and_trainability(other, line):
    result = Verification("exact", "free")
    assert match_variables(result, Holder([SPEC]), Holder([SPEC])) and result.passed
    assert not match_variables(result, Holder([SPEC]), Holder(other)) and not result.passed
    assert result.mismatched == mismatches([SPEC], other) == [line]
