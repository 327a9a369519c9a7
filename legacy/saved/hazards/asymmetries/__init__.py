"""Hazards of things that ought to be alike and are not: two sides of a distance, two terms, a sum and its count.

May import the basics of hazards and facts, and signs of pushes; the search of hazards imports this folder.
"""
