"""Hazards of reinforcement learning: targets of values, advantages, entropies and ratios of policies.

Here: losses whose gradients reach what they should not, or whose signs are wrong. Not here: other losses.
Start with `policies.py`."""

from legacy.saved.hazards.reinforcement import (
    activated_values,
    clipped_ratios,
    ends,
    maxima_of_batches,
    minimized_values,
    noise_of_policies,
    normal_entropies,
    policies,
    targets,
)

#: Checks of the graph alone, in the order of the page.
GRAPH_CHECKS = (
    targets.differentiated_targets,
    policies.differentiated_advantages,
    policies.minimized_entropies,
    policies.minimized_policies,
    policies.reversed_ratios,
    clipped_ratios.optimistic_surrogates,
    noise_of_policies.minimized_noise,
    normal_entropies.minimized_normal_entropies,
    minimized_values.minimized_values,
    activated_values.activated_values,
    ends.values_of_ended_episodes,
)
#: Checks that need an analysis.
ANALYSIS_CHECKS = (maxima_of_batches.maxima_of_batches,)
