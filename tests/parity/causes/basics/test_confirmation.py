from parity.causes.basics.confirmation import Confirmation, Remainder, describe_remaining, remaining_json


def left_over(stage, roundings=10.0, variable="w"):
    return Remainder(stage, variable, 2, roundings)


def test_nothing_that_remains_is_a_confirmation():
    assert Confirmation(3, (), 0.0, ()).confirmed
    assert not Confirmation(3, (), 0.0, (left_over("loss"),)).confirmed


def test_the_worst_tensor_of_each_stage_is_described_and_further_stages_are_counted():
    entries = (left_over("loss"), left_over("slots", 5.0), left_over("slots", 50.0, "worst"))
    text = describe_remaining(entries, most=1)
    assert text == "loss (w) by 10 roundings, first at step 2; and 1 more stages"
    assert "slots (worst) by 50 roundings" in describe_remaining(entries)


def test_json_has_every_tensor():
    assert remaining_json((left_over("loss"),)) == [{"stage": "loss", "variable": "w", "step": 2, "roundings": 10.0}]
