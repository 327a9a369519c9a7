"""The user's own code: its import, calls into it, and the line of it that an exception comes from.

Here: what turns a failure of the user's code into one line with its file and line number. Not here: checks of what a
workload says, which are in `workloads`.
Start with `user_code.py`."""
