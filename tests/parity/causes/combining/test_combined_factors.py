import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.combining import combined_factors
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import replica_gradient, step_gradients
from tests.parity.step_records import compared_step, made_up_evidence, step_record

G = {"a": [1.0, 2.0, -4.0], "b": [3.0, -1.0, 0.5]}


def combined(*factors, added=0.0):
    """The finding where the port's combined gradient of a is a factor times its replicas', one factor a step."""
    steps = []
    for number, factor in enumerate(factors):
        made = {**G, "a": [factor * value + added * (value > 1) for value in G["a"]]}
        left = step_record(number, gradients=[G, G], combined=G)
        steps.append(compared_step(left, step_record(number, gradients=[G, G], combined=made)))
    return combined_factors.combined_partly_scaled(made_up_evidence(steps, Context(2, 8, combine="mean")))


def test_a_factor_of_one_weights_combined_gradient_is_named():
    finding = combined(-1.0, -1.0)
    assert (finding.confidence, finding.variables, finding.steps) == (HIGH, ("a",), ())
    assert finding.constants == {"factors": (("a", -1.0),)}


def test_its_steps_are_named_where_others_are_right():
    assert combined(1.0, 4.0, 1.0).steps == (1,)


def test_other_differences_are_no_factor():
    assert combined(1.0, 1.0) is None
    assert combined(2.0, 3.0) is None
    assert combined(2.0, added=0.25) is None
    assert combined(float("nan")) is None


@pytest.mark.parametrize(
    "gradients, named",
    [
        (step_gradients((1.0, 1.25), (1.0, 1.25)), True),
        (step_gradients((1.25, 1.25), (1.25, 1.25)), False),  # one factor of all: other causes
        (step_gradients((1.0, 1.25), (1.0, 1.5)), False),
        (step_gradients((1.0, 0.0), (1.0, 0.0)), False),
        (step_gradients((1.0, float("nan")), (1.0, 1.25)), False),
        (step_gradients((1.0,), (1.25,)), False),  # a lone replica
        ([replica_gradient(0, 0), replica_gradient(0, 1, data=1.25, residual=1e-2)], False),
    ],
)
def test_replicas_with_factors_of_their_own_are_named(gradients, named):
    finding = combined_factors.replica_scaled(made_up_evidence((), gradients=gradients))
    assert (finding is not None) == named
    if named:
        assert finding.constants == {"factors": (1.0, 1.25)}
