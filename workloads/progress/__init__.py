"""Display of a running command on stderr: bars on a terminal, plain lines elsewhere.

Here: the display and the activities that it shows. Not here: results, which are printed to stdout.
Start with `progress.py`."""
