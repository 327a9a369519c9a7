"""Facts of what a training step changes: update rules, learning rates, decays, and sentences on changes besides these.

Here: names and constants of rules, also of those that are made of plain ops; schedules and the steps at which they are
evaluated. Not here: how the towers' gradients become one (`legacy.saved.facts.combining`).
Start with `update_rules.py`."""
