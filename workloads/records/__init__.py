"""Recordings: the step records of a run in one `.npz` file, written in one environment and read in another.

Here: writer, reader and the command's flags. `writer.py` is one file that people copy: numpy alone.
Start with `writer.py`."""
