from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.adagrad import Adagrad
from workloads.optimizers.update_forms import OWN, epsilon_form

STEP = observed({"accumulator": [12.0, 0.0]}, {"accumulator": [16.0, 16.0]})


def test_the_accumulator_adds_squares_from_its_initial_value():
    assert Adagrad(0.25).slots() == {"accumulator": 0.25}
    rule = Adagrad().slot_rules()["accumulator"]
    assert same(rule.keep * STEP.old["accumulator"] + rule.gain * rule.term(STEP), [16.0, 16.0])


def test_the_update_divides_by_the_root():
    assert same(Adagrad().update_forms()[OWN](STEP), [-0.25, 0.5])
    assert not same(Adagrad().update_forms()[epsilon_form("1e-7")](STEP), [-0.25, 0.5])


def test_keras_has_to_start_at_the_same_value_without_an_epsilon():
    assert Adagrad(0.25).keras_class().arguments == {"initial_accumulator_value": 0.25, "epsilon": 0.0}


def test_epsilon_may_stand_inside_the_root():
    step = observed({"accumulator": [0.0, 0.0]}, {"accumulator": [3.0, 15.0]})
    outside, inside = Adagrad().epsilon_places()
    assert same(inside.formula(step, 1.0), [-0.5, 0.5])
    assert same(outside.formula(observed({}, {"accumulator": [1.0, 9.0]}), 1.0), [-0.5, 0.5])
