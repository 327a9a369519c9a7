"""TFRecord files for tests: a number and a label in each record."""

import tensorflow as tf


def write_records(path, numbers):
    """Writes a record of each number, whose label is the number modulo 3."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in numbers:
            features = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, -number])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number % 3])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def parse(record):
    """Parses a record of `write_records`."""
    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    return tf.io.parse_single_example(record, features)


def parse_other_feature(record):
    return {**parse(record), "x": tf.io.parse_single_example(record, {"z": tf.io.FixedLenFeature([], tf.float32)})["z"]}


def parse_failing(record):
    raise OSError("no such codec")


def parse_to_a_tuple(record):
    return tuple(parse(record).values())


def parse_one_input(record):
    return {"x": parse(record)["x"]}


def parse_sparse(record):
    return {**parse(record), "x": tf.sparse.from_dense(parse(record)["x"])}
