import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from modern.collectives import strategy
from modern.mirrored.input import replica_input
from modern.mirrored.input.replica_input import ReplicaInput
from modern.options import ModernOptions
from tests import commands
from tests.cases import Dyadic
from workloads import sources
from workloads.job import Job

JOB = Job(Dyadic(), 2, 4)


class Counting(sources.GlobalBatches):
    """x of step s is 10 s, 10 s + 1 ...: two examples a replica."""

    def _examples(self, step):
        return {"x": 10 * step + np.arange(4)}


class Fixed(Counting):
    """The same batch at every step."""

    fixed = True


class Piped(Counting):
    """Comes from a `tf.data` pipeline, whose numbers are negative."""

    has_pipeline = True

    def pipeline(self, step):
        first = tf.data.Dataset.counter(-1000 * (step + 1), 1)
        return first.map(lambda number: {"x": tf.fill([2], tf.cast(number, tf.float32))})


class Padded(Counting):
    """Batches that are padded to the longest of each replica's and each step's examples: 2, 2, 3, 4, 4 columns ..."""

    def shards(self, step):
        columns = 2 + (step + 1) // 3
        return [{"x": np.full([1, columns], step, np.float32)}, {"x": np.full([1, columns + 1], -step, np.float32)}]

    def shapes(self):
        return {"x": (1, None)}


def delivered(source, first, steps, here=range(2)):
    """[[x of each replica in this process] of each step], from step `first` on."""
    mirrored = strategy.mirrored_strategy([f"CPU:{i}" for i in range(len(here))], ModernOptions())
    replica_input = ReplicaInput(JOB, source(JOB), mirrored, here)
    batches = replica_input.start(first)
    taken = [replica_input.take(batches)["x"] for _ in range(steps)]
    local = mirrored.experimental_local_results
    return replica_input, [[value.numpy().tolist() for value in local(batch)] for batch in taken]


def test_every_replica_gets_its_shard_step_after_step():
    replica_input, batches = delivered(Counting, 0, 2)
    assert batches == [[[0, 1], [2, 3]], [[10, 11], [12, 13]]]
    assert not replica_input.resident


def test_batches_begin_at_the_step_of_choice():
    assert delivered(Counting, 20, 1)[1] == [[[200, 201], [202, 203]]]


def test_more_steps_than_fit_a_chunk_keep_their_order():
    batches = delivered(Counting, 3, replica_input.CHUNK_STEPS + 2)[1]
    assert [batch[0][0] for batch in batches] == [10.0 * (3 + step) for step in range(replica_input.CHUNK_STEPS + 2)]


def test_batches_may_have_other_sizes_in_other_steps_and_replicas():
    batches = delivered(Padded, 0, 6)[1]
    assert batches == [
        [[[step] * columns], [[-step] * (columns + 1)]] for step, columns in enumerate([2, 2, 3, 3, 3, 4])
    ]


def test_a_lone_steps_batch_is_taken_without_reading_the_iterator():
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    replica_input = ReplicaInput(JOB, Counting(JOB), mirrored, range(2))
    taken = []
    for step in (1000, 7):
        assert replica_input.put(step)
        batch = replica_input.take(iter(()))["x"]
        taken.append([value.numpy().tolist() for value in mirrored.experimental_local_results(batch)])
    assert taken == [[[10000, 10001], [10002, 10003]], [[70, 71], [72, 73]]]


@pytest.mark.parametrize("source", [Fixed, Piped])
def test_no_lone_batch_is_put_where_none_comes_from_python(source):
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    assert not ReplicaInput(JOB, source(JOB), mirrored, range(2)).put(3)


def test_a_worker_takes_its_own_shards_of_the_global_batch():
    assert delivered(Counting, 1, 1, here=range(1, 2))[1] == [[[12, 13]]]


def test_a_fixed_source_stays_on_the_devices():
    replica_input, batches = delivered(Fixed, 5, 2)
    assert replica_input.resident
    assert batches == [[[0, 1], [2, 3]]] * 2


def test_a_pipeline_is_read_by_tensorflow_itself():
    assert delivered(Piped, 1, 2)[1] == [[[-2000, -2000], [-1999, -1999]], [[-1998, -1998], [-1997, -1997]]]


@pytest.mark.parametrize(
    "elements, replicas, steps",
    [(1, 2, 16), (2**18, 1, 4), (2**18, 4, 1), (2**17, 1, 8), (2**21, 1, 1)],  # of 4 bytes; a chunk has 2**22
)
def test_a_chunk_holds_from_one_to_sixteen_steps(elements, replicas, steps):
    assert replica_input.steps_per_chunk({"x": np.zeros(elements, np.float32)}, replicas) == steps


class Slow(Counting):
    """Takes longer for a batch than a chunk may take; notes the steps that are made."""

    def __init__(self, job):
        super().__init__(job)
        self.made = []

    def _examples(self, step):
        self.made.append(step)
        time.sleep(2 * replica_input.CHUNK_SECONDS)
        return super()._examples(step)


def made_for_one_chunk(source, close):
    """The steps that are made for the next chunk, of at most 16."""
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], ModernOptions())
    replica_input = ReplicaInput(JOB, source, mirrored, range(2))
    source.made.clear()
    if close:
        replica_input.close()
    shards = replica_input._next_shards(7, 16)
    assert len(shards) == 2 * len(source.made)
    return source.made


def test_batches_that_take_long_are_handed_over_one_by_one():
    assert made_for_one_chunk(Slow(JOB), False) == [7]


def test_a_closed_input_makes_no_more_batches(monkeypatch):
    monkeypatch.setattr(replica_input, "CHUNK_SECONDS", 1000.0)
    source = Slow(JOB)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    assert made_for_one_chunk(source, False) == list(range(7, 23))
    assert made_for_one_chunk(source, True) == [7]


#: Prints the page faults of a block that was freed before: 4,096 pages of 16 MiB if it was given back to the system.
FREED_BLOCK = """
import ctypes, resource
import tensorflow as tf
from modern.mirrored.input.replica_input import ReplicaInput
from tests.modern.mirrored.input.test_replica_input import JOB, Counting
from workloads.support.machine import allocator

allocator.keep_freed_memory()
mirrored = tf.distribute.MirroredStrategy(["CPU:0"])
batches = ReplicaInput(JOB, Counting(JOB), mirrored, range(1)).start(0)
{after}
library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = library.malloc(2**24)
    ctypes.memset(block, 1, 2**24)
    library.free(block)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="settings of glibc")
@pytest.mark.parametrize(
    ("after", "fewest", "most"),
    [("", 0, 100), ("allocator.set_sizes({'MALLOC_TRIM_THRESHOLD_': 2**17})", 4000, 5000)],
    ids=["kept", "given_back"],
)
def test_freed_memory_is_still_kept_once_an_iterator_was_made(after, fewest, most):
    script = [sys.executable, "-c", FREED_BLOCK.format(after=after)]
    process = subprocess.run(script, env=commands.environment(), capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert fewest <= int(process.stdout) <= most
