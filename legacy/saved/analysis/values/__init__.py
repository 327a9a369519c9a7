"""Values that a variable takes in a step, as ops of tensors in place of the ops that change it.

Here: the value after assignments, additions and changes of rows, and after an update rule. Not here: which reads are
given such values (`legacy.saved.analysis.assigned_values`).
Start with `changed_values.py`.
"""
