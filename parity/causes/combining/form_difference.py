"""Difference between the forms in which the two sides combine and clip their gradients, and changes of that form."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Finding
from parity.causes.basics.wording import shortest_decimal
from workloads.support.wording import counted
from workloads.workload import Clip

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import MirroredState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.options import ModernOptions
    from parity.comparison.setup import Setup
    from parity.diagnosis.candidates.combined_forms import CombinedForm
    from parity.diagnosis.combined_gradients import CombinedFit
    from parity.diagnosis.evidence import Evidence
    from workloads.job import Job
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
        """The port's form, for `inject_form`."""
        return _form_constants(self.port)

    @property
    def because(self) -> str:
        """Both forms with their residuals."""
        return (
            f"legacy's combined gradient is {self.legacy} (residual {self.left.fits[self.legacy]:.1e}), the port's "
            f"{self.port} ({self.right.fits[self.port]:.1e}), over {counted(self.right.steps, 'step')}"
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
    return {"reduce": form.reduce, "where": form.where or "", "how": form.how, "limit": limit, "epsilon": form.epsilon}


def inject_form(finding: Finding, setup: Setup) -> injection.Change:
    """Injects the port's way of combining and clipping."""
    fitted = finding.constants
    clip = Clip(fitted["limit"], fitted["where"], fitted["how"]) if fitted["where"] else None
    change = injection.in_workload(lambda job: {"clip": clip, "combine": fitted["reduce"]})
    return change + clip_with_epsilon(fitted["epsilon"]) if fitted["epsilon"] else change


def clip_with_epsilon(epsilon: float) -> injection.Change:
    """Returns the change to a clipping that adds `epsilon` to the norm, as PyTorch's `clip_grad_norm_` does."""

    class Step(ReplicaStep):
        """Clips by the workload's rule, to the limit over the norm and epsilon."""

        def __init__(
            self, job: Job, options: ModernOptions, variables: MirroredState, rules: UpdateRules, first: int = 0
        ) -> None:
            workload = dataclasses.replace(job.workload, clip=None)
            super().__init__(dataclasses.replace(job, workload=workload), options, variables, rules, first)
            self._rule = clip_of(job.workload)

        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            where = self._rule.where
            before = _clipped(gradients, self._rule, epsilon) if where == "tower" else gradients
            combined = super()._combine(context, before)
            return _clipped(combined, self._rule, epsilon) if where == "combined" else combined

    return injection.in_replica_step(Step)


def _clipped(gradients: Tensors, rule: Clip, epsilon: float) -> Tensors:
    """Returns the gradients clipped by their norm, or each by its own, with epsilon added to it."""
    import tensorflow as tf

    whole = tf.linalg.global_norm(list(gradients.values()))
    norms = {name: whole if rule.how == "global_norm" else tf.norm(value) for name, value in gradients.items()}
    return {name: g * tf.minimum(1.0, rule.limit / (norms[name] + epsilon)) for name, g in gradients.items()}


def clip_of(workload: Workload) -> Clip:
    """Returns the workload's `Clip`; raises ValueError if it has none, to which no fault of clipping applies."""
    if workload.clip is None:
        raise ValueError(f"{workload.name}: does not clip")
    return workload.clip


def change_clip(**fields: Any) -> injection.Change:
    """Changes fields of the port's `Clip`."""
    return injection.in_workload(lambda job: {"clip": dataclasses.replace(clip_of(job.workload), **fields)})
