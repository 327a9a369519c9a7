"""Everything that commands show: tables, named causes, faults, progress.

Here: formatting of finished results. Nothing here measures or decides.
Start with `tables.py`."""
