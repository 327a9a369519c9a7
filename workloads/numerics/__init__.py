"""Mathematics that both sides call: combining and clipping of gradients, staleness, random keys.

Here: pure functions. Not here: anything with state, devices or files.
Start with `combining.py`."""
