"""Machines to predict for: their description, those that are built in, and those of a file.

Here: numbers of processors and links, and where they come from. Not here: what a program does with them.
Start with `machine.py`, then `built_in.py`.
"""
