"""Names in a speed measurement: the project's own programs, and the kinds of input. Needs no TensorFlow."""

from __future__ import annotations

#: The project's own programs.
LEGACY, MODERN, ONE_DEVICE = "legacy", "modern", "one device"

#: Kinds of input: one batch that stays on the devices, or new batches at every step.
RESIDENT, STREAMED = INPUTS = ("resident", "streamed")

#: Ways of legacy to get new batches at every step, which are tried for the fastest; see `LegacyOptions.input`.
LEGACY_INPUTS = ("feed", "split", "queue", "dataset")
