"""Mirrors the four folders. Every check has a negative control that shows it fail."""
