import numpy as np
import pytest

from parity.causes.basics.cause import HIGH, Finding
from parity.causes.basics.rewriting import Penalty, with_penalty, without_factors
from parity.causes.combining.clip_in_optimizer import clip_in_optimizer, rewrite_of_clip
from parity.causes.penalties.decay_place import decay_in_optimizer, rewrite_of_decay
from tests.parity.step_records import made_up_evidence, made_up_state, step_record
from workloads import optimizers

BEFORE = made_up_state({"w": np.array([2.0, -4.0], np.float32), "b": np.array([8.0], np.float32)})


def record(**known):
    gradients = [{"w": np.array([1.0, 3.0], np.float32), "b": np.array([1.0], np.float32)}] * 2
    return step_record(gradients=gradients, combined=gradients[0], losses=[np.float32(1.0), np.float32(2.0)], **known)


@pytest.mark.parametrize("in_losses, losses", [(True, [6.0, 7.0]), (False, [1.0, 2.0])])
def test_a_penalty_is_added_where_the_records_lack_it(in_losses, losses):
    rewritten = with_penalty(Penalty({"w": 0.5}, in_losses)).record(record(), BEFORE)
    assert [float(loss) for loss in rewritten.losses] == losses
    assert rewritten.combined["w"].tolist() == [2.0, 1.0] and rewritten.combined["b"].tolist() == [1.0]
    assert [gradient["w"].tolist() for gradient in rewritten.gradients] == [[2.0, 1.0]] * 2


def momentum_after(gradient):
    """A state whose momentum slots, empty before the step, hold a gradient of w."""
    return made_up_state(BEFORE.weights, slots={"w/momentum": np.asarray(gradient, np.float32), "b/momentum": [1.0]})


@pytest.mark.parametrize("roundings, shown", [(8, True), (64, False)])
def test_within_roundings_the_sum_is_the_one_that_the_slot_shows(roundings, shown):
    eps = 2.0**-23
    before = made_up_state(BEFORE.weights, slots={"w/momentum": np.zeros(2, np.float32), "b/momentum": [0.0]})
    slot = np.array([2.0, 1.0 + roundings * 5 * eps], np.float32)  # 5 is the size of the addends 3 and -2
    penalty = Penalty({"w": 0.5}, False, optimizers.Momentum())
    rewritten = with_penalty(penalty).record(record(state=momentum_after(slot)), before)
    assert (rewritten.combined["w"].tolist() == slot.tolist()) is shown
    assert (rewritten.gradients[0]["w"].tolist() == slot.tolist()) is shown


def test_in_float64_the_replicas_gradients_with_a_decay_still_make_the_combined_one():
    rng = np.random.RandomState(0)
    weights, near = rng.randn(4096), 1e-3 * rng.randn(2, 4096)
    gradients = [{"w": value - 0.02 * weights} for value in near]  # gradient and decay nearly cancel
    mean = (gradients[0]["w"] + gradients[1]["w"]) / 2
    shown = made_up_state({"w": weights}, slots={"w/momentum": mean + 0.02 * weights})
    record = step_record(gradients=gradients, combined={"w": mean}, losses=[1.0, 2.0], state=shown)
    before = made_up_state({"w": weights}, slots={"w/momentum": np.zeros(4096)})
    found = with_penalty(Penalty({"w": 0.02}, False, optimizers.Momentum())).record(record, before)
    sizes = np.abs(found.gradients[0]["w"]) + np.abs(found.gradients[1]["w"])
    errors = np.abs((found.gradients[0]["w"] + found.gradients[1]["w"]) / 2 - found.combined["w"])
    assert np.max(errors / sizes) <= 2.0**-52


def test_factors_are_divided_out():
    rewritten = without_factors(0.5, 0.25).record(record(), BEFORE)
    assert [float(loss) for loss in rewritten.losses] == [4.0, 8.0]
    assert rewritten.gradients[0]["w"].tolist() == [2.0, 6.0]


def test_the_rewrite_of_a_finding_has_its_rates():
    finding = Finding("", HIGH, "", {"rates": (("w", 0.5),), "losses": False})
    assert rewrite_of_decay(finding, None).record(record(), BEFORE).combined["w"].tolist() == [2.0, 1.0]


def test_the_rewrite_of_a_clip_makes_the_combined_gradient_of_the_replicas():
    form = {"reduce": "mean", "where": "combined", "how": "value", "limit": 2.0, "epsilon": 0.0}
    rewritten = rewrite_of_clip(Finding("", HIGH, "", form), None).record(record(), BEFORE)
    assert rewritten.combined["w"].tolist() == [1.0, 2.0]
    assert rewritten.gradients[0]["w"].tolist() == [1.0, 3.0]


@pytest.mark.parametrize("criterion", [decay_in_optimizer, clip_in_optimizer])
def test_without_gradients_nothing_is_said_about_the_optimizer(criterion):
    assert criterion(made_up_evidence(steps=[])) is None
