"""Hazards of networks that ought to be one network, applied to several inputs.

Start with `compared_networks.py`."""
