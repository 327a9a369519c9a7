"""Tests of `legacy.saved.hazards.models.normalized`."""
