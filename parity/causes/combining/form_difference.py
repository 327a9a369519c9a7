"""Difference between the forms in which the two sides combine and clip their gradients, and changes of that form."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Finding
from parity.causes.basics.wording import shortest_decimal
from workloads.workload import Clip

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.candidates.combined_forms import CombinedForm
    from parity.diagnosis.combined_gradients import CombinedFit
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


class FormDifference(NamedTuple):
    """Two sides that combine and clip in different, known forms.

    Attributes:
      legacy: the form that explains legacy's combined gradients.
      port: the form that explains the port's.
      left, right: all that is known about each side's combined gradients.
    """

    legacy: CombinedForm
    port: CombinedForm
    left: CombinedFit
    right: CombinedFit

    @property
    def confidence(self) -> str:
        """MEDIUM where the port's combined gradients were worked out from its updates, and not precisely."""
        return MEDIUM if self.right.derived and self.right.noise > 1e-3 else HIGH

    @property
    def constants(self) -> dict[str, Any]:
        """The port's form, for `plant_form`."""
        return _form_constants(self.port)

    @property
    def because(self) -> str:
        """Both forms with their residuals."""
        return (
            f"legacy's combined gradient is {self.legacy} (residual {self.left.fits[self.legacy]:.1e}), the port's "
            f"{self.port} ({self.right.fits[self.port]:.1e}), over {self.right.steps} steps"
            + ("; the port's was worked out from its update" if self.right.derived else "")
        )


def form_difference(evidence: Evidence) -> FormDifference | None:
    """Returns both sides' forms if both are known and legacy's does not explain the port, else None."""
    left, right = evidence.combined_fits
    if left is None or right is None or left.first is None or right.first is None or left.first in right.fits:
        return None
    return FormDifference(left.first, right.first, left, right)


def _form_constants(form: CombinedForm) -> dict[str, Any]:
    limit = shortest_decimal(form.limit) if form.where is not None else 0.0
    return {"reduce": form.reduce, "where": form.where or "", "how": form.how, "limit": limit}


def plant_form(finding: Finding, setup: Setup) -> injection.Change:
    """Plants the port's way of combining and clipping."""
    fitted = finding.constants
    clip = Clip(fitted["limit"], fitted["where"], fitted["how"]) if fitted["where"] else None
    return injection.in_workload(lambda job: {"clip": clip, "combine": fitted["reduce"]})


def clip_of(workload: Workload) -> Clip:
    """Returns the workload's `Clip`; raises ValueError if it has none, to which no fault of clipping applies."""
    if workload.clip is None:
        raise ValueError(f"{workload.name}: does not clip")
    return workload.clip


def change_clip(**fields: Any) -> injection.Change:
    """Changes fields of the port's `Clip`."""
    return injection.in_workload(lambda job: {"clip": dataclasses.replace(clip_of(job.workload), **fields)})
