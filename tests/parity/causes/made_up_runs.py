"""Two runs of a momentum optimizer on given gradients; a fault of the right one is a function in its step."""

from __future__ import annotations

import numpy as np

from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers

STEPS, RATE = 6, np.float32(0.125)
CONTEXT = Context(2, 8, optimizers.Momentum(0.5), combine="mean")
NAMES = ("layer1/weights", "layer1/biases", "layer2/weights", "layer2/biases")


def true_gradient(step, name):
    """The mean gradient of a weight in a step; the replicas' are this and an eighth more or less."""
    rng = np.random.RandomState(10 * step + NAMES.index(name))
    return rng.randint(-64, 64, 24).astype(np.float32) / 16 + np.float32(1 / 32)


class Run:
    """One side; methods that a fault replaces get the numbers of a step and return others."""

    recorded = NAMES

    def combine(self, step, combined):
        """The gradients that the optimizer gets."""
        return combined

    def update(self, weights, slots, name, gradient):
        """Updates a weight and its slot in place."""
        slots[name] = np.float32(0.5) * slots[name] + gradient
        weights[name] = weights[name] - RATE * slots[name]

    def end(self, step, weights):
        """The weights as the step leaves them."""
        return weights

    def records(self):
        """Returns the states before each step, and the records."""
        weights = {n: np.linspace(-1, 1.1, 24).astype(np.float32) * (i + 1) / 3 for i, n in enumerate(NAMES)}
        slots = {name: np.zeros(24, np.float32) for name in NAMES}
        before, rows = [self._state(weights, slots, 0)], []
        for step in range(STEPS):
            own = {name: true_gradient(step, name) + self.reaction(weights, step) for name in NAMES}
            replicas = [{n: g + sign * np.float32(0.125) for n, g in own.items()} for sign in (1, -1)]
            combined = self.combine(step, own)
            for name in NAMES:
                self.update(weights, slots, name, combined[name])
            weights = self.end(step, weights)
            state = self._state(weights, slots, step + 1)
            shown = [{n: g for n, g in gradients.items() if n in self.recorded} for gradients in replicas]
            combined = {name: value for name, value in combined.items() if name in self.recorded}
            rows.append(step_record(step, [1.0, 2.0], shown, combined, float(RATE), state))
            before.append(state)
        return before, rows

    def reaction(self, weights, step):
        """What the first layer's weights add to every gradient."""
        return np.float32(0.0)

    def _state(self, weights, slots, step):
        held = {name: weights[name].copy() for name in self.recorded}
        return made_up_state(held, {f"{name}/momentum": slots[name].copy() for name in self.recorded}, step=step)


def evidence_of(right, left=None):
    """`Evidence` of a faulty run beside a sound one."""
    (lefts, left_rows), (rights, right_rows) = (left or Run()).records(), right.records()
    steps = [compared_step(a, b, c, d) for a, b, c, d in zip(left_rows, right_rows, lefts, rights)]
    return made_up_evidence(steps, CONTEXT)
