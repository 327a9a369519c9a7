"""`MetricsCheck`: a workload's metrics, evaluated on both sides after the last step and compared example by example.

The towers' side evaluates in a session, the port's under its strategy. Under "exact" each evaluates its own weights and
statistics. Otherwise rounding makes trajectories diverge, and both evaluate legacy's state.
"""

from __future__ import annotations

import numpy as np

from modern.mirrored.evaluation import MirroredEvaluation
from parity.comparison import stages
from parity.comparison.difference import compare
from parity.comparison.judging import tolerance
from parity.comparison.result import Failure, Metric, Verification
from parity.comparison.setup import Setup
from parity.comparison.stage_summary import StageSummary
from workloads.data.batches import Batches
from workloads.program import State
from workloads.training.evaluation import Evaluation, means_of


class MetricsCheck:
    """Evaluates both sides of a comparison.

    Args:
      setup: the job, whose workload defines metrics.
      examples: to evaluate on.
      tolerance_name: "exact" or "auto"; see `tolerance`.
    """

    def __init__(self, setup: Setup, examples: Batches, tolerance_name: str) -> None:
        self._job, self._allowed = setup.job, tolerance.TOLERANCES[tolerance_name]
        devices = setup.devices()
        self._left = Evaluation(setup.job, examples, devices, setup.legacy.exact)
        self._right = MirroredEvaluation(setup.job, examples, devices, setup.modern)
        self._values: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = {}, {}

    def measure(self, left: State, right: State) -> None:
        """Evaluates both sides.

        Args:
          left: state that legacy evaluates.
          right: state that the port evaluates.
        """
        self._values = self._left.measure(left), self._right.measure(right)

    def enter(self, result: Verification) -> None:
        """Enters the metrics into a result; one that differs ends parity."""
        left, right = self._values
        last = max(result.steps - 1, 0)
        allowed = self._allowed(stages.METRICS, np.dtype(self._job.dtype), self._job.replicas, 0)
        summary, failures = StageSummary(), []
        for name, array in left.items():
            difference = compare(name, array, right[name])
            if not summary.add(last, difference, allowed):
                failures.append(Failure(last, stages.METRICS, difference, allowed))
        if left:
            result.stages[stages.METRICS] = summary
            means = means_of(left), means_of(right)
            result.metrics = {n: Metric(means[0].means[n], means[1].means[n], means[0].examples) for n in left}
        result.add_failures(failures)

    def close(self) -> None:
        """Frees the resources of the evaluations."""
        self._left.close()
        self._right.close()
