import tensorflow as tf

from legacy.saved.analysis import correspondence, phases
from legacy.saved.analysis.context import Context
from tests.legacy.saved.graphs import traced, two_towers

v1 = tf.compat.v1


def found(build):
    context = Context(traced(build), ["w"])
    return correspondence.find_correspondence(context, [phases.analyse_phase(context, "train")])


def test_equal_towers_correspond_input_by_input():
    result = found(two_towers)
    assert result.rows == [[("halves", 0), ("halves", 1)]]
    assert result.common == [] and result.noise == [] and result.common_noise == [] and result.differences == []


def test_random_ops_of_the_towers_correspond_too():
    (noise,) = found(lambda: two_towers(draws_noise=True)).noise
    assert (noise.name, noise.op, noise.how, noise.in_loop, noise.loops) == (
        "tower_0/noise/RandomUniform",
        "RandomUniform",
        "keyed",
        False,
        {},
    )
    assert noise.nodes == ["tower_0/noise/RandomUniform", "tower_1/noise/RandomUniform"]


def unequal_towers():
    """The second tower has one factor more, from an input of its own, and draws without a stateless twin."""
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
    weights = v1.placeholder(tf.float32, [2, 1], name="weights")
    found = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            product = tf.multiply(halves[tower], w, name="product")
            if tower == 1:
                product = tf.multiply(product, tf.identity(weights, name="own"), name="weighted")
                kept = tf.random.shuffle(tf.constant([0.0, 1.0], name="mask"), name="shuffle")
                product = tf.multiply(product, kept, name="dropped")
            found.append(tf.gradients(tf.reduce_sum(tf.square(tf.tanh(tf.tanh(product))), name="loss"), [w])[0])
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(found), name="train")


def test_what_only_one_tower_has_is_a_difference_and_an_entry_of_its_own():
    result = found(unequal_towers)
    assert result.differences and all(text.startswith("tower 0 and tower 1: ") for text in result.differences)
    assert result.rows[0] == [("halves", 0), ("halves", 1)]  # filled by dtype and shape
    assert [row for row in result.rows[1:] if "weights" in row[0][0] or "own" in row[0][0]]
    (noise,) = result.noise
    assert noise.how == "seeded" and noise.nodes == [None, "tower_1/shuffle"]


def test_random_ops_correspond_where_a_later_towers_loss_contains_the_first_ones():
    """Each tower adds its terms to a collection, and minimizes the sum of all that is there yet."""

    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
        terms, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                product = halves[tower] * w * v1.random_uniform([2, 2], name="noise")
                terms += [tf.nn.l2_loss(w), tf.reduce_sum(product, name="data")]
                gradients.append(tf.gradients(tf.add_n(terms, name="loss"), [w])[0])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")

    result = found(build)
    (noise,) = result.noise
    assert noise.nodes == ["tower_0/noise/RandomUniform", "tower_1/noise/RandomUniform"]
    text = "tower_0/loss (AddN, N=2) against tower_1/loss (AddN, N=4), which contains what another tower computes"
    assert result.differences[0] == f"tower 0 and tower 1: {text}"


def test_noise_outside_of_the_towers_is_drawn_once_for_all():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
        # A name whose suffix no other node has, so that it is in no labelling.
        noise = tf.raw_ops.RandomUniform(shape=tf.constant([2], name="shape"), dtype=tf.float32, name="noise_7")
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_sum(tf.multiply(halves[tower], w), name="loss")
                gradients.append(tf.gradients(loss, [w])[0])
        delta = tf.add(tf.add_n(gradients), noise)
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=delta, name="train")

    result = found(build)
    assert result.noise == [] and [entry.nodes for entry in result.common_noise] == [["noise_7"]]


def test_an_input_behind_different_ops_corresponds_to_one_of_its_dtype_and_shape():
    def build():
        w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
        gradients = []
        for tower, function in enumerate((tf.tanh, tf.sigmoid)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_sum(tf.multiply(function(halves[tower]), w), name="loss")
                gradients.append(tf.gradients(loss, [w])[0])
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(gradients), name="train")

    result = found(build)
    assert result.rows == [[("halves", 0), ("halves", 1)]] and "Tanh" in result.differences[0]


def choosing_towers():
    """Each tower's loss has a factor from a `cond` without data, which a random number chooses."""
    w = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
    halves = tf.split(v1.placeholder(tf.float32, [4, 2], name="x"), 2, name="halves")
    found = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            chosen = v1.cond(
                v1.random_uniform([], name="choice") < 0.5,
                lambda: v1.random_uniform([], name="factor"),
                lambda: tf.constant(0.25),
            )
            product = tf.multiply(halves[tower] * chosen, w, name="product")
            found.append(tf.gradients(tf.reduce_sum(tf.square(product), name="loss"), [w])[0])
    tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=tf.add_n(found), name="train")


def test_a_random_number_that_chooses_between_branches_without_data_corresponds_too():
    result = found(choosing_towers)
    assert result.differences == []
    assert {tuple(noise.nodes) for noise in result.noise} == {
        ("tower_0/choice/RandomUniform", "tower_1/choice/RandomUniform"),
        ("tower_0/cond/factor/RandomUniform", "tower_1/cond/factor/RandomUniform"),
    }
