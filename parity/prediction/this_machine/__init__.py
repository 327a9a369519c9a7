"""This machine's CPU: its calibration, and predictions for it beside measured steps.

Here: times of single ops and calls, the pace of the machine meanwhile, and the error of predictions.
Not here: predictions for machines that are not here. Start with `measured_step.py`.
"""
