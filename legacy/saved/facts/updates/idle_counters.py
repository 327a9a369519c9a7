"""Sentences on counters that a learning rate reads, and that no train op raises but an op beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.learning_rates import LearningRate
from legacy.saved.runs.fetched_beside import raised_by
from workloads.support.wording import FEW, listed


def idle_counter_sentences(analysed: AnalysedStep, rates: Sequence[LearningRate]) -> Iterator[str]:
    """Yields a sentence for each counter of a schedule that stands still, though the graph has an op that raises it.

    Args:
      analysed: the training step.
      rates: its learning rates.
    """
    raised = raised_by(analysed.whole)
    read = {variable: rate.tensor for rate in rates for variable in rate.reads}
    for variable, rate in read.items():
        ops = [name for name, counter in raised.items() if counter == variable]
        if ops and analysed.is_counter(variable) and not analysed.is_changed(variable):
            yield (
                f"{rate} depends on {variable}, which no train op raises: {listed(ops, FEW)} does; if the "
                f"program fetched it beside the train op, name it: --with={ops[0]}"
            )
