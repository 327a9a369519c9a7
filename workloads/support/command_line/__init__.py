"""Command line of every command: its flags, `--help`, and how it ends.

Here: the harness around a command's `main`. Not here: the flags of single commands.
Start with `command.py`."""
