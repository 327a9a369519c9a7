from parity.diagnosis.stage_checks.deviation import Deviation, deviation_of, deviations_by_rule, group_errors
from parity.diagnosis.stage_checks.tensor_error import TensorError


def errors(*roundings, stage="slots", name="w/m"):
    return [TensorError(stage, name, step, size, 2.0, f"fact {step}") for step, size in enumerate(roundings)]


def test_the_steps_that_are_off_are_summed_up():
    found = deviation_of(errors(1.0, 4.0, 8.0))
    assert found == Deviation("slots", "w/m", (1, 2), (0, 1, 2), 8.0, "fact 2")
    assert found.variable == "w"
    assert found.sentence == "slots, w/m from step 1 on (2 of 3 steps), 8 roundings: fact 2"
    assert deviation_of(errors(1.0, 2.0)) is None


def test_what_is_not_finite_is_said_and_is_null_in_json():
    found = deviation_of(errors(float("nan")))
    assert found.roundings == float("inf")
    assert ", not finite: " in found.sentence
    assert found.to_json()["roundings"] is None


def test_a_rule_that_explains_neither_side_is_not_their_rule():
    good, bad = group_errors(errors(1.0)), group_errors(errors(9.0))
    assert deviations_by_rule(bad, bad) == ([], {("slots", "w/m")})
    (port,), _ = deviations_by_rule(good, bad)
    (legacy,), _ = deviations_by_rule(bad, good)
    assert (port.side, legacy.side) == ("right", "left")
    assert legacy.sentence.startswith("slots, legacy's own w/m")
    assert deviations_by_rule(good, good) == ([], set())
