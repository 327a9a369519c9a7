import pytest

from parity.causes.basics.cause import HIGH, LOW, MEDIUM
from parity.causes.gradients import network
from parity.diagnosis.signatures.layer_inputs import LayerInputs
from parity.diagnosis.signatures.passes import Passes
from parity.diagnosis.signatures.smoothed_labels import SmoothedLabels
from parity.layers.first_layer import BACKWARD, FORWARD, FirstLayer
from tests.parity.causes.facts import gradient_factors, replica_gradient
from tests.parity.step_records import made_up_evidence

NO_INPUTS = LayerInputs([], [])
EQUAL = Passes(True, ["stem", "next"], [], 0.0, [], ["a", "b"], [])


def findings(passes=EQUAL, smoothed=None, factors=None, inputs=NO_INPUTS, layer=None, gradients=()):
    evidence = made_up_evidence((), gradient_factors=factors, statistics=None, gradients=list(gradients))
    evidence.facts.update(compare_passes=passes, find_smoothed_labels=smoothed, compare_layer_inputs=inputs)
    evidence.facts.update(find_diverging_layer=layer)
    found = {cause.id: cause.criterion(evidence) for cause in network.CAUSES}
    return {name: finding for name, finding in found.items() if finding is not None}


def parting(tensor, way=FORWARD):
    return FirstLayer(tensor.split("/")[0], way, tensor, step=0)


def test_equal_passes_are_no_cause():
    assert findings() == {}
    assert findings(None) == {}


def test_smoothed_labels_are_named_with_the_number():
    found = findings(smoothed=SmoothedLabels("last/biases", 0.1, 6))
    assert list(found) == ["LABEL_SMOOTHING"]
    assert (found["LABEL_SMOOTHING"].confidence, found["LABEL_SMOOTHING"].constants) == (HIGH, {"smoothing": 0.1})


@pytest.mark.parametrize(
    "smoothing, side_known, begins",
    [
        (0.1, True, "The port smooths its labels, and legacy does not"),
        (-0.1, True, "legacy smooths its labels, and the port does not"),
        (0.1, False, "One side smooths its labels, and the other does not"),
    ],
)
def test_the_side_that_smooths_its_labels_is_named_where_it_is_known(smoothing, side_known, begins):
    found = findings(smoothed=SmoothedLabels("last/biases", smoothing, 6, side_known=side_known))["LABEL_SMOOTHING"]
    assert found.sentence.lower().startswith(begins.lower())
    inject = next(cause for cause in network.CAUSES if cause.id == "LABEL_SMOOTHING").change
    assert (inject(found, None) is not None) == (smoothing > 0 and side_known)


@pytest.mark.parametrize("agree, cause", [(False, "RECTIFIER"), (True, "BACKWARD_PASS")])
def test_revived_units_are_a_rectifiers_only_if_the_losses_differ(agree, cause):
    found = findings(EQUAL._replace(losses_agree=agree, unequal_gradients=["a"], revived=["a"]))
    assert list(found) == [cause]
    assert agree or (found[cause].confidence, found[cause].variables) == (LOW, ("a",))


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


def test_a_backward_pass_that_differs_in_some_steps_alone_may_be_a_kink():
    gradients = [replica_gradient(residual=0.5)]
    in_every_step = EQUAL._replace(unequal_gradients=["a"], equal_gradients=["b"])
    assert findings(in_every_step, gradients=gradients)["BACKWARD_PASS"].confidence == MEDIUM
    finding = findings(in_every_step._replace(steps=(11,)), gradients=gradients)["BACKWARD_PASS"]
    assert finding.confidence == LOW and "in step 11 alone" in finding.because and finding.steps == (11,)


def test_a_layer_that_is_known_is_named():
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"])
    finding = findings(passes, layer=parting("lstm1/lstm.output"))["FORWARD_PASS"]
    assert "first layer that differs: lstm1" in finding.sentence
    assert (finding.confidence, finding.constants) == (MEDIUM, {"layer": "lstm1"})
    assert findings(passes)["FORWARD_PASS"].confidence == LOW


def test_activations_show_a_forward_pass_that_differs_too_little_for_the_losses():
    passes = EQUAL._replace(unequal_gradients=["a"])
    assert list(findings(passes, layer=parting("lstm1/lstm.output"))) == ["FORWARD_PASS"]
    assert list(findings(passes, layer=parting("lstm1/lstm.output", BACKWARD))) == ["BACKWARD_PASS"]


@pytest.mark.parametrize("residual, confidence", [(0.5, MEDIUM), (1e-4, LOW)])
def test_gradients_that_differ_little_may_come_from_another_forward_pass(residual, confidence):
    gradients = [replica_gradient(residual=residual)]
    finding = findings(EQUAL._replace(unequal_gradients=["a"]), gradients=gradients)["BACKWARD_PASS"]
    assert finding.confidence == confidence


@pytest.mark.parametrize("tensor, cause", [("one/relu", "RECTIFIER"), ("one/conv.output", "FORWARD_PASS")])
def test_what_parts_before_any_activation_is_no_rectifier(tensor, cause):
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], revived=["a"])
    found = findings(passes, layer=parting(tensor))
    assert [(name, finding.confidence) for name, finding in found.items()] == [(cause, MEDIUM)]


@pytest.mark.parametrize("replicas, cause", [((), "RECTIFIER"), ((1,), "FORWARD_PASS")])
def test_what_some_replicas_alone_show_is_no_rectifier(replicas, cause):
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], revived=["a"], replicas=replicas)
    assert list(findings(passes)) == [cause]


def test_what_one_factor_explains_is_no_matter_of_the_network():
    passes = EQUAL._replace(losses_agree=False, unequal_gradients=["a"], revived=["a"])
    assert findings(passes, factors=gradient_factors(2.0)) == {}
