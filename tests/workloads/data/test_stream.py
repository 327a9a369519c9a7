"""Streams of examples or of batches: cut into full batches, and found again at any step."""

import numpy as np
import pytest

from workloads.data.batches import Request, Wanted
from workloads.data.epochs import Epochs, Order
from workloads.data.stream import StreamBatches
from workloads.support.errors import InputError

ORDERS = {last: Order(3, shuffle=False, last_batch=last) for last in ("fill", "drop")}


def request(order, **inputs):
    inputs = inputs or {"x": Wanted(0, "float ()")}
    return Request(order, inputs, lambda what, arrays, count: arrays)


def examples(count=7):
    return [{"x": np.float32(i)} for i in range(count)]


def batches(*sizes):
    ends = np.cumsum(sizes)
    return [{"x": np.arange(end - size, end, dtype=np.float32)} for size, end in zip(sizes, ends)]


@pytest.mark.parametrize("last_batch", ORDERS)
@pytest.mark.parametrize("elements", [examples(), batches(3, 3, 1), batches(2, 2, 2, 1), batches(7)], ids=len)
def test_any_step_has_the_rows_that_arrays_would_give(last_batch, elements):
    order = ORDERS[last_batch]
    stream, expected = StreamBatches("data", lambda: elements, request(order)), Epochs(7, order)
    for step in (0, 1, 2, 3, 4, 8, 0, 3, 2, 20, 10**9):
        assert stream.batch(step)["x"].tolist() == expected.rows(step).tolist(), step


def test_a_far_step_of_data_whose_end_is_known_takes_no_longer_than_an_epoch():
    started = []

    def start():
        started.append(True)
        return examples()

    stream = StreamBatches("data", start, request(ORDERS["drop"]))
    stream.batch(10**12)
    assert len(started) <= 3


def test_inputs_without_a_row_for_each_example_go_with_their_batch():
    inputs = {"x": Wanted(0, "float ()"), "keep": Wanted(None, "float ()")}
    elements = [{**batch, "keep": np.float32(i)} for i, batch in enumerate(batches(3, 3))]
    stream = StreamBatches("data", lambda: elements, request(ORDERS["fill"], **inputs))
    assert [float(stream.batch(step)["keep"]) for step in range(3)] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "elements, says",
    [
        ([], "data: got 'no example', there must be at least one"),
        (examples(2), "data: got '2 examples', fewer than --global_batch=3"),
        ([(1, 2)], "data: got tuple, every element must be {input name: array}"),
        ([{"y": 1}], "data: got 'y', it must have 'x': float ()"),
        ([{"x": np.zeros(())}, {"x": np.zeros(2)}], r"data: got \[\(\), \(2,\)\], 'x' must have one shape"),
    ],
)
def test_refuses_what_is_no_data(elements, says):
    with pytest.raises(InputError, match=says):
        StreamBatches("data", lambda: elements, request(ORDERS["fill"])).batch(0)


def test_refuses_to_cut_what_has_no_rows():
    inputs = {"x": Wanted(0, "float ()"), "all": Wanted(None, "float ()")}
    elements = [{**batch, "all": np.zeros(5)} for batch in batches(3, 2)]
    stream = StreamBatches("data", lambda: elements, request(ORDERS["fill"], **inputs))
    stream.batch(0)
    with pytest.raises(InputError, match="got 'a batch of 2', must be the global batch: 'all' has no row"):
        stream.batch(1)


@pytest.mark.parametrize("last_batch", ORDERS)
@pytest.mark.parametrize("steps", [(3,), (2, 3), (1, 0, 3), (1, 5, 1)])
def test_refuses_other_examples_when_begun_anew(last_batch, steps):
    passes = iter([examples(), examples()[::-1]])
    stream = StreamBatches("data", lambda: next(passes), request(ORDERS[last_batch]))
    stream.batch(1)
    with pytest.raises(InputError, match="must be the same each time: seed all shuffles"):
        for step in steps:
            stream.batch(step)


def test_examples_that_are_no_numbers_are_the_same_each_time():
    stream = StreamBatches("data", lambda: [{"x": np.float32("nan")}] * 3, request(ORDERS["drop"]))
    assert np.isnan(stream.batch(0)["x"]).all() and np.isnan(stream.batch(2)["x"]).all()


def test_an_exception_is_raised_again_where_the_step_is_asked_for_again():
    def start():
        yield from examples(4)
        raise OSError("cable cut")

    stream = StreamBatches("data", start, request(ORDERS["fill"]))
    stream.batch(0)
    for _ in range(2):
        with pytest.raises(OSError, match="cable cut"):
            stream.batch(1)
