import numpy as np
import pytest
import tensorflow as tf

from modern.collectives import all_reduce, strategy
from modern.options import ALL_REDUCES, STRATEGYS_OWN, AllReduce, ModernOptions
from tests.cases import Dyadic, Everything, records, setup
from workloads.support.errors import InputError


def reduced(name, how, values, form="stack"):
    """`values`, one a replica, after an all-reduce inside a `tf.function`; what the first and last replica got."""
    devices = [f"CPU:{i}" for i in range(len(values))]
    mirrored = strategy.mirrored_strategy(devices, ModernOptions(all_reduce=name, average=form))

    @tf.function
    def run():
        def replica():
            context = tf.distribute.get_replica_context()
            value = tf.constant(values)[context.replica_id_in_sync_group]
            return context.all_reduce(how, value)

        return mirrored.run(replica)

    results = mirrored.experimental_local_results(run())
    return [np.asarray(result) for result in results]


@pytest.mark.parametrize(
    "name, replicas",
    [("hierarchical_copy", 2), ("hierarchical_copy", 4), ("hierarchical_copy", 6)]
    + [(name, replicas) for name in ("auto", "one_device", "tower_order") for replicas in (2, 3, 4, 8)],
)
@pytest.mark.parametrize("how", ["MEAN", "SUM"])
def test_every_reduction_on_small_integers(name, replicas, how):
    values = np.arange(replicas * 6, dtype=np.float32).reshape(replicas, 6) * replicas
    expected = values.mean(0) if how == "MEAN" else values.sum(0)
    for result in reduced(name, how, values):
        np.testing.assert_array_equal(result, expected)


def test_tower_order_adds_from_the_first_to_the_last():
    values = np.array([[1e8], [1.0], [-1e8], [1.0]] * 2, np.float32).repeat(3, axis=1)
    in_order = np.float32(0)
    for value in values[:, 0]:
        in_order = np.float32(in_order + value)
    assert in_order != values[:, 0].astype(np.float64).sum()  # the order matters here
    for result in reduced("tower_order", "SUM", values):
        np.testing.assert_array_equal(result, [in_order] * 3)


@pytest.mark.parametrize(
    "name, ran",
    [
        ("auto", "CollectiveAllReduce RING"),
        ("tower_order", "TowerOrder"),
        ("one_device", "ReductionToOneDevice"),
        ("hierarchical_copy", "HierarchicalCopyAllReduce"),
    ],
)
def test_what_really_ran_is_read_from_the_strategy(name, ran):
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions(all_reduce=name))
    assert all_reduce.describe_all_reduce(mirrored) == ran


def test_one_replica_reduces_nothing_and_says_so():
    mirrored = strategy.mirrored_strategy(["CPU:0"], ModernOptions())
    assert all_reduce.describe_all_reduce(mirrored).startswith("none")


@pytest.mark.skipif(len(tf.config.list_physical_devices("GPU")) >= 2, reason="two GPUs: nccl is usable here")
def test_nccl_without_gpus_is_refused():
    with pytest.raises(InputError, match="needs at least two physical GPUs"):
        all_reduce.make_cross_device_ops("nccl", "stack", 2)


def test_hierarchical_copy_of_an_odd_number_is_refused_because_it_drops_a_replica():
    with pytest.raises(InputError, match="leaves out one of an odd number of replicas"):
        all_reduce.make_cross_device_ops("hierarchical_copy", "stack", 3)
    dropping = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"], tf.distribute.HierarchicalCopyAllReduce())
    ones = dropping.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([])))
    # Once this is 3.0, TensorFlow has mended it and the refusal can go.
    assert float(dropping.experimental_local_results(ones)[0]) == 2.0


@pytest.mark.gpu(2)
def test_nccl_on_small_integers():
    made = setup(Dyadic(), 2, modern={"all_reduce": "nccl"})
    assert float(records(made.modern_program(), 1)[0].combined["a"]) == 7.0


def test_the_default_reduction_agrees_to_the_last_bits():
    auto = records(setup(Everything(), 4, modern={"all_reduce": "auto"}).modern_program(), 1)[0]
    tower = records(setup(Everything(), 4).modern_program(), 1)[0]
    for name, value in tower.combined.items():
        # four numbers added in another order: at most a few units in the last place of the largest
        np.testing.assert_allclose(auto.combined[name], value, rtol=0, atol=4e-7 * np.abs(value).max())


@pytest.mark.parametrize("row", ALL_REDUCES.values(), ids=lambda row: row.name)
def test_every_row_of_the_table_is_made_as_it_says(row):
    if not row.in_process or row.gpus:
        with pytest.raises(InputError, match="is between workers|physical GPUs"):
            all_reduce.make_cross_device_ops(row.name, "stack", 2)
    else:
        made = all_reduce.make_cross_device_ops(row.name, "stack", 2)
        assert (STRATEGYS_OWN if made is None else type(made).__name__) == row.in_process
    if row.between_workers:
        assert all_reduce.communication_implementation(row.name).value == row.between_workers
    else:
        with pytest.raises(InputError, match="between workers: auto, ring, nccl, tower_order"):
            all_reduce.communication_implementation(row.name)


def test_a_row_is_all_that_another_all_reduce_needs(monkeypatch):
    monkeypatch.setitem(ALL_REDUCES, "by_hand", AllReduce("by_hand", "ReductionToOneDevice", ""))
    values = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    for result in reduced("by_hand", "SUM", values):
        np.testing.assert_array_equal(result, [4.0, 6.0])


def test_an_unknown_all_reduce_is_refused_and_no_other_takes_its_place():
    with pytest.raises(InputError, match="--all_reduce: got 'by_hand', allowed: auto, ring"):
        ModernOptions(all_reduce="by_hand")
    with pytest.raises(InputError, match="--all_reduce: got 'by_hand', allowed: auto, ring"):
        all_reduce.make_cross_device_ops("by_hand", "stack", 2)
