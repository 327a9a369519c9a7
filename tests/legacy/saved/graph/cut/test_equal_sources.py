"""Data sources that give the same."""

import pytest
import tensorflow as tf

from legacy.saved.graph.cut.equal_sources import first_equal_sources
from tests.legacy.saved.graphs import graph_of, traced
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def looked_up(letters: str, others: str = "xy", text: str = "text", default: int = 0) -> Graph:
    """Two lookups of one text, in a table of "ab" and in one of other letters."""

    def build():
        texts = {name: v1.placeholder(tf.string, [2], name) for name in ("text", "another")}
        for number, (keys, own, missing) in enumerate([("ab", "text", 0), (letters, text, default)]):
            table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=f"table_{number}")
            tf.raw_ops.LookupTableImportV2(table_handle=table, keys=list(keys), values=tf.constant([1, 2], tf.int64))
            tf.raw_ops.LookupTableFindV2(
                table_handle=table,
                keys=texts[own],
                default_value=tf.constant(missing, tf.int64),
                name=f"tower_{number}",
            )

    return traced(build)


@pytest.mark.parametrize(
    "others, first",
    [
        ({"letters": "ab"}, "tower_0"),
        ({"letters": "ba"}, "tower_1"),
        ({"letters": "ab", "text": "another"}, "tower_1"),
        ({"letters": "ab", "default": 1}, "tower_1"),
    ],
)
def test_lookups_of_one_text_in_tables_of_the_same_words_give_the_same(others, first):
    assert first_equal_sources(looked_up(**others), ["tower_0", "tower_1"]) == {"tower_0": "tower_0", "tower_1": first}


def test_what_follows_from_equal_sources_is_equal_and_what_is_taken_out_of_a_queue_is_not():
    graph = graph_of("""
        queue = FIFOQueueV2()
        a = QueueDequeueV2(queue)
        b = QueueDequeueV2(queue)
        space = Const()
        a_cut = StringSplit(a, space)
        again = StringSplit(a, space)
        b_cut = StringSplit(b, space)
        a_hash = StringToHashBucketFast(a_cut:1)
        again_hash = StringToHashBucketFast(again:1)
        of_rows = StringToHashBucketFast(again)
        b_hash = StringToHashBucketFast(b_cut:1)
        """)
    sources = ["a", "b", "a_cut", "again", "b_cut", "a_hash", "again_hash", "of_rows", "b_hash"]
    found = first_equal_sources(graph, sources)
    assert {name: first for name, first in found.items() if first != name} == {"again": "a_cut", "again_hash": "a_hash"}
    assert list(found) == sources
