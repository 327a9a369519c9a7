"""The recorder, in a real old environment where one is at hand, and in this one by `tf.compat.v1`."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from legacy import recorder
from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.graph_file import read_graph_file
from legacy.saved.lifting import lift_graph
from legacy.saved.runs.recorded_feeds import FedTensor
from tests import old_programs
from workloads.job import Job
from workloads.lifted import checkpoint
from workloads.lifted.workload import load_lift
from workloads.selection import registry

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "tests", "legacy", "programs")

HERE = """
import sys
import tensorflow as tf
import recorder
tf = tf.compat.v1
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [4, 3], name="x")
grads = []
for i, part in enumerate(tf.split(x, 2)):
    with tf.name_scope("tower_%d" % i), tf.variable_scope("m", reuse=i > 0):
        w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
        grads.append(tf.gradients(tf.reduce_sum(tf.matmul(part, w) ** 2, name="loss"), [w])[0])
train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(grads), w)])
recorder.start(sys.argv[1], steps=3)
initialize = tf.global_variables_initializer()
before = len(tf.get_default_graph().get_operations())
with tf.Session() as session:
    session.run(initialize)
    for step in range(5):
        answer = session.run({"w": "m/w:0", "op": train}, {x: [[step, 0, 1]] * 4})
assert len(tf.get_default_graph().get_operations()) == before
print(sorted(answer))
"""


def run_script(interpreter, script, folder, cwd):
    shutil.copy(os.path.join(ROOT, "legacy", "recorder.py"), cwd)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TF")}
    environment["PYTHONPATH"] = str(cwd)
    command = [interpreter, str(script), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def test_records_a_program_without_changing_its_graph(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(HERE)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("['op', 'w']")  # the program gets its own answer
    assert checkpoint.read_checkpoint(str(tmp_path / "run" / "model.ckpt"))["m/w"].tolist() == [[1, 1]] * 3
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    steps = RecordedSteps(str(tmp_path / "run"), plan)
    assert len(steps) == 3  # of five
    # Step 0: x = [0, 0, 1] four times, w = 1: each row's gradient is 2 * 1 for the last weight row; two rows a tower.
    assert steps.tensor(0, "tower_0/m/gradients/tower_0/m/MatMul_grad/MatMul_1:0").tolist() == [[0, 0], [0, 0], [4, 4]]
    assert steps.tensor(0, "AddN:0").tolist() == [[0, 0], [0, 0], [8, 8]]
    assert float(steps.tensor(0, "tower_1/m/loss:0")) == 4.0
    assert steps.step(0)["after/m/w"].tolist() == [[1, 1], [1, 1], [-3, -3]]
    assert steps.tensor(1, "x:0").tolist() == [[1, 0, 1]] * 4


OTHER_RUNS = HERE.replace("steps=3", "steps=2").replace(
    "        answer", "        session.run(grow) if step == 1 else None\n        answer"
)
OTHER_RUNS = OTHER_RUNS.replace("recorder.start", "grow = tf.assign(w, 4 * tf.ones([3, 2]))\nrecorder.start")


def test_what_other_runs_changed_between_the_steps_is_recorded(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(OTHER_RUNS)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    steps = RecordedSteps(str(tmp_path / "run"), plan)
    assert len(steps) == 2 and not any(name.startswith("before/") for name in steps.step(0))
    assert steps.step(0)["after/m/w"].tolist() == [[1, 1], [1, 1], [-3, -3]]
    assert steps.step(1)["before/m/w"].tolist() == steps.start_of(1)["m/w"].tolist() == [[4, 4]] * 3


def test_variables_in_no_collection_are_recorded_if_a_step_uses_them(tmp_path):
    """Examples that a program loads into variables, as LocalSyncParallelOptimizer of RLlib did."""
    held = """given = tf.placeholder(tf.float32, name="given")
options = {"trainable": False, "collections": [], "validate_shape": False, "use_resource": False}
held, idle = [tf.Variable(given, name=name, **options) for name in ("held", "idle")]
x = tf.reshape(tf.slice(held, [0, 0], [4, 3]), [4, 3], name="x")
"""
    text = HERE.replace('x = tf.placeholder(tf.float32, [4, 3], name="x")\n', held)
    text = text.replace(
        "session.run(initialize)", "session.run([initialize, held.initializer], {given: [[1, 0, 1]] * 6})"
    )
    script = tmp_path / "program.py"
    script.write_text(text.replace(", {x: [[step, 0, 1]] * 4}", ""))
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    found = checkpoint.read_checkpoint(str(tmp_path / "run" / "model.ckpt"))
    assert found["held"].tolist() == [[1, 0, 1]] * 6 and set(found) == {"held", "m/w"}
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    assert RecordedSteps(str(tmp_path / "run"), plan).step(2)["after/held"].tolist() == [[1, 0, 1]] * 6


MIRRORED = """
import sys
import numpy as np
import tensorflow as tf
import recorder
recorder.start(sys.argv[1], steps=3)
v1 = tf.compat.v1

def model(features, labels, mode):
    loss = tf.reduce_mean(tf.square(v1.layers.dense(features["x"], 1, name="out") - labels))
    train = v1.train.MomentumOptimizer(0.1, 0.5).minimize(loss, v1.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def batches():
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, x[:, :1])).repeat().batch(2)

reduction = tf.distribute.ReductionToOneDevice()
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], cross_device_ops=reduction)
session = v1.ConfigProto(device_count={"CPU": 2})
config = tf.estimator.RunConfig(model_dir="model", train_distribute=strategy, session_config=session)
tf.estimator.Estimator(model, config=config).train(batches, steps=4)
"""


def test_a_mirrored_strategy_of_1_x_is_recorded_with_all_copies_of_its_variables(tmp_path, legacy_python):
    script = tmp_path / "program.py"
    script.write_text(MIRRORED)
    run = run_script(legacy_python, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    start = checkpoint.read_checkpoint(str(tmp_path / "run" / "model.ckpt"))
    assert {"out/kernel", "out/kernel/replica_1", "out/kernel/Momentum/replica_1"} <= set(start)
    lift_graph(str(tmp_path / "run" / "graph.meta"), str(tmp_path / "lifted"), str(tmp_path / "run" / "model.ckpt"))
    steps = RecordedSteps(str(tmp_path / "run"), registry.get(str(tmp_path / "lifted")).plan)
    after = steps.step(2)
    assert len(steps) == 3 and np.array_equal(after["after/out/kernel"], after["after/out/kernel/replica_1"])


BY_HAND = (
    HERE.replace(
        "train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(grads), w)])",
        """m = tf.get_variable("momentum", [3, 2], initializer=tf.zeros_initializer(), trainable=False)
speed = tf.assign(m, 0.5 * m + tf.add_n(grads))
train = tf.assign_sub(w, 0.5 * speed, name="GradientDescent").op
clip = tf.assign(w, tf.clip_by_value(w, -64.0, 64.0))
look = tf.assign(tf.get_variable("seen", [3, 2], trainable=False), tf.add_n(grads))""",
    )
    .replace("        answer", "        session.run([clip, look], {x: [[9, 9, 9]] * 4})\n        answer")
    .replace("steps=3", "steps=6")
)


def test_an_optimizer_that_was_written_by_hand_is_recorded(tmp_path):
    """Weights that assignments set, in steps of which one clips them alone; looking at gradients is no step."""
    script = tmp_path / "program.py"
    script.write_text(BY_HAND)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    steps = RecordedSteps(str(tmp_path / "run"), plan)
    assert len(steps) == 3 and len(steps.about["steps"]) == 6
    assert steps.tensor(0, "AddN:0").tolist() == [[0, 0], [0, 0], [8, 8]]
    assert steps.step(0)["after/m/w"].tolist() == [[1, 1], [1, 1], [-3, -3]]
    assert steps.step(0)["after/momentum"].tolist() == [[0, 0], [0, 0], [8, 8]]


ADDED_UP = HERE.replace(
    "train = ",
    """kept = tf.get_variable("kept", initializer=tf.zeros([3, 2]), trainable=False)
add, forget = kept.assign_add(grads[0] + grads[1]), kept.assign(tf.zeros([3, 2]))
grads = [kept / 2.0]
train = """,
).replace(
    "        answer", "        session.run(forget)\n        session.run(add, {x: [[step, 0, 1]] * 4})\n        answer"
)


@pytest.mark.parametrize("applied", ["kept / 2.0", "0.5 * (kept + grads[0] + grads[1])"])
def test_runs_that_add_up_gradients_for_another_and_set_them_back_are_steps(applied, tmp_path):
    """The run that applies the sum may add its own gradients first."""
    script = tmp_path / "program.py"
    script.write_text(ADDED_UP.replace("kept / 2.0", applied))
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    steps = json.loads((tmp_path / "run" / "recording.json").read_text())["steps"]
    assert [len(targets) for targets in steps] == [1, 1, 2]
    assert steps[0][0].startswith("Assign") and steps[1][0].startswith("AssignAdd") and "GradientDescent" in steps[2]


def test_a_run_that_sets_the_sum_in_a_branch_is_a_step(tmp_path):
    """The first run of a period sets what the second one adds its own gradients to."""
    text = ADDED_UP.replace("tf.disable_v2_behavior()", "tf.disable_v2_behavior(); tf.disable_control_flow_v2()")
    text = text.replace("trainable=False)\n", 'trainable=False)\nflag = tf.get_variable("flag", [], trainable=False)\n')
    text = text.replace("kept.assign_add(grads[0] + grads[1])", "flag.assign(1.0)")
    text = text.replace(
        "add, forget",
        """own = grads[0] + grads[1]
total = tf.cond(flag < 0.5, lambda: kept.assign(own), lambda: kept + own)
with tf.control_dependencies([total]):
    add = flag.assign(1.0)
_, forget""",
    ).replace("[kept / 2.0]", "[total / 2.0]")
    script = tmp_path / "program.py"
    script.write_text(text.replace("        session.run(forget)\n", ""))
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    steps = json.loads((tmp_path / "run" / "recording.json").read_text())["steps"]
    assert [len(targets) for targets in steps] == [1, 2, 1] and "GradientDescent" in steps[1]


def test_variables_in_no_collection_that_only_later_runs_use_are_in_the_checkpoint(tmp_path):
    """The first run sets a sum of gradients back, and the examples of the next one are kept in a variable."""
    held = """held = tf.Variable(tf.ones([4, 3]), name="held", trainable=False, collections=[], use_resource=False)
x = tf.identity(held, name="x")
"""
    text = ADDED_UP.replace('x = tf.placeholder(tf.float32, [4, 3], name="x")\n', held)
    text = text.replace(", {x: [[step, 0, 1]] * 4}", "").replace(
        "run(initialize)", "run([initialize, held.initializer])"
    )
    script = tmp_path / "program.py"
    script.write_text(text)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    found = checkpoint.read_checkpoint(str(tmp_path / "run" / "model.ckpt"))
    assert found["held"].tolist() == [[1, 1, 1]] * 4 and set(found) == {"held", "kept", "m/w"}


def test_a_run_that_looks_at_gradients_alone_is_no_step(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(BY_HAND.replace("[clip, look]", "[look]"))
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "run" / "recording.json").read_text())["steps"] == [["GradientDescent", "m/w"]] * 5


FED_PARTS = (
    HERE.replace(
        "grads = []",
        """parts = (tf.int64, [None, 2]), (tf.float32,), (tf.int64, [2])
rows = tf.SparseTensor(*[tf.placeholder(*part) for part in parts])
few = tf.IndexedSlices(tf.placeholder(tf.float32, [1, 3], name="few"), tf.placeholder(tf.int32, [1], name="few_rows"))
x += tf.sparse_tensor_to_dense(rows) + tf.scatter_nd(few.indices[:, None], few.values, [4, 3])
state = collections.namedtuple("State", "c h")(tf.placeholder(tf.float32, name="c"), tf.placeholder(tf.float32))
x += state.c + state.h
grads = []""",
    )
    .replace(
        "{x: [[step, 0, 1]] * 4}",
        """{
            "x:0": [[step, 0, 1]] * 4, state: (4.0, 8.0), few: ([[16, 16, 16]], [3]),
            rows: tf.SparseTensorValue([[1, 2]], [32.0], [4, 3])}""",
    )
    .replace("import sys", "import collections\nimport sys")
)


CALLABLE = HERE.replace(
    "    for step",
    """    import numpy
    from tensorflow.core.protobuf import config_pb2
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=["tower_0/m/loss:0"], target=[train.name])
    run = session._make_callable_from_options(options)
    for step""",
).replace('session.run({"w": "m/w:0", "op": train}, {x: [[step, 0, 1]] * 4})', "run(numpy.float32([[step, 0, 1]] * 4))")


def test_steps_that_are_run_by_a_callable_are_recorded(tmp_path):
    """As Keras runs them."""
    script = tmp_path / "program.py"
    script.write_text(CALLABLE.replace("sorted(answer)", "answer[0].shape, len(answer)"))
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("() 1")
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    steps = RecordedSteps(str(tmp_path / "run"), plan)
    assert len(steps) == 3 and steps.tensor(1, "x:0").tolist() == [[1, 0, 1]] * 4


FED_HANDLE = HERE.replace(
    "recorder.start",
    """numbers = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensors([[1.0, 0, 1]] * 4).repeat())
handle = tf.placeholder(tf.string, [])
train = tf.group(train, tf.compat.v1.data.Iterator.from_string_handle(handle, tf.float32).get_next())
recorder.start""",
).replace("1]] * 4})", "1]] * 4, handle: session.run(numbers.string_handle())})")


def test_texts_that_are_fed_are_not_recorded(tmp_path):
    """The handle of an iterator, by which a program goes from training to validation data."""
    script = tmp_path / "program.py"
    script.write_text(FED_HANDLE)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "group_deps", "effects": ()})]})
    step = RecordedSteps(str(tmp_path / "run"), plan).step(2)
    assert step["tensors/x:0"].tolist() == [[2, 0, 1]] * 4 and "tensors/Placeholder:0" not in step
    with zipfile.ZipFile(tmp_path / "run" / "steps.zip") as archive:
        assert b"Placeholder:0" not in archive.read("00000.npz")


HASHED_WORDS = HERE.replace(
    'x = tf.placeholder(tf.float32, [4, 3], name="x")',
    'words = tf.placeholder(tf.string, [4, 3], name="words")\n'
    'letters = tf.string_split(["a b", "c"])\n'
    "few = tf.cast(tf.shape(letters.indices)[0], tf.float32)\n"
    'x = tf.cast(tf.strings.to_hash_bucket_fast(words, 8, name="hash"), tf.float32) + few',
).replace("{x: [[step, 0, 1]] * 4}", '{words: [["a", "b", "a"]] * 4}')


def test_the_numbers_of_texts_that_are_fed_are_recorded(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(HASHED_WORDS)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    step = RecordedSteps(str(tmp_path / "run"), plan).step(2)
    first, second, third = step["tensors/hash:0"][0].tolist()
    assert first == third != second and "tensors/words:0" not in step
    assert step["tensors/StringSplit/StringSplit:0"].tolist() == [[0, 0], [0, 1], [1, 0]]


def test_sparse_tensors_slices_and_tuples_may_be_fed(tmp_path):
    """As `Session.run` takes them: CTC labels, and the state of an LSTM."""
    script = tmp_path / "program.py"
    script.write_text(FED_PARTS)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = type("Plan", (), {"phases": [type("Phase", (), {"train_op": "GradientDescent", "effects": ()})]})
    step = RecordedSteps(str(tmp_path / "run"), plan).step(2)
    fed = {name: step["tensors/" + name + ":0"].tolist() for name in ("Placeholder", "Placeholder_1", "Placeholder_2")}
    assert fed == {"Placeholder": [[1, 2]], "Placeholder_1": [32], "Placeholder_2": [4, 3]}
    assert step["tensors/few:0"].tolist() == [[16] * 3] and step["tensors/few_rows:0"].tolist() == [3]
    assert step["tensors/c:0"] == 4 and step["tensors/Placeholder_3:0"] == 8
    assert step["tensors/x:0"].tolist() == [[2, 0, 1]] * 4
    assert json.loads((tmp_path / "run" / "recording.json").read_text())["fed"] == []  # all are placeholders


QUEUED_SPARSE = """
import sys
import tensorflow as tf
import recorder
tf = tf.compat.v1
tf.disable_v2_behavior()
one = tf.SparseTensor(indices=[[0], [2]], values=[5.0, 7.0], dense_shape=[3])
labels = tf.train.batch([one], 2)
w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
loss = tf.reduce_sum(tf.sparse_tensor_to_dense(labels) * w)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
recorder.start(sys.argv[1], steps=2)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    threads = tf.train.start_queue_runners(session, tf.train.Coordinator())
    for step in range(2):
        session.run(train)
"""


def test_the_sparse_tensors_of_a_queue_are_recorded_and_lifted(tmp_path):
    """The queue holds places in a table of the old session, which no other session can look up."""
    script = tmp_path / "program.py"
    script.write_text(QUEUED_SPARSE)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    found = analyse_graph(read_graph_file(str(tmp_path / "run" / "graph.meta")), "queued")
    step = RecordedSteps(str(tmp_path / "run"), found.plan).step(1)
    assert step["tensors/batch/TakeManySparseFromTensorsMap:0"].tolist() == [[0, 0], [0, 2], [1, 0], [1, 2]]
    assert step["tensors/batch/TakeManySparseFromTensorsMap:1"].tolist() == [5, 7, 5, 7]
    assert not [origin for origin in found.plan.sources.values() if "dequeue" in origin]
    out = str(tmp_path / "lifted")
    lift_graph(str(tmp_path / "run" / "graph.meta"), out, str(tmp_path / "run" / "model.ckpt"))
    source = RecordedSource(Job(load_lift(out), 1), RecordedSteps(str(tmp_path / "run"), load_lift(out).plan))
    assert [5, 7, 5, 7] in [value.tolist() for value in source.shards(1)[0].values()]


@pytest.mark.parametrize("name", ["f_sum_clip_after", "e_slim_dropout"])
def test_a_true_old_environment_records_the_same_again(name, tmp_path, legacy_python):
    run = run_script(legacy_python, os.path.join(PROGRAMS, name + ".py"), tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    plan = registry.get(old_programs.lifted(name)).plan
    kept, new = (RecordedSteps(folder, plan) for folder in (old_programs.path(name), str(tmp_path / "run")))
    assert new.about["tensorflow"].startswith("1.15") and len(new) == len(kept) == 20
    for step in (0, 19):
        assert set(new.step(step)) == set(kept.step(step))
        for key, value in new.step(step).items():
            np.testing.assert_allclose(value, kept.step(step)[key], rtol=1e-3, atol=1e-5, err_msg=key)


def test_ancestors_follow_data_and_control():
    with recorder.tf.Graph().as_default():
        a, other = recorder.tf.constant(1.0, name="a"), recorder.tf.constant(2.0, name="other")
        with recorder.tf.control_dependencies([other]):
            b = recorder.tf.identity(a, name="b")
        recorder.tf.identity(b, name="after")
        assert [op.name for op in recorder._ancestors([b.op])] == ["a", "b", "other"]


def test_a_folder_that_holds_a_recording_is_not_overwritten(tmp_path):
    (tmp_path / "steps.zip").write_bytes(b"")
    with pytest.raises(IOError, match="holds a recording already"):
        recorder.start(str(tmp_path))


STATE = (
    HERE.replace("matmul(part, w)", "matmul(part + state, w)")
    .replace("        w = ", "        state = tf.zeros([2, 3], name='state')\n        w = ")
    .replace("        w = ", "        last = tf.tanh(state + part, name='last')\n        w = ")
    .replace('{"w": "m/w:0", "op": train}, {', '{"last": last, "op": train}, {state: answer["last"], ')
    .replace("    session.run(initialize)", "    session.run(initialize)\n    answer = {'last': [[0, 0, 0]] * 2}")
)


def test_what_the_program_fetches_is_recorded_since_it_may_feed_it_back(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(STATE)
    run = run_script(sys.executable, script, tmp_path / "run", tmp_path)
    assert run.returncode == 0, run.stderr
    saved = read_graph_file(str(tmp_path / "run" / "graph.meta"))
    alone = analyse_graph(saved, "x", carry={})
    assert alone.fed == [FedTensor("tower_1/m/state:0", "tower_1/m/last:0", shape=(2, 3))]
    assert any("--carry=tower_1/m/state:0=tower_1/m/last:0" in note for note in alone.plan.notes)
    carried = analyse_graph(saved, "x")
    assert carried.fed == []
    assert [variable.name for variable in carried.plan.variables if variable.role == "state"] == ["tower_1/m/state"]
    assert carried.plan.notes == [
        "tower_1/m/state:0 gets what tower_1/m/last:0 was in the step before, as in the recording beside the graph; "
        "--carry sets other pairs"
    ]
    assert json.loads((tmp_path / "run" / "recording.json").read_text())["fed"] == ["tower_1/m/state:0"]
