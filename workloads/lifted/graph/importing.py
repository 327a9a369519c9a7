"""Import of parts of a saved graph into TensorFlow; what TensorFlow refuses is reported as a fault of the graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def import_graph(
    graph_def: Any,
    fed: Mapping[str, Any] | None = None,
    fetches: Sequence[str] | None = None,
    subject: str = "--workload",
) -> list[Any]:
    """Adds a GraphDef to the default graph.

    Args:
      graph_def: the GraphDef; its nodes keep their names.
      fed: {tensor: value to use in its place}.
      fetches: names of the tensors to return.
      subject: beginning of the message.

    Returns:
      the tensors of `fetches`.

    Raises:
      InputError: TensorFlow does not take the graph.
    """
    try:
        return tf.import_graph_def(graph_def, input_map=dict(fed or {}), return_elements=fetches, name="") or []
    except (ValueError, TypeError, KeyError, OverflowError, tf.errors.OpError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:300]
        raise InputError(f"{subject}: TensorFlow {tf.__version__} does not take this graph: {reason}") from error
