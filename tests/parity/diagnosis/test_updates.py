import numpy as np
import pytest

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.stage_checks.measured_change import MeasuredChange
from parity.diagnosis.stage_checks.observed_updates import observe_update
from parity.diagnosis.updates import Updates, fit_updates
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers

EPS = 2.0**-23
DESCENT = optimizers.GradientDescent()


def step_of(change, gradient, weights=None, slots=None, new_slots=None, number=0):
    """A step, the same on both sides, that changes weight "w" by `change`, at a learning rate of 0.5."""
    weights = np.asarray([1.0, 2.0] if weights is None else weights, np.float32)
    before = made_up_state({"w": weights}, slots)
    after = made_up_state({"w": weights + np.asarray(change, np.float32)}, new_slots)
    return compared_step(step_record(number, combined={"w": gradient}, state=after), left_before=before)


def updates_of(*steps, optimizer=DESCENT):
    """The left side's updates."""
    return fit_updates(made_up_evidence(steps, Context(replicas=2, optimizer=optimizer)))[0]


def form_named(updates, name):
    """The form of the first step that reports call `name`."""
    return next(form for form in updates.steps[0].forms if form.name == name)


def test_a_change_by_the_rule_is_explained():
    updates = updates_of(step_of([-1.0, 2.0], [2.0, -4.0]))
    (update,) = updates.steps
    assert (update.step, update.learning_rate) == (0, 0.5)
    assert update.factor == (1.0, 0.0)
    assert updates.own_form.name == "1.x"
    assert updates.misfit(updates.own_form) == 0.0
    assert updates.explained_by(updates.own_form)
    assert (update.still, update.rows, update.wrong) == ([], {}, [])


def test_a_change_that_is_twice_the_rules_has_a_factor():
    updates = updates_of(step_of([-2.0, 4.0], [2.0, -4.0]))
    assert updates.steps[0].factor == (2.0, 0.0)
    assert not updates.explained_by(updates.own_form)
    assert updates.steps[0].wrong == ["w"]


def test_decay_beside_the_update_is_a_multiple_of_the_weight():
    update = updates_of(step_of([-1.0, -0.5], [2.0, 0.0])).steps[0]  # -0.5 g, then -0.25 w of the second element
    assert update.decay.multiple == pytest.approx(-0.25)
    assert update.decay.residual < 1e-12
    assert update.decay.share == pytest.approx(np.linalg.norm([0.25, 0.5]) / np.linalg.norm([1.0, 0.5]))
    assert updates_of(step_of([-1.0, 0.0], [2.0, 0.0])).steps[0].decay.share < 1e-12


@pytest.mark.parametrize("taken, decay", [([2.25, 1.5], 0.25), ([2.0, 1.0], 0.0), ([0.0, 0.0], np.nan)])
def test_a_slot_that_takes_up_nothing_is_no_decay_of_the_optimizer(taken, decay):
    """A slot that stays zero is infinitely far, relative to itself, from the gradient with and without a decay."""
    slots = {"w/momentum": [0.0, 0.0]}, {"w/momentum": taken}
    step = step_of([-0.5 * value for value in taken], [2.0, 1.0], slots=slots[0], new_slots=slots[1])
    (fit,) = updates_of(step, optimizer=optimizers.Momentum(0.5)).slots["momentum"]
    assert fit.decay == pytest.approx(decay, nan_ok=True)


@pytest.mark.parametrize("roundings, explained", [(19, True), (21, False)])
def test_a_form_explains_up_to_twenty_roundings(roundings, explained):
    misfit = MeasuredChange(np.zeros(4) + roundings * EPS, np.full(4, EPS)).misfit(np.zeros(4))
    assert misfit == roundings
    updates = updates_of(step_of([-1.0, 2.0], [2.0, -4.0]))
    assert updates.explained_by(updates.own_form, most=0.0)
    worse = Updates([dataclass_with_misfit(updates.steps[0], misfit)], {})
    assert worse.explained_by(worse.own_form) is explained


def dataclass_with_misfit(update, misfit):
    """The update with another misfit of every form."""
    return type(update)(**{**vars(update), "forms": dict.fromkeys(update.forms, misfit)})


def test_the_worst_step_counts():
    updates = updates_of(step_of([-1.0, 2.0], [2.0, -4.0]), step_of([-2.0, 4.0], [2.0, -4.0], number=1))
    assert [step.step for step in updates.steps] == [0, 1]
    assert updates.misfit(updates.own_form) == updates.steps[1].forms[updates.own_form] > 1e5
    assert updates.misfit("no form of this optimizer") == float("inf")


@pytest.mark.parametrize("gradient, still", [(2.0, ["w"]), (4 * EPS, []), (0.0, [])])
def test_a_weight_is_still_if_it_should_have_moved_by_more_than_rounding(gradient, still):
    assert updates_of(step_of([0.0, 0.0], [gradient, 0.0])).steps[0].still == still


def test_nesterovs_form_is_distinguished_from_the_rules_own():
    optimizer = optimizers.Momentum(0.5)
    slots = {"w/momentum": [4.0, 0.0]}, {"w/momentum": [4.0, 2.0]}  # 0.5 old + gradient
    step = step_of([-0.5 * (2.0 + 2.0), -0.5 * (2.0 + 1.0)], [2.0, 2.0], slots=slots[0], new_slots=slots[1])
    updates = updates_of(step, optimizer=optimizer)
    assert updates.misfit(form_named(updates, "nesterov")) == 0.0
    assert updates.misfit(updates.own_form) > 1e5


def test_a_slot_is_fitted_by_its_old_value_and_the_gradient():
    optimizer = optimizers.Momentum(0.5)
    step = step_of([-1.0, -2.0], [2.0, 0.0], slots={"w/momentum": [0.0, 8.0]}, new_slots={"w/momentum": [2.0, 4.0]})
    (fit,) = updates_of(step, optimizer=optimizer).slots["momentum"]
    assert (fit.keep, fit.gain) == pytest.approx((0.5, 1.0))
    assert fit.residual < 1e-12
    assert fit.old_size == pytest.approx(4 / np.linalg.norm([2, 4]))
    assert fit.gain_size == pytest.approx(2 / np.linalg.norm([2, 4]))


def test_a_slot_that_starts_from_nothing_does_not_tell_what_it_keeps():
    step = step_of([-1.0, 0.0], [2.0, 0.0], slots={"w/momentum": [0.0, 0.0]}, new_slots={"w/momentum": [2.0, 0.0]})
    (fit,) = updates_of(step, optimizer=optimizers.Momentum(0.5)).slots["momentum"]
    assert fit.old_size == 0.0


def test_a_wrong_slot_makes_a_weight_wrong_though_the_weight_moves_by_it():
    step = step_of([-1.5, 0.0], [2.0, 0.0], slots={"w/momentum": [0.0, 0.0]}, new_slots={"w/momentum": [3.0, 0.0]})
    (update,) = updates_of(step, optimizer=optimizers.Momentum(0.5)).steps
    assert update.factor == (1.0, 0.0)
    assert update.wrong == ["w"]


@pytest.mark.parametrize("share, wrong", [(1 - np.float32(0.999), []), (0.001, []), (0.00101, ["w"])])
def test_a_slot_takes_up_what_its_constants_leave_in_float32_or_in_float64(share, wrong):
    optimizer, gradient = optimizers.Adam(0.5, 0.999), np.float64([2.0, 4.0])
    old = {"w/m": [0.0, 0.0], "w/v": [0.0, 0.0], "beta1_power": 0.5, "beta2_power": 0.999}
    m, v = 0.5 * gradient, np.float64(share) * gradient**2
    rate = 0.5 * np.sqrt(1 - np.float64(np.float32(0.999))) / 0.5
    change = -rate * m / (np.sqrt(v) + 1e-8)
    (update,) = updates_of(
        step_of(change, gradient, np.zeros(2), old, {**old, "w/m": m, "w/v": v}), optimizer=optimizer
    ).steps
    assert update.wrong == wrong


@pytest.mark.parametrize(
    "change, rows",
    [
        ([[-1.0, 0.0], [0.0, 0.0], [0.0, 0.0]], (0.0, 0.0)),
        ([[-2.0, 0.0], [0.0, 0.0], [0.0, 0.0]], (1.0, 0.0)),
        ([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]], (0.0, 0.5)),
    ],
)
def test_wrong_rows_are_counted_with_and_without_a_gradient(change, rows):
    gradient = [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert updates_of(step_of(change, gradient, np.zeros((3, 2)))).steps[0].rows == {"w": rows}


def test_a_dense_matrix_has_no_rows_to_tell_apart():
    for gradient in (np.ones((3, 2)), np.zeros((3, 2))):
        assert updates_of(step_of(-0.5 * gradient, gradient, np.zeros((3, 2)))).steps[0].rows == {}


def test_adam_without_its_powers_is_recognised_by_the_forms_that_need_none():
    optimizer = optimizers.Adam(0.5, 0.5)
    slots = {"w/m": [0.0, 0.0], "w/v": [0.0, 0.0]}, {"w/m": [1.0, 1.0], "w/v": [2.0, 2.0]}
    updates = updates_of(step_of([-0.5, -0.5], [2.0, 2.0], slots=slots[0], new_slots=slots[1]), optimizer=optimizer)
    assert updates.own_form.name == "by step"
    powers = {"beta1_power": np.float32(0.5), "beta2_power": np.float32(0.5)}
    with_powers = step_of([-0.5, -0.5], [2.0, 2.0], slots={**slots[0], **powers}, new_slots=slots[1])
    assert updates_of(with_powers, optimizer=optimizer).own_form.name == "1.x"


@pytest.mark.parametrize(
    "optimizer, record",
    [
        (DESCENT, step_record()),  # no gradient
        (DESCENT, step_record(combined={"w": [1.0, 1.0]}, learning_rate=None)),
        (DESCENT, step_record(combined={"w": [np.inf, 1.0]})),
        (DESCENT, step_record(combined={"unknown": [1.0]})),
        (optimizers.Momentum(), step_record(combined={"w": [1.0, 1.0]})),  # no slot
    ],
)
def test_a_record_that_lacks_what_the_rule_reads_is_not_observed(optimizer, record):
    assert observe_update(record, made_up_state(), optimizer) is None
    assert updates_of(compared_step(record), optimizer=optimizer) is None


def test_an_update_is_observed_as_vectors_over_the_weights():
    before = made_up_state(
        {"b": [1.0], "a": [[2.0, 3.0]], "frozen": [9.0]}, {"a/momentum": [[0.0, 1.0]], "b/momentum": [2.0]}
    )
    after = made_up_state(
        {"b": [1.5], "a": [[2.0, 3.25]], "frozen": [9.0]}, {"a/momentum": [[4.0, 5.0]], "b/momentum": [6.0]}
    )
    record = step_record(7, combined={"b": [0.5], "a": [[0.25, 0.75]]}, state=after)
    update = observe_update(record, before, optimizers.Momentum())
    assert (update.step, update.learning_rate) == (7, 0.5)
    assert (update.names, update.sizes, update.shapes) == (["a", "b"], [2, 1], [(1, 2), (1,)])
    np.testing.assert_array_equal(update.gradient, [0.25, 0.75, 0.5])
    np.testing.assert_array_equal(update.change, [0.0, 0.25, 0.5])
    np.testing.assert_array_equal(update.old["momentum"], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(update.new["momentum"], [4.0, 5.0, 6.0])
    assert update.powers == []


def test_without_a_known_optimizer_no_update_is_fitted():
    evidence = made_up_evidence([step_of([-1.0, 2.0], [2.0, -4.0])], Context())
    assert fit_updates(evidence) == (None, None)


def test_values_that_are_not_finite_in_a_later_step_are_explained_by_no_form():
    good, bad = step_of([-1.0, 2.0], [2.0, -4.0]), step_of([-1.0, np.nan], [2.0, -4.0], number=1)
    updates = updates_of(good, bad)
    assert updates.misfit(updates.own_form) == float("inf")
    assert not updates.explained_by(updates.own_form)
