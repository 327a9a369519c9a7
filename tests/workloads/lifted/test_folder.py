"""The folder of a lift: what is written is read, what is damaged is refused, what is no lift is not replaced."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.full_disk import full_disk
from tests.small_lift import small_graph, small_lift, small_plan
from workloads.lifted import PLAN, is_lift_folder
from workloads.lifted.checkpoint import write_by_object
from workloads.lifted.folder import GRAPH, read_lift, read_values, write_lift
from workloads.lifted.graph.default_attributes import add_default_attributes
from workloads.support.errors import InputError

v1 = tf.compat.v1


def written(tmp_path) -> str:
    folder = str(tmp_path / "lift")
    write_lift(folder, small_plan(), small_graph().graph_def, {"w": np.float32(2), "unused": np.arange(3)})
    return folder


def test_what_is_written_is_read(tmp_path):
    folder = written(tmp_path)
    content = read_lift(folder)
    assert is_lift_folder(folder) and content.plan == small_plan()
    assert [node.name for node in content.graph.graph_def.node] == list(small_graph().nodes)
    assert {name: value.tolist() for name, value in read_values(folder).items()} == {"w": 2.0, "unused": [0, 1, 2]}


def test_attributes_without_a_value_are_left_out(tmp_path):
    """Of a node that was asked for one that it lacks; one with a value stays."""
    graph_def = small_graph().graph_def
    node = next(node for node in graph_def.node if node.attr)
    before = set(node.attr)
    assert node.attr["asked"].i == 0 and "asked" in node.attr
    write_lift(str(tmp_path / "lift"), small_plan(), graph_def, {"w": np.float32(2)})
    assert set(read_lift(str(tmp_path / "lift")).graph.nodes[node.name].attr) == before


def test_attributes_with_their_default_are_left_out_of_the_file(tmp_path):
    """As an older TensorFlow, which may read it, does not know them all."""
    folder = written(tmp_path)
    in_file = v1.GraphDef.FromString((tmp_path / "lift" / GRAPH).read_bytes())
    read, given = read_lift(folder).graph.graph_def, small_graph().graph_def
    add_default_attributes(given)
    assert read == given != in_file
    assert all("use_locking" not in node.attr for node in in_file.node)


def test_the_digest_depends_on_plan_and_graph_and_on_nothing_else(tmp_path):
    plan, graph_def = small_plan(), small_graph().graph_def
    digests = []
    for name, values in (("a", {"w": np.float32(2)}), ("b", {"w": np.float32(3)})):
        write_lift(str(tmp_path / name), plan, graph_def, values)
        digests.append(read_lift(str(tmp_path / name)).digest)
    plan.batch = None
    write_lift(str(tmp_path / "c"), plan, graph_def, {"w": np.float32(2)})
    assert digests[0] == digests[1] != read_lift(str(tmp_path / "c")).digest and len(digests[0]) == 12


def test_a_lift_is_replaced_and_leaves_nothing_beside_it(tmp_path):
    folder = written(tmp_path)
    write_lift(folder, small_plan(), small_graph().graph_def, {"w": np.float32(5)})
    assert read_values(folder)["w"] == 5 and [path.name for path in tmp_path.iterdir()] == ["lift"]


def test_a_full_disk_is_one_line_and_keeps_the_lift_that_is_there(tmp_path):
    folder = written(tmp_path)
    before = read_values(folder)
    for longest in (0, 10, 700):
        with full_disk(longest), pytest.raises(InputError, match="^--out: cannot write .*lift: File too large$"):
            write_lift(folder, small_plan(), small_graph().graph_def, {"w": np.zeros(500, np.float32)})
    assert [path.name for path in tmp_path.iterdir()] == ["lift"]
    assert {name: value.tolist() for name, value in read_values(folder).items()} == {
        name: value.tolist() for name, value in before.items()
    }


def test_a_folder_that_is_no_lift_is_not_replaced(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    arguments = (small_plan(), small_graph().graph_def, {"w": np.float32(2)})
    with pytest.raises(InputError, match="exists and is not a lift"):
        write_lift(str(tmp_path / "other"), *arguments)
    assert not is_lift_folder(str(tmp_path / "other")) and (tmp_path / "other" / "thesis.txt").exists()
    with pytest.raises(InputError, match="must be in a folder that exists"):
        write_lift(str(tmp_path / "nowhere" / "lift"), *arguments)
    (tmp_path / "empty").mkdir()
    write_lift(str(tmp_path / "empty"), *arguments)
    assert is_lift_folder(str(tmp_path / "empty"))


def test_damage_is_reported(tmp_path):
    folder = written(tmp_path)
    path = tmp_path / "lift" / PLAN
    content = json.loads(path.read_text())
    for changed, message in (
        (dict(content, format=99), "expected a lift of format 1"),
        (dict(content, graph_digest="0"), "is not the graph that workload.json was made for"),
        ({k: v for k, v in content.items() if k != "phases"}, "is damaged, or not a lift"),
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(InputError, match=message):
            read_lift(folder)
    path.write_text(json.dumps(content))
    assert read_lift(folder).plan == small_plan()
    (tmp_path / "lift" / GRAPH).unlink()
    with pytest.raises(InputError, match="is damaged, or not a lift"):
        read_lift(folder)


def test_values_that_are_not_the_plans_are_refused(tmp_path):
    folder = str(tmp_path / "lift")
    workload = small_lift(folder)
    assert workload.values()["w"] == 2.0
    for values in ({"v": np.float32(1)}, {"w": np.float32([1, 2])}):
        write_by_object(os.path.join(folder, "variables"), values)
        with pytest.raises(InputError, match="its checkpoint holds .* for 'w', expected float32"):
            workload.values()


@pytest.mark.parametrize("change", [{"towers": "2"}, {"inputs": 3}, {"phases": [1]}, {"tensors": [1]}, {"extra": 1}])
def test_a_plan_of_other_types_is_refused(tmp_path, change):
    folder = str(tmp_path / "lift")
    small_lift(folder)
    path = os.path.join(folder, "workload.json")
    with open(path) as file:
        content = json.load(file)
    with open(path, "w") as file:
        json.dump({**content, **change}, file)
    with pytest.raises(InputError, match="--workload: .* is damaged, or not a lift"):
        read_lift(folder)
