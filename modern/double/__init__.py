"""Ports in float64: the float32 step of a port, rewritten, so that its mathematics can be judged apart from rounding.

Here: ports whose losses or steps are written as functions; and such steps with another number in their update, which
are rewritten in the same way. Not here: how a graph is rewritten (`workloads.lifted.double`), and the comparison
(`parity.comparison`).
Start with `step_function.py`, then `programs.py`."""
