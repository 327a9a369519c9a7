"""Changes of a graph before it is written, so that the text adds the rows of a gradient in the old order.

Here: weights that are looked up and used whole (`dense_uses`), and weights that are looked up before and behind a loop
(`joined_lookups`). Not here: the text of a lookup (`legacy.source.ops.slices`).
"""
