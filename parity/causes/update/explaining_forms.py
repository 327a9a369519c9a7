"""Forms of an optimizer's update that explain a run, and how well a form must fit before it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workloads.optimizers import FormKind, UpdateForm

if TYPE_CHECKING:
    from parity.diagnosis.updates import Updates

#: A form explains the steps if its misfit is at most this; rounding alone makes about 1, see `updates`.
EXPLAINED = 20.0

#: Another form is named only if its misfit is smaller by this factor.
BETTER = 5.0


def forms_of_kind(updates: Updates, kind: FormKind) -> list[UpdateForm]:
    """Returns the optimizer's forms of one kind."""
    return [form for form in updates.steps[0].forms if form.kind is kind]


def better_form(left: Updates, right: Updates, kind: FormKind) -> UpdateForm | None:
    """Returns the form of a kind that explains the port far better than the optimizer's own, or None.

    Args:
      left, right: updates of legacy and of the port.
      kind: the kind of forms to try.

    Returns:
      the best form; None if the own one explains the port as well, or if the best explains legacy twice as well.
    """
    forms = forms_of_kind(right, kind)
    own = right.misfit(right.own_form)
    if own <= EXPLAINED and not any(right.misfit(form) * BETTER < own for form in forms):
        return None
    best = min(forms, key=right.misfit, default=None)
    if (
        best is None
        or not np.isfinite(right.misfit(best))
        or right.misfit(best) * BETTER > own
        or right.misfit(best) > max(10 * EXPLAINED, 1e-3 * own)
    ):
        return None
    return best if left.misfit(best) * 2 > left.misfit(right.own_form) else None
