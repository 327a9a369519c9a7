"""Tests of `legacy.saved.hazards.models.shares`."""
