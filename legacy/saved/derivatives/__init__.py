"""Derivatives of single ops that are not today's: overridden by the program, or wrong in an old TensorFlow.

Not here: what a graph differentiates (`legacy.saved.graph.differentiation`).
"""
