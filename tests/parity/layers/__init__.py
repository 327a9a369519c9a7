"""Tests of `parity.layers`."""
