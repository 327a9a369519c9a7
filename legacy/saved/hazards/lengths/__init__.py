"""Hazards of padded sequences: of their lengths, their times, and what a model of the next word may see.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""
