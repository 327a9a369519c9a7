"""Ops as calls of the functions that TensorFlow 2 has for them."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.ops import named
from tests.legacy.source.tiny import computed, values_of, written

raw = tf.raw_ops
X = {"x": [3, 3]}
#: {op: what the function makes in its place}; the successor takes a least score besides, which is none.
SUCCESSORS = {"NonMaxSuppressionV2": "NonMaxSuppressionV3"}
IDS = [0, 0, 2]
#: {op: what is built of a matrix, 3 x 3}.
PROGRAMS = {
    "BatchToSpaceND": lambda x: raw.BatchToSpaceND(input=tf.reshape(x[:2], [2, 3, 1]), block_shape=[2], crops=[[0, 1]]),
    "Cholesky": lambda x: raw.Cholesky(input=tf.matmul(x, x, transpose_b=True) + tf.eye(3)),
    "CropAndResize": lambda x: raw.CropAndResize(
        image=tf.reshape(x, [1, 3, 3, 1]),
        boxes=tf.nn.sigmoid(tf.reshape(x[0, :2], [1, 2])) * tf.ones([2, 1]) @ tf.ones([2, 4]),
        box_ind=[0, 0],
        crop_size=[2, 2],
        method="nearest",
    ),
    "Cross": lambda x: raw.Cross(a=x, b=x + 1.0),
    "Cumprod": lambda x: raw.Cumprod(x=x, axis=1, reverse=True),
    "Cumsum": lambda x: raw.Cumsum(x=x, axis=1, exclusive=True),
    "ExtractImagePatches": lambda x: raw.ExtractImagePatches(
        images=tf.reshape(x, [1, 3, 3, 1]),
        ksizes=[1, 2, 2, 1],
        strides=[1, 1, 1, 1],
        rates=[1, 1, 1, 1],
        padding="VALID",
    ),
    "FFT": lambda x: tf.math.real(raw.FFT(input=tf.complex(x, x))),
    "HSVToRGB": lambda x: raw.HSVToRGB(images=x),
    "IFFT": lambda x: tf.math.real(raw.IFFT(input=tf.complex(x, x))),
    "InvertPermutation": lambda x: raw.InvertPermutation(x=tf.argsort(x[0])),
    "MatrixBandPart": lambda x: raw.MatrixBandPart(input=x, num_lower=-1, num_upper=0),
    "MatrixDeterminant": lambda x: raw.MatrixDeterminant(input=x),
    "MatrixInverse": lambda x: raw.MatrixInverse(input=x, adjoint=True),
    "MatrixSolve": lambda x: raw.MatrixSolve(matrix=x, rhs=x + 1.0),
    "MatrixTriangularSolve": lambda x: raw.MatrixTriangularSolve(matrix=x, rhs=x + 1.0, lower=False),
    "NonMaxSuppressionV2": lambda x: raw.NonMaxSuppressionV2(
        boxes=tf.concat([x, x[:, :1] + 1.0], 1), scores=x[:, 0], max_output_size=2, iou_threshold=0.25
    ),
    "NonMaxSuppressionV3": lambda x: raw.NonMaxSuppressionV3(
        boxes=tf.concat([x, x[:, :1] + 1.0], 1),
        scores=x[:, 0],
        max_output_size=2,
        iou_threshold=0.25,
        score_threshold=0.1,
    ),
    "RGBToHSV": lambda x: raw.RGBToHSV(images=x),
    "Roll": lambda x: raw.Roll(input=x, shift=[1], axis=[1]),
    "ScatterNd": lambda x: raw.ScatterNd(indices=[[0], [2], [2]], updates=x, shape=[4, 3]),
    "SegmentMax": lambda x: raw.SegmentMax(data=x, segment_ids=IDS),
    "SegmentMean": lambda x: raw.SegmentMean(data=x, segment_ids=IDS),
    "SegmentMin": lambda x: raw.SegmentMin(data=x, segment_ids=IDS),
    "SegmentProd": lambda x: raw.SegmentProd(data=x, segment_ids=IDS),
    "SegmentSum": lambda x: raw.SegmentSum(data=x, segment_ids=IDS),
    "SpaceToBatchND": lambda x: raw.SpaceToBatchND(input=tf.reshape(x, [1, 3, 3]), block_shape=[2], paddings=[[0, 1]]),
    "SparseSegmentMean": lambda x: raw.SparseSegmentMean(data=x, indices=[2, 0, 0], segment_ids=IDS),
    "SparseSegmentSqrtN": lambda x: raw.SparseSegmentSqrtN(data=x, indices=[2, 0, 0], segment_ids=IDS),
    "SparseSegmentSum": lambda x: raw.SparseSegmentSum(data=x, indices=[2, 0, 0], segment_ids=IDS),
    "SparseToDense": lambda x: raw.SparseToDense(
        sparse_indices=[0, 2, 1], output_shape=[4], sparse_values=x[:, 0], default_value=0.5, validate_indices=False
    ),
    "SparseTensorDenseMatMul": lambda x: raw.SparseTensorDenseMatMul(
        a_indices=tf.constant([[0, 1], [2, 0]], tf.int64),
        a_values=x[0, :2],
        a_shape=tf.constant([3, 3], tf.int64),
        b=x,
        adjoint_b=True,
    ),
    "TensorScatterAdd": lambda x: raw.TensorScatterAdd(tensor=x, indices=[[1]], updates=x[:1]),
    "TensorScatterUpdate": lambda x: raw.TensorScatterUpdate(tensor=x, indices=[[1]], updates=x[:1]),
    "UnsortedSegmentMax": lambda x: raw.UnsortedSegmentMax(data=x, segment_ids=IDS, num_segments=3),
    "UnsortedSegmentMin": lambda x: raw.UnsortedSegmentMin(data=x, segment_ids=IDS, num_segments=3),
    "UnsortedSegmentProd": lambda x: raw.UnsortedSegmentProd(data=x, segment_ids=IDS, num_segments=3),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_function_makes_the_op_that_it_stands_for(name):
    lines = written(lambda x: PROGRAMS[name](x[0]), X)
    text = "\n".join(lines)
    function = "tf.sparse.sparse_dense_matmul" if name not in named.NAMED else named.NAMED[name].name
    assert function + "(" in text and f"raw_ops.{name}(" not in text, text
    x = np.random.RandomState(0).rand(2, 3, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), PROGRAMS[name](tf.constant(x[0])).numpy())
    with tf.Graph().as_default() as graph:
        computed(lines, {"x": x})
    assert SUCCESSORS.get(name, name) in {operation.type for operation in graph.get_operations()}


def test_every_function_is_tested():
    assert set(PROGRAMS) == set(named.WRITERS)


def test_an_attribute_without_a_parameter_is_written_by_the_op(monkeypatch):
    monkeypatch.setitem(named.NAMED, "Cumsum", named.Named("tf.cumsum", ("axis",)))
    assert "tf.raw_ops.Cumsum(" in "".join(written(PROGRAMS["Cumsum"], X))
    assert "tf.cumsum(" in "".join(written(lambda x: raw.Cumsum(x=x, axis=1), X))


def test_a_shape_among_the_attributes_is_written_as_a_list():
    def stacked(x):
        row = tf.reshape(x[0], [1, 3, 3])
        return raw.ParallelConcat(values=[row, row], shape=[2, 3, 3])

    text = "".join(written(stacked, X))
    assert "tf.raw_ops.ParallelConcat(" in text and "shape=[2, 3, 3])" in text
