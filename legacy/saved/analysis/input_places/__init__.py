"""Changes of the graph of a step so that data enter the towers in front of them, and each of their parts once.

Here: parts that are taken inside of a `cond`, parts that are computed again, numbers of all towers' batch or of its
parts, joined, those that are drawn once for all towers, and assertions about data that nothing else takes. Not here:
the tensors that enter (`legacy.saved.analysis.division`).
Start with `equal_inputs.py`.
"""
