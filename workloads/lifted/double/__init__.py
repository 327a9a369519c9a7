"""Lifted programs in float64: the old graph rewritten, so that its mathematics can be judged apart from rounding.

Here: the rewriting of a graph in memory, and the formulas of ops that have no kernel for float64. Not here: the lift
itself, whose files stay as they are, and the comparison (`parity.comparison`).
Start with `rewriting.py`, then `graph_rewriter.py`."""
