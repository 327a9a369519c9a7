"""`StageRules`: the rules of a job's stages, all applied to one side's step."""

from __future__ import annotations

from typing import NamedTuple

from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.stage_checks.average_check import check_averages
from parity.diagnosis.stage_checks.combined_check import check_combined
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.statistics_check import check_statistics
from parity.diagnosis.stage_checks.tensor_error import TensorError
from parity.diagnosis.stage_checks.update_check import check_update
from workloads.optimizers import Optimizer
from workloads.workload import MovingAverage


class StageRules(NamedTuple):
    """Rules by which each stage follows from a side's own record; None for a stage without a known rule.

    Attributes:
      combined: reduction and clipping.
      optimizer: of weights and slots.
      moving_average: of the weights.
      statistics: policy, as in `Workload.statistics`.
    """

    combined: CombinedForm | None = None
    optimizer: Optimizer | None = None
    moving_average: MovingAverage | None = None
    statistics: str | None = None

    def errors(self, side: SideStep, eps: float, update_units: float = 0.0) -> list[TensorError]:
        """Checks one side's step.

        Args:
          side: the step.
          eps: machine epsilon of the weights.
          update_units: as for `check_update`.

        Returns:
          one error for each tensor that has a rule.
        """
        errors: list[TensorError] = []
        if self.combined is not None:
            errors += check_combined(side, self.combined, eps)
        if self.optimizer is not None:
            errors += check_update(side, self.optimizer, eps, update_units)
        if self.moving_average is not None:
            errors += check_averages(side, self.moving_average, eps)
        if self.statistics is not None:
            errors += check_statistics(side, self.statistics, eps)
        return errors
