"""Fails as soon as the port no longer trains the model that the towers train: `pytest examples/ci`."""

import pathlib

HERE = pathlib.Path(__file__).parent


def test_the_port_has_the_towers_bits(parity_job):
    parity_job(f"{HERE / 'model.py'}:CLASSIFIER", steps=5)
