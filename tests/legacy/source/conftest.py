"""What a test of this folder changes in TensorFlow for the whole process is undone after it."""

import pytest

from workloads.numerics import gradient_sums


@pytest.fixture(autouse=True)
def order_of_gradients():
    """A standalone program sets the order in which all gradients are added, as it is a process of its own."""
    with gradient_sums.added_in_order(False):
        yield
