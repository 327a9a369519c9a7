"""Files that commands read and write.

Here: checks of input files, archives of arrays, JSON of results, removal of unfinished files. Not here: the formats of
recordings, lifts and checkpoints.
Start with `input_files.py`."""
