"""Runs the tutorials in docs/tutorials as a reader would: `page` reads them, `test_tutorials` runs them.

Here: tests of pages that show commands and what they print. Not here: tests of the commands.
Start with `page.py`."""
