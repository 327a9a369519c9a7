"""Causes in the optimizer's step: learning rate, new slots, and the change of the weights.

`framework_rules` has the updates of other libraries, which faults inject; `update_changes` and `formula_changes`
inject a fitted difference. Not here: the slots' first values (`parity.causes.inputs`). Start with `update_form.py`.
"""
