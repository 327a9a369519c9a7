"""Registry of formulas: ops without a kernel for float64, computed by ops that have one.

A formula is a function from the NodeDef, with all its attributes, and its inputs in float64 to its outputs. Attributes
such as epsilon keep the value that they have as float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

from workloads.lifted.double import normalization, pooling, recurrent, resizing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import tensorflow as tf

    Formula = Callable[[Any, Sequence[tf.Tensor]], Sequence[tf.Tensor]]

#: {op type: its formula}.
FORMULAS: Dict[str, Formula] = {
    "FusedBatchNorm": normalization.batch_norm,
    "FusedBatchNormV2": normalization.batch_norm,
    "FusedBatchNormV3": normalization.batch_norm,
    "FusedBatchNormGrad": normalization.batch_norm_gradient,
    "FusedBatchNormGradV2": normalization.batch_norm_gradient,
    "FusedBatchNormGradV3": normalization.batch_norm_gradient,
    "LRN": normalization.local_response,
    "LRNGrad": normalization.local_response_gradient,
    "SparseMatMul": pooling.matrix_product,
    "AvgPool3D": pooling.average_3d,
    "AvgPool3DGrad": pooling.average_3d_gradient,
    "MaxPool3D": pooling.largest_3d,
    "MaxPool3DGrad": pooling.largest_3d_gradient,
    "ResizeBilinear": resizing.bilinear,
    "ResizeBilinearGrad": resizing.bilinear_gradient,
    "LSTMBlockCell": recurrent.lstm_cell,
    "LSTMBlockCellGrad": recurrent.lstm_cell_gradient,
    "BlockLSTM": recurrent.lstm,
    "BlockLSTMV2": recurrent.lstm,
    "BlockLSTMGrad": recurrent.lstm_gradient,
    "BlockLSTMGradV2": recurrent.lstm_gradient,
    "GRUBlockCell": recurrent.gru_cell,
    "GRUBlockCellGrad": recurrent.gru_cell_gradient,
}
