"""Measures how two programs' steps differ: fits, residuals and ratios, each computed once. `causes` reads them.

Fits, not comparisons, name causes. Most of a step can be explained from that side's own record: what the optimizer
got, from the replicas' gradients; the new weights, from the slots, the rate and what the optimizer got. Such facts
hold on any trajectory. Losses and gradients are compared only in steps that both sides took from the same state.
"""
