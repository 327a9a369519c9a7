"""Weights of the terms of a loss that counted steps give, as that of an annealed divergence, or that are 0."""

from __future__ import annotations

import numpy as np

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.support.wording import FEW, listed


def weight_sentence(analysed: AnalysedStep, term: str) -> str:
    """Describes the weight of a term that changes from step to step, or that is 0.

    Args:
      analysed: the training step.
      term: the last node of the term.

    Returns:
      Such as "; its weight is a function of global_step", or "; its weight is 0"; "" of a term without such a weight.
    """
    graph = analysed.graph
    while graph.type(term) == "Identity":
        term = graph.inputs(term)[0].node
    tensors = graph.inputs(term) if graph.type(term) == "Mul" else []
    constants = [analysed.imported.constant(*tensor) for tensor in tensors]
    if any(value is not None and value.size and not np.any(value) for value in constants):
        return "; its weight is 0"
    factors = [tensor.node for tensor in tensors]
    counters = [names for names in (_counters(analysed, factor) for factor in factors) if names]
    return f"; its weight is a function of {listed(counters[0], FEW)}" if len(counters) == 1 else ""


def _counters(analysed: AnalysedStep, factor: str) -> list[str]:
    """The counters that a factor is a function of; none of one that depends on anything else."""
    graph = analysed.graph
    before = graph.ancestors([factor], controls=False)
    variables = sorted(name for name in before if graph.type(name) in op_types.VARIABLES)
    given = any(graph.type(name).startswith("Placeholder") for name in before) or before & analysed.context.random
    return [] if given or not all(map(analysed.is_counter, variables)) else variables
