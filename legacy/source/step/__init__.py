"""The parts of a training step: model, statistics, optimizer, schedule, clipping and moving average.

`training_step` has a step whose parts all have named fields, `imported_step` one of which the losses alone are known.
"""
