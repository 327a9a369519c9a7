"""The part of a graph that a training step runs, which ends at its data sources.

`cone` finds it; `texts` and `tables` tell what is a source where texts are read, `equal_sources` which sources give
the same, `placeholders` puts placeholders in their places, and `idle` finds what only orders others. Start with `cone`.
"""
