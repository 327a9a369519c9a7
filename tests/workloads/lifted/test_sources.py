"""Data for lifted programs: made up within bounds, from arrays, from pipelines."""

import numpy as np
import pytest
import tensorflow as tf

from tests import old_programs
from tests.small_lift import small_lift
from workloads.data.function import FunctionData
from workloads.data.opening import open_data
from workloads.job import Job
from workloads.lifted import sources
from workloads.lifted.plan import Input, TensorType
from workloads.selection import registry
from workloads.support.errors import InputError


def job_of(name, replicas=None, global_batch=None):
    workload = registry.get(old_programs.lifted(name))
    return Job(workload, replicas or workload.plan.towers, global_batch)


def test_made_up_batches_stay_within_what_the_graph_allows():
    shards = sources.LiftedSynthetic(job_of("g_embedding_adagrad")).shards(3)
    assert len(shards) == 4 and shards[0]["words"].shape == (6, 3)
    assert all(shard["words"].min() >= 0 and shard["words"].max() < 20 for shard in shards)
    assert not np.array_equal(shards[0]["words"], shards[1]["words"])
    again = sources.LiftedSynthetic(job_of("g_embedding_adagrad")).shards(3)
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(shards, again) for name in a)


def test_scalars_are_the_same_for_all_replicas_and_can_be_set():
    job = job_of("e_slim_dropout")
    made = [shard["keep_prob"] for shard in sources.LiftedSynthetic(job).shards(0)]
    assert made[0] == made[1] and made[0].shape == () and 0 <= made[0] < 1
    assert sources.LiftedSynthetic(job, {"keep_prob": "0.75"}).shards(0)[1]["keep_prob"] == np.float32(0.75)


def arrays():
    return {"x": np.arange(10 * 72, dtype=np.float32).reshape(10, 6, 6, 2), "y": np.arange(10, dtype=np.int32) % 3}


def own_data(data, job, settings=None):
    """The source of a job of a lift, of a file's data or of those that a function makes, in order."""
    data = FunctionData("data", data) if callable(data) else open_data(str(data))
    return sources.LiftedOwnData(job, data, settings, shuffle=False)


def test_arrays_are_taken_in_order_and_around(tmp_path):
    np.savez(tmp_path / "data.npz", **arrays())
    source = own_data(tmp_path / "data.npz", job_of("d_batch_norm", 2, 8))
    first, second = source.shards(0), source.shards(1)
    assert [shard["y"].tolist() for shard in first] == [[0, 1, 2, 0], [1, 2, 0, 1]]
    assert [shard["y"].tolist() for shard in second] == [[2, 0, 0, 1], [2, 0, 1, 2]]
    assert np.array_equal(second[0]["x"][2], arrays()["x"][0])
    assert (source.ends(), source.steps(4), source.has_pipeline) == ((1,), 5, False)


def test_scalars_that_data_lack_are_those_of_the_settings(tmp_path):
    """Texts, as a command has them; what the data have is taken from there."""
    job = job_of("e_slim_dropout")
    made = sources.LiftedSynthetic(job).shards(0)
    rows = {name: np.concatenate([shard[name] for shard in made]) for name in made[0] if made[0][name].ndim}
    np.savez(tmp_path / "data.npz", **rows)
    settings = {name: "0.75" for name in made[0] if name not in rows}
    found = own_data(tmp_path / "data.npz", job, settings).shards(0)
    assert [shard["keep_prob"] for shard in found] == [np.float32(0.75)] * len(made)
    assert {shard["keep_prob"].dtype for shard in found} == {np.dtype("float32")}
    with pytest.raises(InputError, match="it must have 'keep_prob': float32"):
        own_data(tmp_path / "data.npz", job)


def test_arrays_are_shuffled_unless_the_graph_carries_a_state(tmp_path):
    np.savez(tmp_path / "data.npz", **arrays())
    source = sources.LiftedOwnData(job_of("d_batch_norm", 2, 10), open_data(str(tmp_path / "data.npz")))
    taken = np.concatenate([shard["x"][:, 0, 0, 0] for shard in source.shards(0)])
    assert sorted(taken) == arrays()["x"][:, 0, 0, 0].tolist() != taken.tolist()
    assert registry.get(old_programs.lifted("m_carried_state")).carries_state
    assert not registry.get(old_programs.lifted("d_batch_norm")).carries_state


def test_a_pipeline_gives_replicas_what_its_shards_are():
    def make(global_batch):
        return tf.data.Dataset.from_tensor_slices(arrays()).batch(global_batch, drop_remainder=True)

    source = own_data(make, job_of("d_batch_norm", 2, 4))
    assert source.has_pipeline
    replica_batches = list(source.pipeline(1).take(4).as_numpy_iterator())
    shards = [shard for step in range(3) for shard in source.shards(step)][2:]  # the second batch, then around
    assert len(replica_batches) == len(shards) == 4
    for batch, shard in zip(replica_batches, shards):
        assert all(np.array_equal(batch[name], shard[name]) for name in shard)


def test_short_batches_are_filled_from_the_next_pass():
    def make(global_batch):
        return tf.data.Dataset.from_tensor_slices(arrays()).batch(global_batch)

    source = own_data(make, job_of("d_batch_norm", 2, 4))
    assert [shard["y"].tolist() for shard in source.shards(2)] == [[2, 0], [0, 1]] and not source.has_pipeline


def test_refuses_data_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "data.npz", x=arrays()["x"])
    with pytest.raises(InputError, match=r"--data=.*data.npz: got 'x', it must have 'y': int32 \[None\]"):
        own_data(tmp_path / "data.npz", job_of("d_batch_norm", 2, 8))
    np.savez(tmp_path / "data.npz", **arrays())
    with pytest.raises(InputError, match="10 examples.*fewer than --global_batch=12"):
        own_data(tmp_path / "data.npz", job_of("d_batch_norm", 2, 12))
    np.savez(tmp_path / "odd.npz", x=arrays()["x"], y=np.zeros(3))
    with pytest.raises(InputError, match="arrays must have equal lengths"):
        own_data(tmp_path / "odd.npz", job_of("d_batch_norm", 2, 4))


def small_source(source, tmp_path, **fields):
    """A source of `small_lift`'s input x, which has other `fields`."""

    def change(plan):
        for name, value in fields.items():
            setattr(plan.inputs[0], name, value)
        kind = TensorType(plan.inputs[0].dtype, plan.inputs[0].shape)
        plan.tensors.update(dict.fromkeys(plan.inputs[0].tensors, kind))

    return source(Job(small_lift(str(tmp_path / "lift"), change), 2))


def test_the_first_batch_at_every_step(tmp_path):
    source = small_source(sources.LiftedResident, tmp_path)
    assert source.fixed and source.shards(5)[1]["x"].tolist() == source.shards(0)[1]["x"].tolist()
    new = small_source(sources.LiftedSynthetic, tmp_path)
    assert not new.fixed and new.shards(5)[1]["x"].tolist() != new.shards(0)[1]["x"].tolist()


@pytest.mark.parametrize(
    "kind, shape, expected",
    [("batch", [None, None], (2, 6)), ("same", [None, 3], (4, 3)), ("same batch", [None, 3], (2, 3))],
)
def test_open_dimensions_are_the_batch_or_a_few(kind, shape, expected, tmp_path):
    shards = small_source(sources.LiftedSynthetic, tmp_path, kind=kind, shape=shape).shards(0)
    assert shards[0]["x"].shape == expected
    assert np.array_equal(shards[0]["x"], shards[1]["x"]) is (kind != "batch")


def test_images_are_larger_where_the_graph_leaves_their_size_open(tmp_path):
    source = small_source(sources.LiftedSynthetic, tmp_path, shape=[None, None, None, 3])
    assert source.shards(0)[0]["x"].shape == (2, 64, 64, 3)


def test_a_learning_rate_that_was_fed_is_small_and_another_one_in_each_step(tmp_path, monkeypatch):
    def scalars():
        source = small_source(sources.LiftedSynthetic, tmp_path, kind="setting", shape=[])
        return [float(source.shards(step)[0]["x"]) for step in range(9)]

    others = scalars()
    monkeypatch.setattr(sources, "fed_learning_rates", lambda plan, graph: {"x"})
    rates = scalars()
    assert len(set(rates)) == 9 and min(rates) > 0 and max(rates) < sources.LARGEST_RATE < max(others)


def test_switches_are_on_and_flags_of_examples_are_drawn(tmp_path):
    switch = small_source(sources.LiftedSynthetic, tmp_path, dtype="bool", kind="setting", shape=[])
    assert switch.shards(0)[0]["x"] == np.array(True)
    flags = small_source(sources.LiftedSynthetic, tmp_path, dtype="bool", shape=[None, 50]).shards(0)[0]["x"]
    assert flags.dtype == bool and flags.any() and not flags.all()


def test_texts_cannot_be_made_up(tmp_path):
    with pytest.raises(InputError, match="input 'x' is of string, which cannot be made up; give data"):
        small_source(sources.LiftedSynthetic, tmp_path, dtype="string").shards(0)


def test_texts_of_ones_own_are_bytes_and_numbers_are_no_texts():
    words = Input("words", "string", [None], "batch", 0, ["words:0"], "words")
    found = sources.checked_values("--data", words, np.array(["a", "bc"]))
    assert found.dtype.kind == "S" and found.tolist() == [b"a", b"bc"]
    for texts in (np.array([b"a"]), np.array([b"a"], object)):
        assert sources.checked_values("--data", words, texts).tolist() == [b"a"]
    with pytest.raises(InputError, match=r"'words' must be string \[None\]"):
        sources.checked_values("--data", words, np.array([1.0]))
    with pytest.raises(InputError, match=r"'words' must be string \[None\]"):
        sources.checked_values("--data", words, np.array([["a"]]))
    number = Input("x", "float32", [None], "batch", 0, ["x:0"], "x")
    with pytest.raises(InputError, match=r"'x' must be float32"):
        sources.checked_values("--data", number, np.array(["a"]))


def test_a_function_of_ones_own_module_makes_the_dataset(tmp_path, monkeypatch):
    (tmp_path / "own_data_of_a_test.py").write_text(
        "import tensorflow as tf\n"
        "def make(size):\n"
        "    return tf.data.Dataset.from_tensor_slices({'x': tf.range(8.0)}).batch(size)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    source = own_data("own_data_of_a_test:make", Job(small_lift(str(tmp_path / "lift")), 2))
    batches = [[shard["x"].tolist() for shard in source.shards(step)] for step in range(3)]
    assert batches == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[0, 1], [2, 3]]]  # started again


def test_rows_that_are_not_examples_are_divided_evenly(tmp_path):
    lift = small_lift(str(tmp_path / "lift"), lambda plan: setattr(plan.inputs[0], "kind", "whole"))
    source = sources.LiftedData(Job(lift, 2), lambda step: {"x": np.arange(6)}, {})
    assert [shard["x"].tolist() for shard in source.shards(0)] == [[0, 1, 2], [3, 4, 5]]
