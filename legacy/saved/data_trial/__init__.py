"""Finds made-up data that a lifted graph runs with, by trying.

Here: the search (`fitting`), the runs (`trials`, `trial_run`), the sizes that errors suggest (`trial_sizes`), the
choices that are tried (`trial_choices`), sizes that constant windows ask for (`window_sizes`), and wider bounds of
integers (`wider_bounds`). Not here: drawing the values (`workloads.lifted.made_up_data`).
Start with `fitting.py`."""
