"""Kinds of ops by their types, as graphs, Grappler and oneDNN write them."""

import pytest

from parity.profiling.op_kinds import KINDS, OTHER, PRODUCTS, is_product, kind_of_op


@pytest.mark.parametrize(
    "kind, ops",
    [
        (PRODUCTS, "Conv2D Conv2DBackpropFilter Conv3DBackpropInputV2 DepthwiseConv2dNative MatMul BatchMatMulV2"),
        (PRODUCTS, "_FusedConv2D _FusedMatMul _MklNativeConv2DBackpropFilterWithBias _MklMatMul LSTMBlockCellGrad"),
        ("batch normalization", "FusedBatchNormV3 _FusedBatchNormEx FusedBatchNormGradV3 _MklNativeFusedBatchNormV3"),
        ("element-wise", "AddV2 AddN Mul RealDiv Rsqrt RsqrtGrad SquaredDifference SigmoidGrad GreaterEqual SelectV2"),
        ("rectifiers", "Relu Relu6 ReluGrad LeakyReluGrad"),
        ("reductions", "Sum Mean BiasAddGrad SparseSoftmaxCrossEntropyWithLogits L2Loss UnsortedSegmentSum"),
        ("pooling and local normalization", "MaxPool _MklNativeMaxPoolGrad AvgPoolGrad LRN LRNGrad"),
        ("copies and reshapes", "Tile ConcatV2 Pack StridedSliceGrad Transpose PadV2 ReadVariableOp ResourceGather"),
        ("random numbers", "RandomUniform StatelessRandomUniformV2 TruncatedNormal"),
        ("optimizer", "ApplyMomentum ResourceApplyAdam ResourceSparseApplyAdagrad AssignAddVariableOp ScatterSub"),
        ("transfers and collectives", "_Send _HostRecv CollectiveReduceV2 NcclAllReduce"),
        ("input", "IteratorGetNext MultiDeviceIteratorGetNextFromShard QueueDequeueManyV2"),
        ("control flow", "Switch NextIteration While StatefulPartitionedCall NoOp"),
        (OTHER, "SomeOpOfOnesOwn _MklToTf"),
    ],
)
def test_ops_of_each_kind(kind, ops):
    assert {op: kind_of_op(op) for op in ops.split()} == dict.fromkeys(ops.split(), kind)
    assert kind in KINDS


def test_only_products_make_the_floor():
    assert is_product("Conv2DBackpropInput") and not is_product("BiasAdd") and not is_product("FusedBatchNormV3")
