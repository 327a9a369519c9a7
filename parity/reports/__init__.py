"""Everything that commands show: tables, verdicts, named causes, faults, progress.

Here: formatting of finished results. Nothing here measures or decides.
Start with `verification_tables.py`."""
