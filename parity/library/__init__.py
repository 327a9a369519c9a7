"""`import parity` in notebooks, tests and CI: a comparison as a function, its result as an object, a pytest plugin.

Each function runs the command of the same name in a process of its own, so that devices, determinism and threads are
set before TensorFlow starts, whatever the calling process has done with it.
"""
