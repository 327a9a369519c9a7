"""`Clip`: the rule by which gradients are clipped, as data. Needs no TensorFlow."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Clip:
    """Gradient clipping.

    Attributes:
      limit: largest norm, or largest absolute value.
      where: "tower" (each tower's gradients) or "combined" (what the optimizer gets).
      how: "global_norm" scales all gradients together (`tf.clip_by_global_norm`), "norm" each tensor on its own
        (`tf.clip_by_norm`), "value" clips elements to ±limit.
    """

    limit: float
    where: str = "tower"
    how: str = "global_norm"
