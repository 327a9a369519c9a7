from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.gradient_descent import GradientDescent
from workloads.optimizers.rmsprop import RMSProp
from workloads.optimizers.update_forms import CENTERED, CENTERED_OUTSIDE, OWN, RATE_OUTSIDE, epsilon_form

RULE = RMSProp(decay=0.75, momentum=0.5, epsilon=3.0)
#: rms = 0.75 * old + 0.25 * (4, 16)
STEP = observed({"rms": [0.0, 28.0], "momentum": [2.0, 0.0]}, {"rms": [1.0, 25.0], "momentum": [0.0, 0.0]})


def test_the_mean_square_starts_at_one_and_keeps_its_decay():
    assert RULE.slots() == {"rms": 1.0, "momentum": 0.0}
    rule = RULE.slot_rules()["rms"]
    assert same(rule.keep * STEP.old["rms"] + rule.gain * rule.term(STEP), [1.0, 25.0])


def test_the_update_has_epsilon_inside_the_root():
    # -(0.5 * 2 + 0.5 * 2 / sqrt(1 + 3))
    assert RULE.update_forms()[OWN](STEP)[0] == -1.5
    assert RULE.update_forms()[epsilon_form("1")](STEP)[0] != -1.5


def test_elements_are_not_judged_by_the_momentum_slots_formula():
    assert [rule.checked for rule in RULE.slot_rules().values()] == [True, False]


def test_the_gradients_sign_cannot_be_recovered():
    assert RULE.gradient_difference({}, {}, 0.5) is None


def test_a_centered_update_divides_by_the_deviation_from_the_mean_gradient():
    rule = RMSProp(decay=0.5, momentum=0.0, epsilon=0.0)
    step = observed({"rms": [0.0, 0.0], "momentum": [0.0, 0.0]}, {"rms": [5.0, 8.0], "momentum": [0.0, 0.0]})
    assert same(rule.update_forms()[CENTERED](step), [-0.5, 1.0])
    assert same(rule.update_forms()[CENTERED_OUTSIDE](step), [-0.5, 1.0])


def test_the_learning_rate_may_stand_outside_the_slot_and_epsilon_outside_the_root():
    rule = RMSProp(decay=0.5, momentum=0.5, epsilon=0.0)
    step = observed({"rms": [0.0, 0.0], "momentum": [2.0, 2.0]}, {"rms": [4.0, 16.0], "momentum": [0.0, 0.0]})
    assert same(rule.update_forms()[RATE_OUTSIDE](step), [-1.0, 0.0])
    inside, outside, pytorch = (place.formula(step, 0.0) for place in rule.epsilon_places())
    assert same(inside, [-1.5, -0.5]) and same(outside, [-1.5, -0.5]) and same(pytorch, [-1.0, 0.0])
    assert same(rule.epsilon_places()[1].formula(step, 2.0), [-1.25, -1 + 1 / 3])
    assert same(rule.epsilon_places()[2].formula(step, 2.0), [-0.5 - 0.25, -0.5 + 1 / 3])
    assert len(RMSProp(momentum=0.0).epsilon_places()) == 2


def test_the_momentum_slot_takes_up_the_scaled_gradient_with_the_rules_own_epsilon():
    rule = RULE.slot_rules()["momentum"]
    assert rule.term(STEP)[0] == 0.5  # 0.5 * 2 / sqrt(1 + 3)


def test_the_momentum_slot_holds_the_change():
    held, outside = RULE.change_slot(OWN), RULE.change_slot(RATE_OUTSIDE)
    assert held.change_of(3.0, 0.5) == outside.change_of(6.0, 0.5) == -3.0
    assert (held.value_of(-3.0, 0.5), outside.value_of(-3.0, 0.5)) == (3.0, 6.0)
    assert GradientDescent().change_slot(OWN) is None
