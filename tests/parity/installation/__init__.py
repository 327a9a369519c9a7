"""Tests of `parity.installation`."""
