"""Causes that are recognized in whole runs of an optimizer, each beside a run that is like it and has another cause."""

import numpy as np
import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.catalogue import recognize_causes
from parity.causes.combining import dropped_gradients, group_clip
from parity.causes.gradients import unrecorded_weights
from parity.causes.update import rounded_state
from tests.parity.causes.made_up_runs import NAMES, RATE, Run, evidence_of

FIRST = NAMES[:2]


class NotCleared(Run):
    kept = None

    def combine(self, step, combined):
        self.kept = combined if self.kept is None else {name: self.kept[name] + combined[name] for name in combined}
        return self.kept


class TwoStepsAdded(Run):
    """Adds the step before alone, and not all of them."""

    last = None

    def combine(self, step, combined):
        added = combined if self.last is None else {name: self.last[name] + combined[name] for name in combined}
        self.last = combined
        return added


class Dropped(Run):
    def combine(self, step, combined):
        return {name: value * np.float32(step not in (1, 4)) for name, value in combined.items()}


class GroupsClipped(Run):
    limit = 4.0

    def groups(self):
        return NAMES[:2], NAMES[2:]

    def combine(self, step, combined):
        clipped = {}
        for group in self.groups():
            length = np.sqrt(sum(np.sum(np.square(combined[name], dtype=np.float64)) for name in group))
            clipped.update({name: combined[name] * np.float32(min(1.0, self.limit / length)) for name in group})
        return clipped


class PassedOver(Run):
    def update(self, weights, slots, name, gradient):
        if name not in FIRST:
            super().update(weights, slots, name, gradient)


class Frozen(Run):
    """Weights that are not recorded; `frozen` says whether they keep their values."""

    recorded = NAMES[2:]
    frozen = True

    def update(self, weights, slots, name, gradient):
        if name in self.recorded or not self.frozen:
            super().update(weights, slots, name, gradient)

    def reaction(self, weights, step):
        return np.float32(np.mean(weights[NAMES[0]]))


class Whole(Frozen):
    recorded, frozen = NAMES, False


class Trained(Frozen):
    frozen = False


class RoundedOnce(Run):
    def end(self, step, weights):
        if step != 3:
            return weights
        return {name: value.astype(np.float16).astype(np.float32) for name, value in weights.items()}


class RoundedBetween(Run):
    """Goes on from rounded weights, which no record shows."""

    def update(self, weights, slots, name, gradient):
        if self.step == 3:
            weights[name] = weights[name].astype(np.float16).astype(np.float32)
        super().update(weights, slots, name, gradient)

    def combine(self, step, combined):
        self.step = step
        return combined


def named(right, left=None):
    return {entry.id: entry.finding for entry in recognize_causes(evidence_of(right, left)) if entry.cause.bug}


def test_gradients_that_are_never_cleared_are_named():
    assert named(NotCleared())["GRADIENTS_NOT_CLEARED"].confidence == HIGH
    assert dropped_gradients.gradients_not_cleared(evidence_of(TwoStepsAdded())) is None


def test_steps_whose_gradients_are_dropped_are_named():
    found = named(Dropped())
    assert list(found) == ["GRADIENT_DROPPED"]
    assert (found["GRADIENT_DROPPED"].steps, found["GRADIENT_DROPPED"].confidence) == ((1, 4), HIGH)


def test_groups_that_are_clipped_apart_are_named_with_their_limit():
    finding = named(GroupsClipped())["CLIP_KIND"]
    assert finding.constants["limit"] == pytest.approx(4.0, rel=1e-6)
    assert set(map(frozenset, finding.constants["groups"])) == {frozenset(NAMES[:2]), frozenset(NAMES[2:])}


def test_groups_with_other_limits_are_no_clipping_by_groups():
    class Other(GroupsClipped):
        def combine(self, step, combined):
            self.limit = 4.0 + step
            return super().combine(step, combined)

    assert group_clip.group_clip(evidence_of(Other())) is None


def test_weights_that_the_optimizer_does_not_know_are_named_with_their_slots():
    finding = named(PassedOver())["VARIABLE_NOT_TRAINED"]
    assert (set(finding.variables), finding.confidence) == (set(FIRST), HIGH)
    assert "nor do their slots" in finding.sentence


def test_weights_that_are_neither_recorded_nor_trained_are_named():
    finding = named(Frozen(), Whole())["WEIGHTS_LEFT_OUT"]
    assert (set(finding.variables), finding.confidence) == (set(FIRST), MEDIUM)
    assert unrecorded_weights.unrecorded_weights(evidence_of(Trained(), Whole())) is None


@pytest.mark.parametrize("run", [RoundedOnce, RoundedBetween])
def test_weights_that_are_rounded_once_are_named_with_the_step(run):
    finding = named(run())["STATE_ROUNDED"]
    assert (finding.steps, finding.constants["format"]) == ((3,), "float16")


def test_another_rate_in_one_step_is_no_rounding():
    class Faster(RoundedBetween):
        def update(self, weights, slots, name, gradient):
            Run.update(self, weights, slots, name, gradient)
            if self.step == 3:
                weights[name] = weights[name] - RATE * np.float32(1e-3) * slots[name]

    assert rounded_state.state_rounded(evidence_of(Faster())) is None


def test_a_sound_run_has_none_of_these():
    assert named(Run()) == {}
