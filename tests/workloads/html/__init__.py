"""Tests of `workloads.html`."""
