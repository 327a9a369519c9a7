"""One made-up update step, with numbers that binary fractions hold exactly."""

from __future__ import annotations

import numpy as np

from workloads.optimizers import ObservedUpdate


def observed(old: dict, new: dict, powers: tuple = (), step: int = 0) -> ObservedUpdate:
    """Returns a step on two weights, at learning rate 1/2 with gradient (2, -4); slots as given."""
    return ObservedUpdate(
        step=step,
        learning_rate=0.5,
        names=["a", "b"],
        sizes=[1, 1],
        shapes=[(1,), ()],
        gradient=np.array([2.0, -4.0]),
        weights=np.array([1.0, 1.0]),
        change=np.array([0.0, 0.0]),
        old={slot: np.array(values) for slot, values in old.items()},
        new={slot: np.array(values) for slot, values in new.items()},
        powers=list(powers),
    )


def same(values: np.ndarray, expected: list) -> bool:
    """Tells whether `values` are exactly `expected`."""
    return values.tolist() == expected
