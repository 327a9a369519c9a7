"""Kinds of ops, by which a profile sums up the time of a step's kernels."""

from __future__ import annotations

import re

#: Convolutions and matrix products, oneDNN's forms included. The floor of a step is made of them.
PRODUCTS = "convolutions and products"

#: Ops that wait for another device, another process or the input, and compute nothing while they do.
TRANSFERS = "transfers and collectives"
INPUT = "input"

#: Ops that change variables.
UPDATES = "optimizer"

#: Ops of no kind below.
OTHER = "other"

#: [(kind, pattern of the op's type without oneDNN's prefix)]; the first that matches the whole type counts.
_PATTERNS = [
    (INPUT, r".*IteratorGetNext.*|.*Dequeue.*|.*Enqueue.*"),
    (TRANSFERS, r"_?(Host)?(Send|Recv)|Collective.*|Nccl.*"),
    (PRODUCTS, r"_?(Fused)?(Conv[23]D|DepthwiseConv2dNative|\w*MatMul)(Backprop\w*)?(V[23])?|Einsum|\w*(LSTM|GRU)\w*"),
    ("batch normalization", r"_?FusedBatchNorm\w*"),
    ("rectifiers", r"(Leaky)?Relu6?(Grad)?|S?Elu(Grad)?"),
    ("pooling and local normalization", r"(Max|Avg)Pool\w*|LRN(Grad)?"),
    (UPDATES, r"(Resource)?(Sparse)?Apply\w*|Assign\w*|(Resource)?Scatter\w*"),
    (
        "reductions",
        r"Sum|Mean|Max|Min|Prod|All|Any|Arg(Max|Min)|BiasAddGrad|L2Loss|\w*Softmax\w*|\w*Segment\w*|Cumsum",
    ),
    ("random numbers", r"(Stateless)?(Random|Truncated|Multinomial)\w*"),
    (
        "copies and reshapes",
        r"Tile|Concat\w*|Pack|Unpack|Split\w*|(Strided)?Slice(Grad)?|Transpose|(Mirror)?Pad(V2)?|Reshape|Cast"
        r"|(Resource)?Gather\w*|Identity\w*|Broadcast\w*|Fill|ZerosLike|OnesLike|Squeeze|ExpandDims|Reverse\w*|OneHot"
        r"|Where|ReadVariableOp|VarHandleOp|VariableV2|Snapshot|Shape\w*|Const|Size|Rank|Range|Tensor(Array|List)\w*"
        r"|Mem(set|cpy)\w*",
    ),
    (
        "control flow",
        r"(Ref)?Switch|Merge|Enter|Exit|NextIteration|LoopCond|NoOp|(Stateless)?(While|If|Case)|Assert|Placeholder\w*"
        r"|(Stateful)?PartitionedCall|ControlTrigger|_Arg|_Retval",
    ),
    (
        "element-wise",
        r"Add(V2|N)?|Sub|Mul(NoNan)?|(Real|Floor|Trunc)?Div(NoNan)?|(Floor)?Mod|Neg|(Reciprocal|Inv)(Grad)?|BiasAdd(V1)?"
        r"|R?[Ss]qrt(Grad)?|Square|SquaredDifference|Pow|Exp|Expm1|Log|Log1p|(Tanh|Sigmoid|Softplus|Softsign)(Grad)?|Abs"
        r"|Sign|Maximum|Minimum|(Greater|Less)(Equal)?|(Not)?Equal|Logical\w+|Select(V2)?|Floor|Ceil|Round|Rint"
        r"|Is(Nan|Inf|Finite)|Clip\w*|Sin|Cos|Erf\w*",
    ),
]

_COMPILED = [(kind, re.compile(pattern)) for kind, pattern in _PATTERNS]

#: All kinds, in the order of a table.
KINDS = (
    PRODUCTS, "batch normalization", "element-wise", "rectifiers", "reductions", "pooling and local normalization",
    "copies and reshapes", "random numbers", UPDATES, TRANSFERS, INPUT, "control flow", OTHER,
)  # fmt: skip

#: Kinds whose ops wait; a device that has nothing else to run is idle.
WAITING = (TRANSFERS, INPUT)


def kind_of_op(op: str) -> str:
    """Returns the kind of an op by its type, one of `KINDS`.

    >>> kind_of_op("_MklNativeFusedConv2D"), kind_of_op("ResourceApplyAdam"), kind_of_op("FusedBatchNormGradV3")
    ('convolutions and products', 'optimizer', 'batch normalization')
    """
    plain = re.sub(r"^_Mkl(Native)?(?=[A-Z])", "", op)
    return next((kind for kind, pattern in _COMPILED if pattern.fullmatch(plain)), OTHER)


def is_product(op: str) -> bool:
    """Whether an op is a convolution, a matrix product, or a gradient of one."""
    return kind_of_op(op) == PRODUCTS
