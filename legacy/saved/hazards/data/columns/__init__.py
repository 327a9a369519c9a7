"""Hazards of tables: rows of numbers of which some columns are features and one is the label.

Start with `labels_among_features.py`."""
