"""The order of examples: every one once an epoch, shuffled by seed, whatever step is asked for."""

import numpy as np
import pytest

from workloads.data.epochs import Epochs, Order


def test_every_example_comes_once_an_epoch_in_an_order_of_its_own():
    epochs = Epochs(10, Order(4, seed=3))
    taken = np.concatenate([epochs.rows(step) for step in range(5)])
    first, second = taken[:10], taken[10:]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first.tolist() != second.tolist() != list(range(10))
    assert Epochs(10, Order(4, seed=4)).rows(0).tolist() != epochs.rows(0).tolist()


def test_steps_can_be_asked_for_in_any_order():
    epochs = Epochs(10, Order(4))
    later = [epochs.rows(step).tolist() for step in (7, 2, 1000, 0, 7)]
    assert later == [Epochs(10, Order(4)).rows(step).tolist() for step in (7, 2, 1000, 0, 7)]


@pytest.mark.parametrize("last_batch, end, steps", [("fill", 2, 5), ("drop", 1, 4)])
def test_the_end_of_an_epoch(last_batch, end, steps):
    epochs = Epochs(10, Order(4, shuffle=False, last_batch=last_batch))
    assert epochs.ends() == (end,)
    assert epochs.steps(2) == steps
    assert epochs.rows(end)[0] == 4 * end
    assert epochs.rows(end + 1)[0] == (0 if last_batch == "drop" else 2)


def test_a_batch_larger_than_the_data_takes_them_again():
    assert Epochs(2, Order(5, shuffle=False)).rows(0).tolist() == [0, 1, 0, 1, 0]
