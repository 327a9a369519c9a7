import numpy as np
import pytest

from tests.cases import Dyadic, Everything
from workloads import sources
from workloads.data import image_source
from workloads.job import Job
from workloads.models.cifar_cnn import SMALL
from workloads.records.writer import batch_digest


def test_a_batch_is_a_function_of_seed_and_step():
    job = Job(Everything())
    first, again = sources.Synthetic(job), sources.Synthetic(job)
    again.batch(0)
    assert batch_digest(first.batch(3)) == batch_digest(again.batch(3))
    assert batch_digest(first.batch(3)) != batch_digest(first.batch(4))
    assert batch_digest(first.batch(3)) != batch_digest(sources.Synthetic(Job(Everything(), seed=1)).batch(3))


def test_float64_sees_the_numbers_of_float32():
    narrow = sources.Synthetic(Job(Everything())).batch(0)["x"]
    wide = sources.Synthetic(Job(Everything(), dtype="float64")).batch(0)["x"]
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, narrow.astype(np.float64))


def test_shards_are_contiguous():
    shards = sources.Synthetic(Job(Dyadic(), replicas=4)).shards(0)
    assert [list(shard["x"]) for shard in shards] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_resident_is_the_first_batch_for_ever():
    source = sources.Resident(Job(Everything()))
    assert batch_digest(source.batch(0)) == batch_digest(source.batch(7))


def test_every_image_once_an_epoch_in_a_new_order():
    images = np.zeros((10, 32, 32, 3), np.uint8)
    source = image_source.ImageSource(Job(SMALL, 2, 4), images, np.arange(10) % 10)
    epochs = np.concatenate([source.batch(step)["labels"] for step in range(5)]).reshape(2, 10)
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 2
    assert list(epochs[0]) != list(epochs[1])


def test_digests_see_names_kinds_shapes_and_values():
    x = np.arange(4, dtype=np.float32)
    batches = [{"x": x}, {"y": x}, {"x": x.astype(np.int32)}, {"x": x.reshape(2, 2)}, {"x": x + 1}]
    assert len({batch_digest(batch) for batch in batches}) == len(batches)


class Shards(sources.Source):
    """A source that knows its replicas' batches only."""

    def shards(self, step):
        return [{"x": np.array([step, replica])} for replica in range(2)]


def test_a_source_of_shards_has_their_global_batch():
    assert Shards(Job(Dyadic())).batch(7)["x"].tolist() == [7, 0, 7, 1]


def test_a_source_must_have_shards_and_need_not_have_a_pipeline():
    with pytest.raises(TypeError, match="shards"):
        sources.Source(Job(Dyadic()))
    assert not Shards(Job(Dyadic())).has_pipeline
    with pytest.raises(NotImplementedError, match="Shards.pipeline"):
        Shards(Job(Dyadic())).pipeline(0)
