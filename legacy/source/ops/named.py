"""Writers of ops that TensorFlow 2 has a function for, with the op's own inputs and attributes.

Each function makes the op itself, or its successor without what that added, so that the bits and the gradient stay;
`tf.raw_ops` says no more, in more words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Mapping, NamedTuple, Tuple

from legacy.source.basics.expressions import Literal, call
from legacy.source.ops.raw import attributes_given

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView


class Named(NamedTuple):
    """A function of TensorFlow 2.

    Attributes:
      name: its name.
      keywords: names of its last parameters, which are written; the first ones are known by their places.
      attributes: {attribute of the op: parameter}.
    """

    name: str
    keywords: Tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}


_ADJOINT = {"adjoint": "adjoint"}
_RUNNING = {"exclusive": "exclusive", "reverse": "reverse"}
_PATCHES = {"ksizes": "sizes", "strides": "strides", "rates": "rates", "padding": "padding"}

#: {op type: function}.
NAMED: Dict[str, Named] = {
    "BatchToSpaceND": Named("tf.batch_to_space"),
    "Cholesky": Named("tf.linalg.cholesky"),
    "CropAndResize": Named(
        "tf.image.crop_and_resize", (), {"method": "method", "extrapolation_value": "extrapolation_value"}
    ),
    "Cross": Named("tf.linalg.cross"),
    "Cumprod": Named("tf.math.cumprod", ("axis",), _RUNNING),
    "Cumsum": Named("tf.cumsum", ("axis",), _RUNNING),
    "ExtractImagePatches": Named("tf.image.extract_patches", (), _PATCHES),
    "FFT": Named("tf.signal.fft"),
    "HSVToRGB": Named("tf.image.hsv_to_rgb"),
    "IFFT": Named("tf.signal.ifft"),
    "InvertPermutation": Named("tf.math.invert_permutation"),
    "MatrixBandPart": Named("tf.linalg.band_part"),
    "MatrixDeterminant": Named("tf.linalg.det"),
    "MatrixInverse": Named("tf.linalg.inv", (), _ADJOINT),
    "MatrixSolve": Named("tf.linalg.solve", (), _ADJOINT),
    "MatrixTriangularSolve": Named("tf.linalg.triangular_solve", (), {"lower": "lower", **_ADJOINT}),
    "NonMaxSuppressionV2": Named("tf.image.non_max_suppression", ("iou_threshold",)),
    "NonMaxSuppressionV3": Named("tf.image.non_max_suppression", ("iou_threshold", "score_threshold")),
    "RGBToHSV": Named("tf.image.rgb_to_hsv"),
    "Roll": Named("tf.roll", ("axis",)),
    "ScatterNd": Named("tf.scatter_nd"),
    "SegmentMax": Named("tf.math.segment_max"),
    "SegmentMean": Named("tf.math.segment_mean"),
    "SegmentMin": Named("tf.math.segment_min"),
    "SegmentProd": Named("tf.math.segment_prod"),
    "SegmentSum": Named("tf.math.segment_sum"),
    "SpaceToBatchND": Named("tf.space_to_batch"),
    "SparseSegmentMean": Named("tf.sparse.segment_mean"),
    "SparseSegmentSqrtN": Named("tf.sparse.segment_sqrt_n"),
    "SparseSegmentSum": Named("tf.sparse.segment_sum"),
    "SparseToDense": Named("tf.compat.v1.sparse_to_dense", (), {"validate_indices": "validate_indices"}),
    "TensorScatterAdd": Named("tf.tensor_scatter_nd_add"),
    "TensorScatterUpdate": Named("tf.tensor_scatter_nd_update"),
    "UnsortedSegmentMax": Named("tf.math.unsorted_segment_max"),
    "UnsortedSegmentMin": Named("tf.math.unsorted_segment_min"),
    "UnsortedSegmentProd": Named("tf.math.unsorted_segment_prod"),
}


def write_named(op: OpView) -> Expression | None:
    """Writes an op by the function's name; None where an attribute has no parameter."""
    named, given = NAMED[op.type], attributes_given(op)
    if not given.keys() <= named.attributes.keys():
        return None
    arguments = op.arguments()
    count = len(arguments) - len(named.keywords)
    keywords = dict(zip(named.keywords, arguments[count:]))
    return call(named.name, *arguments[:count], **keywords, **{named.attributes[name]: given[name] for name in given})


def write_sparse_product(op: OpView) -> Expression:
    """Writes the product of a sparse and a dense matrix."""
    sizes = op.constant(2)
    shape = op.argument(2) if sizes is None else Literal([int(size) for size in sizes])
    sparse = call("tf.SparseTensor", *op.arguments(0, 2), shape)
    return call("tf.sparse.sparse_dense_matmul", sparse, op.argument(3), **attributes_given(op))


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    **{name: write_named for name in NAMED},
    "SparseTensorDenseMatMul": write_sparse_product,
}
