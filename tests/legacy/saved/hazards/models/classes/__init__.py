"""Tests of `legacy.saved.hazards.models.classes`."""
