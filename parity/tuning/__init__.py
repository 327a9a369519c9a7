"""Tuning: settings that change the port's speed and not its mathematics, tried one knob after the other.

Here: the settings, the processes that run the port under them, the search and its table. Not here: the timing
(`parity.speed`). Start with `settings.py`, then `search.py`.
"""
