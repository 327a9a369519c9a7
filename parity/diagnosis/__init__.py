"""Measures facts about two programs' steps: fits, residuals and ratios. `parity.causes` reads them through `Evidence`.

Fits, not comparisons, name causes. Most of a step can be explained from that side's own record: the combined gradient
from the replicas' gradients; the new weights from the slots, the learning rate and the combined gradient. Such facts
hold on any trajectory. Losses and gradients are compared only in steps that both sides took from the same state.
"""
