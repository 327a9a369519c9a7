"""Comparison of a workload with a lifted graph: the old graph in a session is the reference, the workload the port.

Variables, inputs and random streams correspond by name. Start with `against_setup.py`.
"""
