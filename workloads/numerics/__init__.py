"""Mathematics that both sides call: combining and clipping of gradients, staleness, random keys, half precision.

Here: pure functions. Not here: anything with state, devices or files.
Start with `combining.py`."""
