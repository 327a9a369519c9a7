"""Prediction: the step time of both sides on devices that are not here.

Here: the graph of a step with its work, the price of each op and copy on a machine, and the schedule that they make.
Not here: measured profiles (`parity.profiling`), tables (`parity.reports`). Start with `prediction.py`.
"""
