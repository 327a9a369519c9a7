"""Signatures: dtypes of inputs and outputs, and kernels."""

import pytest
import tensorflow as tf

from workloads.lifted.double import signatures
from workloads.lifted.double.signatures import Signatures, base_dtype, fill_defaults, has_kernel
from workloads.support.errors import InputError

v1 = tf.compat.v1
FLOAT, DOUBLE, INT = (tf.as_dtype(name).as_datatype_enum for name in ("float32", "float64", "int32"))


def node_of(op, **attributes):
    """A complete NodeDef."""
    node = v1.NodeDef(name="n", op=op)
    for name, value in attributes.items():
        if isinstance(value, list):
            node.attr[name].list.type.extend(value)
        else:
            setattr(node.attr[name], "i" if name == "N" else "type", value)
    fill_defaults(node, Signatures({}).definition(op))
    return node


def test_numbers_and_lists_of_inputs():
    known = Signatures({})
    assert known.inputs(node_of("ConcatV2", N=3, T=FLOAT, Tidx=INT)) == [FLOAT] * 3 + [INT]
    outputs = known.outputs(node_of("IdentityN", T=[FLOAT, INT]))
    assert [(output.argument, output.place, output.dtype) for output in outputs] == [
        ("output", 0, FLOAT),
        ("output", 1, INT),
    ]


def test_kernels_of_either_precision():
    known = Signatures({})
    for op, double in (("MatMul", True), ("FusedBatchNorm", False), ("LRN", False)):
        assert has_kernel(node_of(op, T=FLOAT), known.definition(op))
        assert has_kernel(node_of(op, T=DOUBLE), known.definition(op)) == double


def test_floats_that_no_attribute_changes():
    known = Signatures({})
    assert known.has_fixed_floats("FakeQuantWithMinMaxArgs") and not known.has_fixed_floats("MatMul")


def test_references_and_unknown_ops():
    assert base_dtype(signatures.types_pb2.DT_FLOAT_REF) == FLOAT and base_dtype(INT) == INT
    assert not Signatures({}).knows("NoSuchOp")
    with pytest.raises(InputError, match="NoSuchOp"):
        Signatures({}).definition("NoSuchOp")
