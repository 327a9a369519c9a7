import pytest

from parity.causes.basics.cause import HIGH, LOW, MEDIUM
from parity.causes.gradients import network
from parity.diagnosis.signatures.layer_inputs import LayerInputs
from parity.diagnosis.signatures.passes import Passes
from parity.diagnosis.signatures.smoothed_labels import SmoothedLabels
from tests.parity.causes.facts import gradient_factors
from tests.parity.step_records import made_up_evidence

NO_INPUTS = LayerInputs([], [])
EQUAL = Passes(True, ["stem", "next"], [], 0.0, [], ["a", "b"], [])


def findings(passes=EQUAL, smoothed=None, factors=None, inputs=NO_INPUTS):
    evidence = made_up_evidence((), gradient_factors=factors, statistics=None, gradients=[])
    evidence.facts.update(compare_passes=passes, find_smoothed_labels=smoothed, compare_layer_inputs=inputs)
    found = {cause.id: cause.criterion(evidence) for cause in network.CAUSES}
    return {name: finding for name, finding in found.items() if finding is not None}


def test_equal_passes_are_no_cause():
    assert findings() == {}
    assert findings(None) == {}


def test_smoothed_labels_are_named_with_the_number():
    found = findings(smoothed=SmoothedLabels("last/biases", 0.1, 6))
    assert list(found) == ["LABEL_SMOOTHING"]
    assert (found["LABEL_SMOOTHING"].confidence, found["LABEL_SMOOTHING"].constants) == (HIGH, {"smoothing": 0.1})


@pytest.mark.parametrize("agree, cause", [(False, "RECTIFIER"), (True, "BACKWARD_PASS")])
def test_revived_units_are_a_rectifiers_only_if_the_losses_differ(agree, cause):
    found = findings(EQUAL._replace(losses_agree=agree, unequal_gradients=["a"], revived=["a"]))
    assert list(found) == [cause]
    assert agree or (found[cause].confidence, found[cause].variables) == (MEDIUM, ("a",))


def test_another_loss_is_localized_by_the_normalizations():
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"])
    assert "after the last normalization (next)" in findings(passes)["FORWARD_PASS"].sentence
    inside = passes._replace(equal_norms=["stem"], unequal_norms=["next"], first_gap=0.25)
    finding = findings(inside)["FORWARD_PASS"]
    assert "after stem and before next normalizes" in finding.sentence
    assert (finding.confidence, finding.variables) == (LOW, ("next",))


@pytest.mark.parametrize(
    "inputs, words",
    [
        (LayerInputs([], []), "no normalization that would show the layer"),
        (LayerInputs(["a"], ["b", "c"]), "after the inputs of a and before those that b multiplies"),
        (LayerInputs(["a", "b"], []), ": after the inputs of b, as"),
        (LayerInputs([], ["b"]), ": before those that b multiplies, as"),
    ],
)
def test_without_normalizations_another_loss_is_localized_by_the_inputs_of_matrices(inputs, words):
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], equal_norms=[])
    assert words in findings(passes, inputs=inputs)["FORWARD_PASS"].sentence


@pytest.mark.parametrize(
    "replicas, words", [((), "another loss: "), ((1,), "on replica 1 only"), ((0, 2), "replicas 0, 2 only")]
)
def test_another_loss_names_the_replicas_that_have_it(replicas, words):
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], replicas=replicas)
    assert words in findings(passes)["FORWARD_PASS"].sentence


def test_equal_losses_and_other_gradients_are_the_backward_passs():
    found = findings(EQUAL._replace(unequal_gradients=["a"], equal_gradients=["b"]))
    assert list(found) == ["BACKWARD_PASS"]
    assert found["BACKWARD_PASS"].variables == ("a",)
    assert findings(EQUAL._replace(unequal_gradients=["a"], equal_gradients=[])) == {}


def test_what_one_factor_explains_is_no_matter_of_the_network():
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], revived=["a"])
    assert findings(passes, factors=gradient_factors(2.0)) == {}
