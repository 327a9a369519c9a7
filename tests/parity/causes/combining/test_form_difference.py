import pytest

from parity.causes.basics.cause import HIGH, Finding
from parity.causes.combining.form_difference import clip_of, form_difference, inject_form
from parity.diagnosis.candidates.combined_forms import CombinedForm
from tests.cases import Dyadic
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit
from tests.parity.step_records import made_up_evidence
from workloads.workload import Clip

MEAN, CLIPPED = CombinedForm("mean"), CombinedForm("mean", "combined", limit=2.0)


def test_a_workload_that_does_not_clip_has_no_clipping_to_change():
    assert clip_of(Dyadic(clip=Clip(2.0))) == Clip(2.0)
    with pytest.raises(ValueError, match="dyadic: does not clip"):
        clip_of(Dyadic())


def test_the_port_s_form_is_injected():
    evidence = made_up_evidence((), FOUR_REPLICAS, combined_fits=(combined_fit(MEAN), combined_fit(CLIPPED)))
    constants = form_difference(evidence).constants
    assert constants == {"reduce": "mean", "where": "combined", "how": "global_norm", "limit": 2.0, "epsilon": 0.0}
    (fields,) = inject_form(Finding("", HIGH, "", constants), None).fields
    assert fields(None) == {"clip": Clip(2.0, "combined"), "combine": "mean"}


def test_equal_forms_are_no_difference():
    evidence = made_up_evidence((), FOUR_REPLICAS, combined_fits=(combined_fit(MEAN), combined_fit(MEAN)))
    assert form_difference(evidence) is None
