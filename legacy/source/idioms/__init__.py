"""Idioms: several ops of the old graph that are one call, or one function, of TensorFlow 2.

Each is matched at its last op, before the writer of that op is asked (`legacy.source.ops`); `catalogue.py` lists them
by that op. An idiom may also say that an op changes nothing.
"""
