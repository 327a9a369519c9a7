"""Hazards of rules that a program writes by hand: trust ratios, moments, steps within a loss, norms of weights.

Here: checks of what a rule computes from gradients and weights. Not here: optimizers' constants, in `updates`.
Start with `trust_ratios.py`."""

from legacy.saved.hazards.rules import attacks, inner_steps, power_iterations, second_moments, trust_ratios

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    trust_ratios.inverted_trust_ratios,
    second_moments.averages_without_root,
    inner_steps.inner_steps_upwards,
    power_iterations.iterations_that_begin_anew,
    attacks.attacks_that_help,
)
