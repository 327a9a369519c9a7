"""Facts of a step's inputs: their kinds and sources, how they are prepared, and the examples of a tower.

Here: what the page says of data. Not here: how inputs are found, which `legacy.saved.tower_search` does.
Start with `input_rows.py`."""
