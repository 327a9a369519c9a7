"""`PeriodicEvaluation`: evaluations in the course of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.support.errors import require

if TYPE_CHECKING:
    from workloads.program import Program
    from workloads.training.best_checkpoint import BestCheckpoint
    from workloads.training.evaluation import Evaluation
    from workloads.training.loop import Output
    from workloads.training.summaries import Summaries


class PeriodicEvaluation:
    """Evaluates a program periodically, and at the end of its training.

    Args:
      evaluation: evaluates a state; None for a worker that is not the chief, which takes part in reading the state.
      every: steps from one evaluation to the next; None for the end only.
      out: gets a line for each.
      summaries: get the means.
      best: keeps the best state; None for none.
    """

    def __init__(
        self,
        evaluation: Evaluation | None,
        every: int | None,
        out: Output,
        summaries: Summaries,
        best: BestCheckpoint | None = None,
    ) -> None:
        require(every is None or every >= 1, "--eval_every", every, "must be at least 1")
        self.every, self._best = every, best
        self._evaluation, self._out, self._summaries = evaluation, out, summaries

    def after(self, program: Program, step: int, last: bool) -> None:
        """Evaluates after a step if that is due there.

        Args:
          program: the program that is trained.
          step: number of steps it has taken.
          last: whether the training ends here.
        """
        if not last and (self.every is None or step % self.every):
            return
        state = program.state()
        if self._evaluation is None:
            return
        result = self._evaluation.evaluate(state)
        self._out.write_evaluation(step, result.means, result.examples)
        if self._best is not None and self._best.offer(state, result.means):
            self._out.write_note(f"the best state so far is that of step {step}")
        self._summaries.write(step, {f"evaluation/{name}": value for name, value in result.means.items()})

    def close(self) -> None:
        """Frees what the evaluation holds."""
        if self._evaluation is not None:
            self._evaluation.close()
