import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.penalties import penalty_terms
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.localization.extents import Extent, StageExtents
from parity.diagnosis.signatures.penalties import PenaltyChange
from tests.parity.step_records import made_up_evidence

NONE = Extent({}, {})


def findings(changes, deviating=None, decayed=("a", "b"), rate=0.5):
    """The findings where gradients of `deviating` differ by these changes of penalties."""
    names = frozenset(changes if deviating is None else deviating)
    evidence = made_up_evidence(
        (), Context(2, 8, weight_decay=rate, decayed=decayed, penalized=decayed), gradient_factors=None
    )
    evidence.facts["fit_penalty_changes"] = changes
    evidence.facts["find_extents"] = StageExtents(Extent({0: names}, {0: names}), NONE, NONE, NONE, NONE)
    found = {cause.id: cause.criterion(evidence) for cause in penalty_terms.CAUSES}
    return {name: finding for name, finding in found.items() if finding is not None}


def test_the_sign_in_the_place_of_the_weight_is_named():
    found = findings({"a": PenaltyChange(-0.5, 0.5), "b": PenaltyChange(-0.5, 0.5)})
    assert list(found) == ["L1_FOR_L2"]
    assert found["L1_FOR_L2"].confidence == HIGH
    assert "instead of legacy's 0.5 x the weight" in found["L1_FOR_L2"].sentence


def test_a_lost_decay_of_one_weight_is_named_with_the_weight():
    found = findings({"a": PenaltyChange(-0.5, 0.0)})
    assert list(found) == ["WEIGHT_DECAY_OF_SOME"]
    assert found["WEIGHT_DECAY_OF_SOME"].variables == ("a",)
    assert "a has none" in found["WEIGHT_DECAY_OF_SOME"].sentence


@pytest.mark.parametrize(
    "changes, options",
    [
        ({}, {}),
        ({"a": PenaltyChange(-0.5, 0.0), "b": PenaltyChange(-0.5, 0.0)}, {}),  # of all: other causes
        ({"a": PenaltyChange(-0.5, 0.0)}, {"deviating": ["a", "b"]}),  # another weight is not explained
        ({"a": PenaltyChange(-0.5, 0.0)}, {"decayed": None}),
        ({"a": PenaltyChange(-0.5, 0.0)}, {"decayed": ("b", "c")}),
        ({"a": PenaltyChange(-0.5, 0.0)}, {"rate": 0.0}),
        ({"a": PenaltyChange(0.004, 0.0)}, {}),
        ({"a": PenaltyChange(0.0, 0.5), "b": PenaltyChange(0.0, 0.4)}, {}),
    ],
)
def test_other_differences_have_no_such_name(changes, options):
    assert findings(changes, **options) == {}


@pytest.mark.parametrize("sign, named", [(0.0051, "L1_FOR_L2"), (0.0049, "WEIGHT_DECAY_OF_SOME")])
def test_a_sign_counts_from_a_hundredth_of_the_weight_on(sign, named):
    assert list(findings({"a": PenaltyChange(-0.5, sign)})) == [named]
