"""Tests of `legacy.saved.hazards.models.axes`."""
