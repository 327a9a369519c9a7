"""Hazards of losses that push a result of the network one way only, so that nothing holds it back.

May import the basics of hazards and facts; the search of hazards imports this folder.
"""
