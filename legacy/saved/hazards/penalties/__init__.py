"""Hazards of regularization: penalties that are lost, that count more or less than once, or have a wrong sign.

Here: checks of terms that are made of weights alone, and of norms that have weights in them. Not here: terms of data
(`losses`), decay in an update (`updates`). Start with `terms.py`, then `counts.py`."""

from legacy.saved.hazards.penalties import magnitudes, nested, norms_with_weights, overwhelming, repeated, signs, zeros

#: Checks of the graph alone, in the order of the page; `counts.regularization` uses an analysis where there is one.
GRAPH_CHECKS = (
    zeros.zero_regularization,
    nested.penalties_of_penalties,
    repeated.squared_twice,
    signs.subtracted_penalties,
    signs.penalties_of_untrained,
    magnitudes.sums_of_weights,
    overwhelming.overwhelming_penalties,
    norms_with_weights.clipped_by_norms_with_weights,
)
