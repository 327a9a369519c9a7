"""Moving averages that are trained, keep little of themselves, or never move, beside usual ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.averages import moving
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, share, trained=False, resource=False, branch=False):
    """The hazards of a step after which "teacher" keeps a share of itself and takes the rest of "w"."""

    def build():
        w, teacher = (v1.get_variable(name, [4, 3], use_resource=resource) for name in ("w", "teacher"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        loss = tf.reduce_mean(tf.square(x @ w - x @ teacher))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        update = optimizer.minimize(loss, var_list=[w, teacher] if trained else [w])
        with tf.control_dependencies([update]):
            if share is None:
                moved = v1.assign(teacher, w)
            else:
                moved = v1.assign_sub(teacher, (teacher - w) * (tf.constant(1.0) - tf.constant(share)))
        tf.group(moved, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "teacher"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard for hazard in check(whole)]


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("trained, by, count", [(True, "step", 1), (False, "step", 0), (True, "data", 0)])
def test_a_teacher_of_a_growing_share(resource, trained, by, count):
    """As min(1 - 1 / (step + 1), 0.99) of a mean teacher; a share that data give is another update."""

    def build():
        w, teacher = (v1.get_variable(name, [4, 3], use_resource=resource) for name in ("w", "teacher"))
        x, step = v1.placeholder(tf.float32, [8, 4], "x"), v1.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(x @ w - x @ teacher))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        update = optimizer.minimize(loss, step, [w, teacher] if trained else [w])
        grown = 1.0 - 1.0 / (tf.cast(step, tf.float32) + 1.0)
        share = tf.minimum(grown if by == "step" else tf.reduce_mean(x), 0.99)
        with tf.control_dependencies([update]):
            tf.group(v1.assign(teacher, share * teacher + (1.0 - share) * w), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "teacher"]))
    whole.members = whole.graph.ancestors(["train"])
    assert [hazard.id for hazard in moving.averages_that_are_trained(whole)] == ["AVERAGE_TRAINED"] * count


@pytest.mark.parametrize("resource", [True, False])
def test_a_teacher_that_is_trained_and_averaged_is_named(resource):
    (hazard,) = found(moving.averages_that_are_trained, 0.75, trained=True, resource=resource)
    assert hazard.id == "AVERAGE_TRAINED" and "teacher follows w" in hazard.description


@pytest.mark.parametrize("share, trained", [(0.75, False), (None, True)])
def test_a_teacher_that_is_averaged_alone_or_set_is_not(share, trained):
    assert found(moving.averages_that_are_trained, share, trained) == []


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("share, count", [(0.0625, 1), (0.25, 1), (0.5, 0), (0.9375, 0), (None, 0)])
def test_an_average_that_keeps_little_is_named(share, count, resource):
    hazards = found(moving.averages_that_keep_little, share, resource=resource)
    assert [hazard.id for hazard in hazards] == ["AVERAGE_KEEPS_LITTLE"] * count


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("share, count", [(1.0, 1), (0.5, 0), (None, 0)])
def test_an_average_that_never_moves_is_named(share, count, resource):
    hazards = found(moving.averages_that_never_move, share, resource=resource)
    assert [hazard.id for hazard in hazards] == ["AVERAGE_NEVER_MOVES"] * count


@pytest.mark.parametrize("decay, count", [(0.0001, 1), (0.9999, 0)])
def test_an_average_whose_decay_grows_to_little_is_named(decay, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.get_variable("step", [], use_resource=False, trainable=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w], global_step=step)
        with tf.control_dependencies([update]):
            tf.group(v1.train.ExponentialMovingAverage(decay, step).apply([w]), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    hazards = list(moving.averages_that_keep_little(whole))
    assert [hazard.id for hazard in hazards] == ["AVERAGE_KEEPS_LITTLE"] * count


def order_of(make_train, resource, num_updates):
    """The hazards of a step; `make_train` gets functions that update w, and that move its average."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=resource)
        step = v1.get_variable("step", [], use_resource=False, trainable=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        average = v1.train.ExponentialMovingAverage(0.75, step if num_updates else None)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        make_train(lambda: optimizer.minimize(loss, var_list=[w], name="update"), lambda: average.apply([w]))

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = set(whole.graph.nodes)
    return [hazard.id for hazard in moving.averages_before_updates(whole)]


def one_behind_the_other(first, second):
    with tf.control_dependencies([first()]):
        second()


@pytest.mark.parametrize("resource, num_updates", [(True, False), (False, True), (False, False)])
def test_an_update_that_waits_for_the_average_is_named(resource, num_updates):
    ids = order_of(lambda update, move: one_behind_the_other(move, update), resource, num_updates)
    assert ids == ["AVERAGE_BEFORE_UPDATE"]


@pytest.mark.parametrize("make_train", [one_behind_the_other, lambda update, move: (update(), move())])
def test_an_average_behind_the_update_or_in_no_order_is_not(make_train):
    assert order_of(make_train, False, True) == []


def test_statistics_that_an_update_waits_for_are_no_averages_of_weights():
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        mean = v1.get_variable("mean", [3], use_resource=False, trainable=False)
        y = v1.placeholder(tf.float32, [8, 4], "x") @ w
        with tf.control_dependencies([v1.assign_sub(mean, (mean - tf.reduce_mean(y, 0)) * 0.25)]):
            v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(y)), var_list=[w])

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = set(whole.graph.nodes)
    assert not list(moving.averages_before_updates(whole))


@pytest.mark.parametrize("share, source, count", [(0.01, "w", 1), (0.99, "w", 0), (0.0, "w", 0), (0.01, "other", 0)])
def test_a_target_network_that_a_run_of_its_own_moves(share, source, count):
    """As the soft update of Q-learning; what follows no trained weight in another run is left alone."""

    def build():
        made = {name: v1.get_variable(name, [4, 3], use_resource=False) for name in ("w", "target", "other")}
        x = v1.placeholder(tf.float32, [8, 4], "x")
        loss = tf.reduce_mean(tf.square(x @ made["w"] - tf.stop_gradient(x @ made["target"])))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[made["w"]], name="train")
        v1.assign(made["target"], share * made["target"] + (1.0 - share) * made[source], name="sync")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "target", "other"]))
    whole.members = whole.graph.ancestors(["train"])
    assert len(list(moving.averages_that_keep_little(whole))) == count


@pytest.mark.parametrize("averaged", [True, False])
def test_copies_that_are_set_to_their_mean_are_no_moving_averages(averaged):
    def build():
        x = v1.placeholder(tf.float32, [8, 4], "x")
        copies = [v1.get_variable(name, [4, 3], use_resource=False) for name in ("v", "w")]
        losses = [tf.reduce_mean(tf.square(x @ copy)) for copy in copies]
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.add_n(losses))
        with tf.control_dependencies([update]):
            mean = (copies[0].read_value() + copies[1].read_value()) / 2.0
            tf.group(*[copy.assign(mean) for copy in (copies if averaged else copies[:1])], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["v", "w"]))
    whole.members = whole.graph.ancestors(["train"])
    ids = [hazard.id for hazard in moving.averages_that_are_trained(whole)]
    assert ids == ([] if averaged else ["AVERAGE_TRAINED"])


def moved(check, move):
    """The hazards of a step that moves "kept", a variable of 9 rows that nothing trains, by results and labels."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        kept = v1.get_variable("kept", [9, 3], use_resource=False, trainable=False)
        results, labels = v1.placeholder(tf.float32, [8, 4], "x") @ w, v1.placeholder(tf.int32, [8], "y")
        loss = tf.reduce_mean(tf.square(results - tf.gather(kept, labels)))
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w])
        tf.group(update, move(kept, labels, results), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard.id for hazard in check(whole)]


def slow_copy(kept, labels, results):
    """A slow copy that goes towards a weight of its shape in some of the steps."""
    count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
    weight = v1.get_variable("weight", [9, 3], use_resource=False)
    share = 0.5 * tf.cast(tf.equal(count % 5, 0), tf.float32)
    return v1.assign(kept, kept + share * (weight - kept))


def from_results(kept, labels, results):
    return 0.5 * (tf.gather(kept, labels) - results)


def by_counts(kept, labels, results):
    """What moves the centers of a center loss, divided by how often each class is in the batch."""
    _, places, counts = tf.unique_with_counts(labels)
    times = tf.cast(1 + tf.gather(counts, places), tf.float32)
    return 0.5 * ((tf.gather(kept, labels) - results) / times[:, None])


@pytest.mark.parametrize(
    "move, count",
    [
        (lambda kept, y, h: v1.scatter_add(kept, y, by_counts(kept, y, h)), 1),
        (lambda kept, y, h: v1.scatter_sub(kept, y, by_counts(kept, y, h)), 0),
        (lambda kept, y, h: v1.scatter_add(kept, y, from_results(kept, y, h)), 1),
        (lambda kept, y, h: v1.scatter_sub(kept, y, from_results(kept, y, h)), 0),
        (lambda kept, y, h: v1.scatter_sub(kept, y, -from_results(kept, y, h)), 1),
        (lambda kept, y, h: v1.scatter_add(kept, y, h), 0),  # a sum
        (lambda kept, y, h: v1.assign_add(kept, 0.1 * (kept - tf.reduce_mean(h, 0))), 1),
        (lambda kept, y, h: v1.assign_sub(kept, 0.1 * (kept - tf.reduce_mean(h, 0))), 0),
        (lambda kept, y, h: v1.assign(kept, 1.1 * kept), 0),  # no data
    ],
)
def test_an_average_that_moves_away_is_named(move, count):
    assert moved(moving.averages_that_move_away, move) == ["AVERAGE_MOVES_AWAY"] * count


@pytest.mark.parametrize("kind", ["GradientDescent", "Adam"])
@pytest.mark.parametrize("trained, count", [(True, 1), (False, 0)])
def test_centers_that_are_trained_besides_are_named(trained, count, kind):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        centers = v1.get_variable("centers", [9, 3], use_resource=False, trainable=trained)
        results, labels = v1.placeholder(tf.float32, [8, 4], "x") @ w, v1.placeholder(tf.int32, [8], "y")
        loss = tf.reduce_mean(tf.square(results - tf.gather(centers, labels)))
        with tf.control_dependencies([v1.scatter_sub(centers, labels, by_counts(centers, labels, results))]):
            getattr(v1.train, f"{kind}Optimizer")(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", *["centers"] * trained]))
    whole.members = whole.graph.ancestors(["train"])
    assert [hazard.id for hazard in moving.averages_that_are_trained(whole)] == ["AVERAGE_TRAINED"] * count


@pytest.mark.parametrize(
    "move, count",
    [
        (lambda kept, y, h: v1.assign(kept, 0.75 * kept + 0.25 * kept), 1),
        (lambda kept, y, h: v1.assign(kept, 0.75 * kept), 0),
        (lambda kept, y, h: v1.assign(kept, tf.identity(kept)), 0),
        (lambda kept, y, h: v1.assign(kept, kept + 2.0), 0),
        (slow_copy, 0),
    ],
)
def test_an_average_of_itself_is_named(move, count):
    assert moved(moving.averages_that_never_move, move) == ["AVERAGE_NEVER_MOVES"] * count


@pytest.mark.parametrize("times, in_turn, count", [(2, False, 1), (1, False, 0), (2, True, 0)])
def test_an_average_that_one_run_moves_twice_is_named(times, in_turn, count):
    def build():
        w, kept = (v1.get_variable(name, [4, 3], trainable=name == "w", use_resource=False) for name in ("w", "kept"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x @ w)), var_list=[w], name="update")
        moves = [lambda share=share: v1.assign_sub(kept, share * (kept - w)) for share in (0.25, 0.25)[:times]]
        if in_turn:
            moved = [tf.cond(v1.placeholder(tf.bool, [], "even"), moves[0], moves[1])]
        else:
            moved = [move() for move in moves]
        with tf.control_dependencies([tf.compat.v1.get_default_graph().get_operation_by_name("update")]):
            tf.group(*moved, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    hazards = list(moving.averages_moved_twice(whole))
    assert [hazard.id for hazard in hazards] == ["AVERAGE_MOVED_TWICE"] * count


@pytest.mark.parametrize("raises, count", [(False, 1), (True, 0)])
def test_an_average_whose_count_stays_is_named(raises, count):
    def build():
        w, kept = (v1.get_variable(name, [4, 3], trainable=name == "w", use_resource=False) for name in ("w", "kept"))
        n = v1.get_variable("n", [], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w])
        with tf.control_dependencies([update]):
            moved = v1.assign(kept, (kept * n + w) / (n + 1.0))
        with tf.control_dependencies([moved]):
            tf.group(moved, *([v1.assign_add(n, 1.0)] if raises else []), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    hazards = list(moving.averages_whose_count_stays(whole))
    assert [hazard.id for hazard in hazards] == ["AVERAGE_COUNT_STAYS"] * count


@pytest.mark.parametrize("is_taken", [True, False])
def test_an_average_that_the_loss_takes_moves_before_it(is_taken):
    """As the encoder of keys of momentum contrast, whose new weights the step computes with."""

    def build():
        w, keys = (v1.get_variable(name, [4, 3], use_resource=False) for name in ("w", "keys"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        with tf.control_dependencies([v1.assign(keys, 0.75 * keys + 0.25 * w)]):
            wanted = x @ keys.read_value() if is_taken else tf.identity(fed_before)
            loss = tf.reduce_mean(tf.square(x @ w - tf.stop_gradient(wanted)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w], name="train")

    fed_before = [[1.0, 2.0, 3.0]]
    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    found = [hazard.id for hazard in moving.averages_before_updates(whole)]
    assert found == ([] if is_taken else ["AVERAGE_BEFORE_UPDATE"])
