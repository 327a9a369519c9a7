"""Keras 3 ports of three workloads, as a user would write them, with Keras's own defaults: cases for a diagnosis.

Here: the ports, with the causes that are expected, and the command that records and diagnoses them. Not here: the
diagnosis.
Start with `sigmoid_stack.py`, the shortest port."""
