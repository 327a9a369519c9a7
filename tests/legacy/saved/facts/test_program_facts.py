"""Facts of the small program of two towers, and texts for plans made by hand."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.program_facts import description_fields, program_facts
from legacy.saved.facts.whole_facts import device_rows
from tests.legacy.saved.graphs import graph_of, saved, traced
from tests.legacy.saved.programs import saved_two_towers

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def sections():
    saved = saved_two_towers()
    return program_facts(saved, analyse_graph(saved, "small"))


def by_topic(rows):
    return {row["what"]: row["is"] for row in rows}


def test_the_program_and_its_towers(sections):
    program, towers = by_topic(sections["program"]), by_topic(sections["towers"])
    assert program["train op"] == "train" and program["other ops that train"] == "none"
    assert program["settings fixed"] == "none" and program["nodes"].endswith("in a training step")
    assert towers == {
        "number": "2",
        "told apart by": "device /gpu:k",
        "batch of one": "4",
        "replicas of a port": "any number",
        "symmetry": "equal, op by op",
    }


def test_reads_of_what_the_train_op_updates_train_nothing_else():
    """What `assign` of a resource variable returns, as Keras' optimizers leave it."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        (gradient,) = tf.gradients(tf.reduce_sum(v1.placeholder(tf.float32, [4, 2], "x") * w), [w])
        tf.group(w.assign(w - 0.5 * gradient), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    program = by_topic(program_facts(graph, analyse_graph(graph, "small"))["program"])
    assert program["train op"] == "train" and program["other ops that train"] == "none"


@pytest.mark.parametrize("further, others", [(False, "none"), (True, "train_c")])
def test_gradients_that_wait_for_another_optimizer_train_nothing_else(further, others):
    """Gradients that no op takes, behind the update that the second optimizer was made to wait for."""

    def build():
        x = v1.placeholder(tf.float32, [4, 2], "x")
        w, u, c = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in ("w", "u", "c"))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        first = optimizer.minimize(tf.reduce_sum(x * w), var_list=[w], name="train_a")
        with tf.control_dependencies([first]):
            optimizer.minimize(tf.reduce_sum(x * u) * tf.reduce_mean(x), var_list=[u], name="train_b")
        if further:
            optimizer.minimize(tf.reduce_sum(x * c), var_list=[c], name="train_c")

    graph = saved(traced(build), trainable_variables=["w", "u", "c"])
    program = by_topic(program_facts(graph, analyse_graph(graph, "small", train_op=["train_b"]))["program"])
    assert (program["train op"], program["other ops that train"]) == ("train_b", others)


@pytest.mark.parametrize(
    "train_op, named, others",
    [
        ("train+train_b", "train_together: train, train_b, in one run", "none"),
        ("train", "train", "train_b"),
        ("train,train_b", "train, then train_b", "none"),
    ],
)
def test_train_ops_of_one_run_are_named_and_are_no_others(train_op, named, others):
    def build():
        x = v1.placeholder(tf.float32, [4, 2], "x")
        for name in ("train", "train_b"):
            w = v1.get_variable(f"w_{name}", initializer=[1.0, 2.0], use_resource=False)
            v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(x * w), var_list=[w], name=name)

    graph = saved(traced(build), trainable_variables=["w_train", "w_train_b"])
    found = analyse_graph(graph, "small", train_op=train_op.split(","))
    program = by_topic(program_facts(graph, found)["program"])
    assert (program["train op"], program["other ops that train"]) == (named, others)


@pytest.mark.parametrize("made_at_once, batch", [(True, "-"), (False, "its inputs take any")])
def test_examples_that_are_constants_are_no_batch_of_any_size(made_at_once, batch):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = tf.constant([[3.0, 4.0]]) if made_at_once else v1.placeholder(tf.float32, [None, 2], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(x * w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    assert by_topic(program_facts(graph, analyse_graph(graph, "small"))["towers"])["batch of one"] == batch


def one_tower_of_two(x, parts, labels):
    """The sections of two losses that one tower differentiates, of the two parts of x and of labels."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        batch, targets = v1.placeholder(tf.float32, x, "x"), v1.placeholder(tf.float32, labels, "y")
        one, other = (tf.reduce_mean(tf.square(part * w)) * tf.reduce_sum(targets) for part in parts(batch))
        losses = [one, one * other]  # what uses another's results is no tower
        gradients = [tf.gradients(loss, [w])[0] for loss in losses]
        tf.raw_ops.ApplyGradientDescent(var=w.op.outputs[0], alpha=0.5, delta=tf.add_n(gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return program_facts(graph, analyse_graph(graph, "small", ["train"]))


@pytest.mark.parametrize(
    "parts, batch",
    [
        (lambda x: (x[:3], x[3:6]), "6, by the old graph's slices; its inputs take any"),
        (lambda x: (x[:3], x[3:5]), "its inputs take any"),  # parts of two sizes
        (lambda x: (x[:3], x[2:5]), "its inputs take any"),  # the parts overlap
    ],
)
def test_one_tower_that_takes_slices_of_equal_length_has_the_examples_of_all(parts, batch):
    towers = by_topic(one_tower_of_two([None, 2], parts, [None])["towers"])
    assert towers["number"] == "1" and towers["batch of one"] == batch


def test_several_losses_of_one_tower_are_named_beside_their_gradients():
    (row,) = one_tower_of_two([None, 2], lambda x: (x[:3], x[3:6]), [None])["combining"]
    assert row["are"] == "one tower alone, the gradients of 2 losses; in a port of several replicas: sum"


def test_a_part_of_each_tower_with_other_rows_than_examples_is_its_own():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x, other = v1.placeholder(tf.float32, [3, 2], "x"), v1.placeholder(tf.float32, [3], "other")
                steps = v1.placeholder(tf.float32, [12], "steps")
                loss = tf.reduce_sum(tf.square(x * w)) * tf.reduce_sum(other) * tf.reduce_sum(steps)
                gradients.append(tf.gradients(loss, [w])[0])
        tf.raw_ops.ApplyGradientDescent(var=w.op.outputs[0], alpha=0.5, delta=tf.add_n(gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    rows = program_facts(graph, analyse_graph(graph, "small", ["train"]))["inputs"]
    kinds = {row["name"]: row["kind"] for row in rows}
    assert kinds == {"tower_0/x": "batch", "tower_0/other": "batch", "tower_0/steps": "each tower's own"}


def test_inputs_and_random_numbers(sections):
    (row,) = sections["inputs"]
    assert row["name"] == "x0" and row["shape"] == "[4, 2]" and row["enters by"] == "Placeholder x0:0"
    assert row["tensors"] == "x0:0, x1:0"
    (noise,) = sections["random numbers"]
    assert (noise["op"], noise["of"], noise["in a port"]) == ("RandomUniform", "tower", "keyed")


def test_variables_with_bytes_and_roles(sections):
    rows = {row["name"]: row for row in sections["variables"]}
    assert (rows["w"]["bytes"], rows["w"]["role"], rows["w"]["kind"]) == (8, "weight", "reference")
    assert rows["w/ExponentialMovingAverage"]["role"] == "average of w" and rows["seen"]["bytes"] == 4


@pytest.mark.parametrize(
    "open_shape, row",
    [(True, ("unknown", "-", "not changed by a step")), (False, ("[]", 4, "not changed by a step"))],
)
def test_a_variable_that_no_step_changes_is_no_counter(open_shape, row):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        given = v1.placeholder(tf.int32, None if open_shape else [], "given")
        rows = v1.Variable(
            given, trainable=False, validate_shape=False, collections=[], use_resource=False, name="rows"
        )
        x = v1.placeholder(tf.float32, [2], "x") + tf.cast(tf.reduce_sum(rows), tf.float32)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(x * w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    if not open_shape:
        graph.graph.nodes["rows"].attr["shape"].shape.CopyFrom(tf.TensorShape([]).as_proto())
    rows = program_facts(graph, analyse_graph(graph, "small"))["variables"]
    (found,) = [found for found in rows if found["name"] == "rows"]
    assert (found["shape"], found["bytes"], found["role"]) == row


def test_updates_of_statistics_and_averages(sections):
    (statistic,), (average,) = sections["statistics"], sections["moving averages"]
    assert (statistic["variable"], statistic["changed by"], statistic["op"]) == ("seen", "tower 0", "Assign")
    assert (average["of"], average["changed by"]) == ("w", "once, for all towers")


def test_devices_by_number_of_ops(sections):
    counts = [row["ops"] for row in sections["devices"]]
    assert counts == sorted(counts, reverse=True) and len(counts) == 3
    assert "Const" not in "".join(row["mostly"] for row in sections["devices"])


def test_a_device_has_one_row_in_whatever_way_it_is_spelt():
    graph = graph_of("a = Const()\nb = Const()\nc = Const()\nd = Const()")
    for name, device in zip("abcd", ("/gpu:0", "/device:GPU:0", "/GPU:0", "/device:GPU:1")):
        graph.nodes[name].device = device
    assert [(row["device"], row["ops"]) for row in device_rows(graph)] == [("/device:GPU:0", 3), ("/device:GPU:1", 1)]


def test_an_input_counts_as_the_op_that_read_it():
    graph = graph_of("x = Placeholder() @ /cpu:0\nswitch = Placeholder() @ /cpu:0\ny = Square(x) @ /gpu:0")
    rows = device_rows(graph, {"x": ("batch:0", "QueueDequeueManyV2")})
    assert [(row["device"], row["mostly"]) for row in rows] == [
        ("/device:CPU:0", "QueueDequeueManyV2, Placeholder"),
        ("/device:GPU:0", "Square"),
    ]


def test_a_lifts_description(sections):
    fields = description_fields(sections)
    assert fields["inputs"] == "x0, float32, [4, 2]" and fields["clip"] == "no"
    assert fields["combine"] == "mean" and fields["learning_rate"] == "0.5, always"
    assert fields["statistics"] == "seen, tower 0" and fields["moving_average"] == "w/ExponentialMovingAverage, w"
    assert fields["watch"] == [row["what"] for row in sections["watch"]]


def test_an_empty_section_is_described_as_none(sections):
    assert description_fields(dict(sections, inputs=[]))["inputs"] == "none"


def roles(build):
    """{variable: its role} of a program with the train op "train"."""
    graph = saved(traced(build), trainable_variables=["w"])
    rows = program_facts(graph, analyse_graph(graph, "small", ["add", "train"]))["variables"]
    return {row["name"]: row["role"] for row in rows}


def test_roles_of_variables_that_hold_no_weight():
    def build():
        w, total = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in ("w", "total"))
        count = v1.get_variable("count", initializer=0, use_resource=False)
        rate = v1.get_variable("rate", initializer=0.5, use_resource=False)
        scale = v1.get_variable("scale", initializer=[3.0, 4.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        (gradient,) = tf.gradients(tf.reduce_sum(x * w * scale, name="loss"), [w])
        tf.group(v1.assign_add(total, gradient), v1.assign_add(count, 1), name="add")
        slowness = v1.get_variable("slowness", initializer=0.5, use_resource=False)
        v1.train.MomentumOptimizer(rate, slowness).apply_gradients([(total / 2.0, w)], name="train")

    assert roles(build) == {
        "w": "weight",
        "total": "sum of gradients",
        "count": "step counter",
        "rate": "learning rate",
        "scale": "not changed by a step",
        "slowness": "momentum",
        "w/Momentum": "slot of w",
    }


def test_what_adds_up_losses_or_examples_is_no_step_counter():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        made = {name: v1.get_variable(name, initializer=0.0, use_resource=False) for name in ("total", "seen", "turns")}
        counts = {name: v1.get_variable(name, initializer=0, use_resource=False) for name in ("step", "rows")}
        x = v1.placeholder(tf.float32, [4, 2], "x")
        loss = tf.reduce_sum(x * w, name="loss")
        adds = [v1.assign_add(made["total"], loss), v1.assign_add(made["seen"], tf.cast(tf.size(x), tf.float32))]
        adds += [v1.assign_add(made["turns"], 1.0), v1.assign_add(counts["step"], 1)]
        adds += [v1.assign_add(counts["rows"], tf.shape(x)[0])]
        minimize = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
        tf.group(minimize, *adds, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    sections = program_facts(graph, analyse_graph(graph, "small", ["train"]))
    assert {row["variable"] for row in sections["step counters"]} == {"step", "turns", "rows"}
    assert {row["variable"] for row in sections["statistics"]} == {"total", "seen"}
    roles = {row["name"]: row["role"] for row in sections["variables"]}
    assert (roles["total"], roles["seen"], roles["step"]) == ("statistic", "statistic", "step counter")


def kinds(build):
    """{input: its kind} of a program of two towers that `build` makes of their weight and parts of x and y."""

    def program():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        center = v1.get_variable("center", initializer=[0.0, 0.0], use_resource=False, trainable=False)
        xs, ys = (tf.split(v1.placeholder(tf.float32, [4, 2], name), 2) for name in "xy")
        gradients = []
        for tower, x in enumerate(xs):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.sigmoid(x * w)), [w])
        train = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(build(tf.add_n(gradients) / 2.0, ys), w)])
        tf.group(train, v1.assign_add(center, ys[0][0] if build is plain else [1.0, 1.0]), name="train")

    graph = saved(traced(program), trainable_variables=["w"])
    return {row["name"]: row["kind"] for row in program_facts(graph, analyse_graph(graph, "m", ["train"]))["inputs"]}


def plain(gradient, ys):
    return gradient


def test_what_the_update_alone_takes_is_outside_the_towers():
    assert kinds(plain) == {"x": "batch", "y": "outside the towers"}
    noisy = kinds(lambda gradient, ys: gradient + v1.random_normal([2], name="noise"))
    assert noisy == {"x": "batch"}  # the update draws it


def test_what_a_tower_and_the_update_take_is_one_input():
    """As labels by which each tower moves the centers of its classes."""

    def program():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        centers = v1.get_variable("centers", initializer=[[0.0, 0.0]] * 3, use_resource=False, trainable=False)
        x, y = v1.placeholder(tf.float32, [4, 2], "x"), v1.placeholder(tf.int32, [4], "y")
        gradients, moves = [], []
        for tower, (part, labels) in enumerate(zip(tf.split(x, 2), tf.split(y, 2))):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                away = tf.sigmoid(part * w) - tf.gather(centers, labels)
                moves.append(v1.scatter_add(centers, labels, 0.5 * away))
                gradients += tf.gradients(tf.reduce_sum(away**2), [w])
        train = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)])
        tf.group(train, *moves, name="train")

    graph = saved(traced(program), trainable_variables=["w"])
    rows = program_facts(graph, analyse_graph(graph, "m", ["train"]))["inputs"]
    assert [(row["name"], row["kind"]) for row in rows] == [("x", "batch"), ("y", "batch")]
