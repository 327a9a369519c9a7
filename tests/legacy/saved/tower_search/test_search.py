import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.search import find_towers
from tests.legacy.saved.graphs import saved, traced, two_towers

v1 = tf.compat.v1


def towers_of(build, variables=("w",), update="train"):
    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs(update) if tensor.node not in variables]
    return find_towers(graph, ImportedGraph(graph), variables, inputs)


def test_two_towers_on_two_devices_are_found():
    towers = towers_of(two_towers)
    assert (towers.count, towers.found_by) == (2, "device /gpu:k")
    assert towers.tower_of("tower_0/product") == 0 and towers.tower_of("tower_1/loss") == 1
    assert towers.is_common("x") and towers.is_common("halves")
    assert towers.is_shared("total") and towers.is_shared("train")
    assert towers.masks["w"] == 0  # a variable depends on no data


def layers():
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    x = v1.placeholder(tf.float32, [4, 2], name="x")
    for layer in range(2):
        with tf.device(f"/gpu:{layer}"), tf.name_scope(f"layer_{layer}"):
            x = tf.tanh(tf.multiply(x, w))
    gradient = tf.gradients(tf.reduce_sum(x), [w])[0]
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=gradient, name="train")


def test_layers_on_two_devices_are_one_tower():
    towers = towers_of(layers)
    assert (towers.count, towers.found_by) == (1, "there is one")
    assert towers.tower_of("layer_0/Tanh") == 0 and towers.slices == set()
    assert towers.doubt.endswith("is made from what tower 0 computes: layer_1/Mul takes layer_0/Tanh:0")
    assert towers_of(two_towers).doubt == ""


def summed_on_the_first_device(penalized, of_towers=()):
    """The losses of two towers are added up on the first GPU, perhaps with a penalty, whose gradient is added there.

    The losses `of_towers` have a penalty of their own.
    """

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        value, losses = tf.identity(w), []
        for tower, half in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)):
            with tf.device(f"/gpu:{tower}"):
                loss = tf.reduce_sum(tf.tanh(tf.multiply(half, value)), name="loss")
                losses.append(loss + tf.nn.l2_loss(value) if tower in of_towers else loss)
        with tf.device("/gpu:0"):
            total = tf.divide(tf.add_n(losses, "sum"), 2.0, "mean")
            total = total + tf.nn.l2_loss(value) if penalized else total
        gradient = v1.gradients(total, [value], colocate_gradients_with_ops=True)[0]
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=gradient, name="train")

    return build


def two_heads_with_joined_labels():
    """Two towers with two heads each; the losses of both heads are made of all towers' results, by ops with numbers."""
    w, v = (tf.raw_ops.VariableV2(shape=[3, 3], dtype=tf.float32, name=name) for name in "wv")
    x, y = v1.placeholder(tf.float32, [8, 3], name="x"), v1.placeholder(tf.int32, [8], name="y")
    heads: list[list[tf.Tensor]] = [[], []]
    labels = []
    for tower, (part, own) in enumerate(zip(tf.split(x, 2), tf.split(y, 2))):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
            hidden = tf.matmul(part, tf.identity(w))
            for _ in range(22):
                hidden = tf.tanh(hidden)
            heads[0].append(hidden)
            heads[1].append(tf.matmul(hidden, tf.identity(v)))
            labels.append(tf.one_hot(own, 3))
    losses = []
    for number, head in enumerate(heads):
        with v1.name_scope(f"entropy_{number}"):
            target = tf.stop_gradient(tf.concat(labels, 0))
            shifted = tf.concat(head, 0) - tf.reduce_max(tf.concat(head, 0), 1, keepdims=True)
            likelihood = tf.nn.log_softmax(tf.clip_by_value(tf.abs(shifted * 2.0) + 1.0, 0.5, 8.0))
            losses.append(-tf.reduce_mean(tf.reduce_sum(tf.exp(target) * likelihood, 1)))
    one, two = tf.gradients(tf.add_n(losses), [w, v])
    with tf.control_dependencies([tf.raw_ops.ApplyGradientDescent(var=v, alpha=0.5, delta=two, name="other")]):
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=one, name="train")


def test_losses_behind_all_layers_are_no_towers_beside_those_that_have_layers():
    graph = traced(two_heads_with_joined_labels)
    updates = [graph.inputs(name)[2] for name in ("train", "other")]
    assert find_towers(graph, ImportedGraph(graph), ["w", "v"], updates).found_by != "device /gpu:k"
    assert find_towers(graph, ImportedGraph(graph), ["w", "v"], updates, ["w", "v"]).found_by == "device /gpu:k"


def shares_of_all_masks():
    """Two towers on devices, whose gradients, in scopes with numbers, are of losses times their share of all masks."""
    w = tf.raw_ops.VariableV2(shape=[3, 2], dtype=tf.float32, name="w")
    losses, counts, gradients = [], [], []
    for tower in range(2):
        x, mask = v1.placeholder(tf.float32, [None, 3], f"x_{tower}"), v1.placeholder(tf.float32, [None], f"m_{tower}")
        with tf.device(f"/gpu:{tower}"), v1.name_scope("net"):
            counts.append(tf.reduce_sum(mask))
            losses.append(tf.reduce_sum(tf.reduce_sum(tf.tanh(tf.matmul(x, tf.identity(w))), 1) * mask) / counts[-1])
    total = tf.add_n(counts)
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(f"grad_{tower}"):
            share = losses[tower] * counts[tower]
            for _ in range(4):
                share = share / total
            gradients += tf.gradients(share, [w])
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")


def test_scopes_of_gradients_alone_are_no_towers_beside_devices_that_have_the_layers():
    """Of the scopes, which explain more nodes, the numbers of masks would be data that nobody gives."""
    graph = traced(shares_of_all_masks)
    updates = [graph.inputs("train")[2]]
    assert find_towers(graph, ImportedGraph(graph), ["w"], updates).found_by == "name scope grad(_k) k"
    found = find_towers(graph, ImportedGraph(graph), ["w"], updates, ["w"])
    assert found.found_by == "device /gpu:k" and found.tower_of("net/Sum") == 0


@pytest.mark.parametrize("penalized", [False, True])
def test_a_sum_of_all_losses_on_the_first_device_is_no_towers(penalized):
    graph = traced(summed_on_the_first_device(penalized))
    towers = find_towers(graph, ImportedGraph(graph), ["w"], [graph.inputs("train")[2]], ["w"])
    assert (towers.count, towers.found_by) == (2, "device /gpu:k")
    assert "sum" not in towers.labels and "mean" not in towers.labels and next(towers.leaks(graph), None) is None
    sums = [name for name in graph.nodes if name.startswith("gradients/") and graph.type(name) == "AddN"]
    assert len(sums) == 1 + penalized and all(towers.tower_of(name) is None for name in sums)


@pytest.mark.parametrize("of_towers, own", [((0, 1), [0, 1]), ((1,), [])])
def test_a_penalty_of_every_tower_is_its_own_and_one_of_a_single_tower_is_not(of_towers, own):
    graph = traced(summed_on_the_first_device(False, of_towers))
    towers = find_towers(graph, ImportedGraph(graph), ["w"], [graph.inputs("train")[2]], ["w"])
    sums = [name for name in graph.nodes if name.startswith("gradients/") and graph.type(name) == "AddN"]
    assert towers.count == 2
    assert [t for t in map(towers.tower_of, sums) if t is not None] == own


def test_each_tower_may_update_the_variables_by_itself():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
        for tower in range(2):
            with tf.name_scope(f"tower_{tower}"):
                gradient = tf.gradients(tf.reduce_sum(tf.multiply(halves[tower], w)), [w])[0]
                tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=gradient, name="train")

    graph = traced(build)
    inputs = [graph.inputs(f"tower_{tower}/train")[2] for tower in range(2)]
    assert find_towers(graph, ImportedGraph(graph), ["w"], inputs).count == 2
    assert find_towers(graph, ImportedGraph(graph), ["w"], inputs[:1]).count == 1  # the second one trains nothing


def test_towers_of_very_different_sizes_are_not_believed():
    def build(extra):
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
        results = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                y = tf.multiply(halves[tower], w, name=f"product{'ab'[tower]}")
                for i in range(extra * tower):
                    y = tf.negative(y, name=f"more{'abcdefghij'[i]}")
                results.append(y)
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add(*results)[0], name="train")

    assert towers_of(lambda: build(2)).count == 2  # 1 node against 3: more than 0.3
    assert towers_of(lambda: build(3)).count == 1  # 1 against 4


def test_data_that_are_constants_are_data_where_nothing_else_is():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        products = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                products.append(tf.tanh(tf.multiply(w, [1.0, 2.0], name="product")))
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add(*products), name="train")

    towers = towers_of(build)
    assert towers.count == 2 and towers.tower_of("tower_1/product") == 1


def test_a_learning_rate_is_no_data():
    def build():
        two_towers()
        rate = v1.placeholder(tf.float32, [], name="rate")
        tf.multiply(rate, 0.5, name="half_rate")

    towers = towers_of(build)
    assert towers.masks["half_rate"] == 0 and towers.masks["halves"] == 1


def accumulated(towers=2, width=1):
    """Towers whose losses are added up on the way, so that a later one minimizes the earlier ones' losses too."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        parts = tf.split(v1.placeholder(tf.float32, [2 * towers, 2], name="x"), towers)
        total, gradients = tf.constant(0.0), []
        for tower in range(towers):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                y = tf.multiply(parts[tower], w, name="product")
                for _ in range(width):
                    y = tf.tanh(y)
                total = tf.add(total, tf.reduce_sum(y**2, name="loss"), name="total")
                gradients.append(tf.gradients(total, [w])[0])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")

    return build


def test_a_tower_may_take_a_few_tensors_of_another():
    build = accumulated()
    towers = towers_of(build)
    assert towers.count == 2 and towers.found_by != "suffixes of names"
    (leak,) = towers.leaks(traced(build))
    assert leak == (1, 0, ("tower_0/total", 0), "tower_1/total")
    assert towers.is_shared("tower_1/total") and towers.tower_of("tower_1/loss") == 1
    assert list(towers_of(two_towers).leaks(traced(two_towers))) == []


def test_towers_that_mostly_depend_on_others_are_layers():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        state, parts = tf.zeros([2, 2]), tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2)
        for step in range(2):
            with tf.name_scope(f"step_{step}"):  # a recurrent network: each step has its own input, and the last state
                state = tf.tanh(tf.multiply(parts[step], w) + tf.tanh(tf.multiply(state, w)))
        gradient = tf.gradients(tf.reduce_sum(state), [w])[0]
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=gradient, name="train")

    assert towers_of(build).count == 1


def test_a_lookup_on_the_cpu_belongs_to_the_tower_that_uses_it():
    def build(two_users=False):
        table = tf.raw_ops.VariableV2(shape=[5, 2], dtype=tf.float32, name="w")
        rows = tf.split(v1.placeholder(tf.int32, [4], name="rows"), 2)
        results = []
        for tower in range(2):
            with tf.device("/cpu:0"):
                words = tf.gather(table, rows[0 if two_users else tower], name=f"words{'ab'[tower]}")
            with tf.device(f"/gpu:{tower}"):
                results.append(tf.reduce_sum(tf.tanh(words) ** 2, name=f"loss{'ab'[tower]}"))
        delta = tf.add_n([tf.convert_to_tensor(tf.gradients(loss, [table])[0]) for loss in results])
        tf.raw_ops.ApplyGradientDescent(var=table, alpha=0.5, delta=delta, name="train")

    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    for weights in (["w"], []):  # the table is trained, or is not known to be
        found = find_towers(graph, ImportedGraph(graph), ["w"], inputs, weights)
        assert [found.tower_of(name) for name in ("wordsa", "wordsb")] == [0, 1]


def test_a_batch_that_the_first_tower_cuts_for_the_second_is_the_second_ones():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        batches, losses = v1.placeholder(tf.float32, [2, 4, 2], name="x"), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"device_{tower}"):
                if not tower:
                    parts = [tf.expand_dims(batches[k], 1, name=f"part_{k}") for k in (0, 1)]
                losses.append(tf.reduce_sum(tf.tanh(tf.multiply(parts[tower], w)) ** 2, name="loss"))
        delta = tf.add_n([tf.gradients(loss, [w])[0] for loss in losses])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")

    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    towers = find_towers(graph, ImportedGraph(graph), ["w"], inputs, ["w"])
    assert [towers.tower_of(f"device_0/part_{k}") for k in range(2)] == [0, 1]
    assert not list(towers.leaks(graph)) and len(towers.slices) == 2


def test_devices_beat_suffixes_of_names_by_a_margin():
    def build():
        with tf.device("/gpu:0"):
            tf.identity(v1.placeholder(tf.float32, [2], name="unused"))
        two_towers()

    assert towers_of(build).found_by == "device /gpu:k"


def test_what_prepares_two_inputs_belongs_to_no_tower():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        x, y = (v1.placeholder(tf.float32, [4, 2], name=name) for name in "xy")
        inputs = []
        for tensor in (x, y):
            with tf.name_scope("prepare"):  # "prepare" and "prepare_1", beside "tower" and "tower_1"
                for _ in range(4):
                    tensor = tf.tanh(tensor)
            inputs.append(tf.split(tensor, 2))
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope("tower"):
                loss = tf.reduce_sum(tf.multiply(tf.multiply(inputs[0][tower], w), inputs[1][tower]))
                gradients.append(tf.gradients(loss, [w])[0])
        mean = tf.multiply(tf.add_n(gradients), 0.5)
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=mean, name="train")

    towers = towers_of(build)
    assert towers.found_by == "device /gpu:k" and towers.is_common("prepare_1/Tanh")


def test_what_averages_the_gradients_of_one_tower_is_no_tower():
    """A program for several devices that runs on one: its helper makes a stack and a mean for each variable."""

    def build():
        shapes = {"w1": [3, 4], "b1": [4], "w2": [4, 2], "b2": [2]}
        w1, b1, w2, b2 = (v1.get_variable(name, shape, use_resource=False) for name, shape in shapes.items())
        x, y = v1.placeholder(tf.float32, [4, 3], "x"), v1.placeholder(tf.int64, [4], "y")
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        with tf.device("/gpu:0"), tf.name_scope("tower_0"):
            logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            pairs = optimizer.compute_gradients(loss, [w1, b1, w2, b2])
        means = [(tf.reduce_mean(tf.concat([tf.expand_dims(g, 0)], 0), 0), v) for g, v in pairs]
        optimizer.apply_gradients(means, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w1", "b1", "w2", "b2"]), "m", ["train"])
    assert (found.plan.towers, found.plan.found_by) == (1, "there is one")


@pytest.mark.parametrize("has_weights", [False, True])
def test_what_one_tower_prepares_and_all_take_belongs_to_none(has_weights):
    """A batch that the first tower scales and the second takes, too; a layer in its place makes one tower of both."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        losses, prepared = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                if not prepared:
                    x = v1.placeholder(tf.float32, [4, 2], name="x")
                    scaled = tf.multiply(x, w if has_weights else 0.5, name="scaled")
                    prepared.append(tf.tanh(tf.tanh(scaled)))
                losses.append(tf.reduce_sum(tf.sin(tf.multiply(prepared[0], w))))
        delta = tf.add_n([tf.gradients(loss, [w])[0] for loss in losses])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")

    graph = traced(build)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    towers = find_towers(graph, ImportedGraph(graph), ["w"], inputs, ["w"])
    assert towers.count == (1 if has_weights else 2)
    assert has_weights or towers.is_common("tower_0/scaled") and towers.tower_of("tower_1/Mul") == 1


@pytest.mark.parametrize("networks", [1, 2])
def test_networks_that_teach_each_other_in_each_tower_are_no_towers(networks):
    """Each network has few nodes beside those of its variables, all of which the first tower makes on its device."""

    def build():
        tables, names = [], [f"net_{number}" for number in range(networks)]
        x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8], "y")
        for tower, (part, labels) in enumerate(zip(tf.split(x, 2), tf.split(y, 2))):
            losses = []
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                for name in names:
                    with v1.variable_scope(name, reuse=v1.AUTO_REUSE):
                        layers = [v1.get_variable(f"w{k}", [4, 4], use_resource=False) for k in range(4)]
                        scores = tf.nn.relu(part @ tf.add_n(layers))
                        losses.append(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
                chosen = [tf.gather(loss, tf.nn.top_k(-other, 3)[1]) for loss, other in zip(losses, losses[::-1])]
                loss = tf.add_n([tf.reduce_mean(part) for part in chosen])
                tables.append(v1.train.GradientDescentOptimizer(0.5).compute_gradients(loss))
        mean = [(tf.add_n([gradient for gradient, _ in pairs]) / 2.0, pairs[0][1]) for pairs in zip(*tables)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(mean, name="train")

    graph = saved(traced(build), trainable_variables=[f"net_{n}/w{k}" for n in range(networks) for k in range(4)])
    assert analyse_graph(graph, "made-for-a-test", ["train"]).context.towers.found_by == "device /gpu:k"
