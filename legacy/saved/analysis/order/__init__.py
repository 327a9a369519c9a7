"""Order of a step's reads and updates of variables.

Here: the paths that the graph has, and the choices where it leaves a race. Not here: which nodes a step
runs (`phases`).
Start with `ordering.py`."""
