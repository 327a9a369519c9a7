"""Keras 3 ports of three workloads, as a user would write them, with nothing mended: what a diagnosis is for."""
