"""Flips and sizes of images and label maps, together and apart."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.augmentation import flipped_apart, interpolated_labels, labels_mixed_otherwise
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, prepare):
    """The hazards of a segmentation of images [6, 6, 2] whose masks are [6, 6, 1]."""

    def build():
        w = v1.get_variable("w", [2, 3], use_resource=False)
        image, mask = v1.placeholder(tf.float32, [6, 6, 2], "image"), v1.placeholder(tf.float32, [6, 6, 1], "mask")
        image, mask = prepare(image, mask)
        logits = tf.reshape(tf.reshape(image, [-1, 2]) @ w, [6, 6, 3])
        labels = mask[..., 0] if mask.dtype == tf.int32 else tf.cast(mask[..., 0], tf.int32)
        loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    v1.disable_control_flow_v2()
    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def flip(x, decision=None):
    decision = v1.random_uniform([]) < 0.5 if decision is None else decision
    return v1.cond(decision, lambda: tf.reverse(x, [1]), lambda: x)


def together(image, mask):
    decision = v1.random_uniform([]) < 0.5
    return flip(image, decision), flip(mask, decision)


def joined(image, mask):
    both = flip(tf.concat([image, mask], 2))
    return both[..., :2], both[..., 2:]


def with_seeds(image, mask, seeds):
    return tuple(flip(x, v1.random_uniform([], seed=seed) < 0.5) for x, seed in zip((image, mask), seeds))


def by_where(image, mask):
    decisions = [v1.random_uniform([6, 6, 1]) < 0.5 for _ in range(2)]
    return tuple(v1.where_v2(d, tf.reverse(x, [1]), x) for d, x in zip(decisions, (image, mask)))


@pytest.mark.parametrize(
    "prepare, count",
    [
        (lambda image, mask: (flip(image), flip(mask)), 1),
        (by_where, 1),
        (lambda image, mask: with_seeds(image, mask, (7, 8)), 1),
        (lambda image, mask: with_seeds(image, mask, (7, 7)), 0),
        (together, 0),
        (joined, 0),
        (lambda image, mask: (flip(image), mask), 0),
        (lambda image, mask: (image + v1.random_uniform([]), flip(mask)), 0),
    ],
)
def test_images_and_masks_that_are_flipped_apart_are_named(prepare, count):
    assert found(flipped_apart, prepare) == ["FLIPPED_APART"] * count


def resized(method):
    def prepare(image, mask):
        return image, v1.image.resize_images(mask, [6, 6], method=method)

    return prepare


BILINEAR = v1.image.ResizeMethod.BILINEAR


@pytest.mark.parametrize(
    "prepare, count",
    [
        (lambda image, mask: resized(BILINEAR)(image, mask[:3]), 1),
        (lambda image, mask: (image, flip(resized(BILINEAR)(image, mask[:3])[1])), 1),
        (lambda image, mask: resized(v1.image.ResizeMethod.NEAREST_NEIGHBOR)(image, mask[:3]), 0),
        (lambda image, mask: (image, tf.cast(cropped(mask[..., 0]), tf.int32)[..., None]), 1),
        (lambda image, mask: (image, tf.minimum(tf.cast(resized(BILINEAR)(image, mask[:3])[1], tf.int32), 2)), 1),
        (lambda image, mask: (image, tf.cast(resized(BILINEAR)(image, mask[:3])[1] > 0.5, tf.int32)), 0),
        (lambda image, mask: (v1.image.resize_images(image[:3], [6, 6]), mask), 0),
    ],
)
def test_interpolated_classes_are_named(prepare, count):
    assert found(interpolated_labels, prepare) == ["LABELS_INTERPOLATED"] * count


def cropped(mask, method="bilinear"):
    """The middle of a mask [6, 6], as large as it, and made whole numbers again."""
    boxes, examples = tf.constant([[0.1, 0.1, 0.9, 0.9]]), tf.constant([0])
    large = v1.image.crop_and_resize(mask[None, :, :, None], boxes, examples, [6, 6], method=method)
    return tf.cast(tf.squeeze(large), tf.int32)


def sometimes(change):
    return lambda mask: tf.cond(tf.random.uniform([]) < 0.1, lambda: change(mask), lambda: mask)


def of_dataset(prepare, one_shot=False):
    """The hazards of a segmentation whose dataset maps images [6, 6, 2] and masks [6, 6]."""

    def build():
        w = v1.get_variable("w", [2, 3], use_resource=False)
        examples = (tf.ones([8, 6, 6, 2]), tf.ones([8, 6, 6], tf.int32))
        data = tf.data.Dataset.from_tensor_slices(examples).map(prepare).shuffle(8).batch(2)
        make = v1.data.make_one_shot_iterator if one_shot else v1.data.make_initializable_iterator
        image, mask = make(data).get_next()
        logits = tf.reshape(tf.reshape(image, [-1, 2]) @ w, [-1, 6, 6, 3])
        loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(mask, [-1, 6, 6]), logits=logits)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in interpolated_labels(whole)]


@pytest.mark.parametrize("one_shot", [False, True])
@pytest.mark.parametrize(
    "prepare, count",
    [
        (lambda image, mask: (image, cropped(mask)), 1),
        (lambda image, mask: (image, sometimes(cropped)(mask)), 1),
        (lambda image, mask: (image, cropped(mask, "nearest")), 0),
        (lambda image, mask: (v1.image.resize_images(image[:3], [6, 6]), mask), 0),
        # an image that is made whole numbers again
        (lambda image, mask: (tf.cast(cropped(image[..., 0]), tf.float32)[..., None] * image, mask), 0),
        (lambda image, mask: (image, tf.cast(v1.image.resize_images(image[:3], [6, 6])[..., 0] > 0.5, tf.int32)), 0),
    ],
)
def test_classes_that_a_dataset_interpolates_are_named(prepare, count, one_shot):
    assert of_dataset(prepare, one_shot) == ["LABELS_INTERPOLATED"] * count


def mixed(share, values, turn=lambda values: tf.reverse(values, [0])):
    return share * values + (1.0 - share) * turn(values)


@pytest.mark.parametrize(
    "mix_labels, count",
    [
        (lambda share, labels: mixed(1.0 - share, labels), 1),
        (lambda share, labels: share * tf.reverse(labels, [0]) + (1.0 - share) * labels, 1),
        (lambda share, labels: mixed(share, labels), 0),
        (lambda share, labels: (1.0 - share) * tf.reverse(labels, [0]) + share * labels, 0),
        (lambda share, labels: labels, 0),  # those of the first are kept, as in SamplePairing
        (lambda share, labels: mixed(v1.random_uniform([4, 1]), labels), 0),  # not named
    ],
)
def test_labels_that_are_mixed_by_the_other_share_are_named(mix_labels, count):
    def build():
        w = v1.get_variable("w", [2, 3], use_resource=False)
        share = v1.random_uniform([4, 1])
        labels = tf.one_hot(v1.placeholder(tf.int32, [4], "labels"), 3)
        logits = mixed(share, v1.placeholder(tf.float32, [4, 2], "x")) @ w
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=mix_labels(share, labels), logits=logits)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    hazards = labels_mixed_otherwise(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in hazards] == ["LABELS_MIXED_OTHERWISE"] * count
