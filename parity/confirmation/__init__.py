"""Confirms recognized causes: injects them into a clean port and compares it with the run to explain.

Here: the injected port, its agreement with the user's records, and the search for the causes that explain every stage.
Not here: how a cause is injected (`Cause.change`, in `parity.causes`). Start with `confirm.py`."""
