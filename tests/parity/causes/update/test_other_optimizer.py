"""Another optimizer is named where the recording says so and the updates are not shown to be legacy's."""

import pytest

from parity.causes.basics.cause import MEDIUM
from parity.causes.update.other_optimizer import optimizer_other
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.deviations import Deviations
from parity.diagnosis.stage_checks.deviation import Deviation
from tests.parity.step_records import made_up_evidence
from workloads import optimizers

OFF = Deviations([Deviation("weights", "w", (0,), (0,), 9.0, "")], ["weights"], [], [])
UNJUDGED, EQUAL = Deviations([], ["weights"], ["weights"], []), Deviations([], ["loss"], [], [])


ADAM = optimizers.Adam()


def found(used, deviations, optimizer=ADAM, **about):
    context = Context(2, 8, optimizer, about={"right": {"optimizer": used, **about}})
    return optimizer_other(made_up_evidence(context=context, deviations=deviations))


@pytest.mark.parametrize("deviations", [OFF, UNJUDGED])
def test_another_class_is_named_where_updates_are_off_or_cannot_be_judged(deviations):
    finding = found("Nadam", deviations, keras="3.12")
    assert finding.confidence == MEDIUM
    assert finding.sentence == "The port's optimizer is Keras's Nadam; legacy's is Adam, which is Keras's Adam."
    assert ("weights differ, and what they are made of is not recorded" in finding.because) == (deviations is UNJUDGED)


@pytest.mark.parametrize(
    "used, deviations, about, optimizer",
    [
        ("AdamW", EQUAL, {"keras": "3.12"}, ADAM),  # without a decay it is Adam
        ("Adam", OFF, {"keras": "3.12"}, ADAM),
        ("SGD", OFF, {"keras": "3.12"}, optimizers.Momentum()),
        ("Nadam", OFF, {}, ADAM),  # whose class that is, is not said
        ("Nadam", OFF, {"keras": "3.12"}, None),
    ],
)
def test_the_same_class_or_the_same_updates_are_no_other_optimizer(used, deviations, about, optimizer):
    assert found(used, deviations, optimizer, **about) is None
