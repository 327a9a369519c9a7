"""Workloads and data functions that are broken, each in its own way, and the error that each must be reported as.

In a function, the line that is to be named ends with `# here`; without such a line it is the function's first.
Start with `case.py`.
"""
