"""Confirms recognized causes: plants them into a clean port and compares it with the run to explain.

Here: the planted port, its agreement with the user's records, and the search for the causes that explain every stage.
Not here: how a cause is planted (`Cause.plant`, in `parity.causes`). Start with `confirm.py`."""
