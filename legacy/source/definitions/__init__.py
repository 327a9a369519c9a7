"""Definitions: what each op of a tower's forward pass computes, and one set of them for several towers.

`recovery` turns ops into definitions, `loops` those of a `while` loop into a function; `numbering` finds computations
that are equal in several towers, `alignment` and `differences` make one function of towers that differ.
"""
