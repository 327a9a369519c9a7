"""`PreparedSession`: a session that keeps what it has checked of a run, for runs that repeat with many fed tensors.

`Session.run` looks up and checks each fetched and each fed tensor in Python at every run. Where hundreds of constants
are fed, that takes several times as long as the run itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Mapping


class _PreparedFeed(NamedTuple):
    """A tensor that is fed: what the runtime calls it, and the dtype of its values."""

    output: Any
    dtype: Any


class PreparedSession(tf.compat.v1.Session):
    """A session whose runs of the same fetches and the same fed tensors are checked once.

    The first of these runs is `Session.run`'s own; later ones hand the same names to the same executors.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._elements: Dict[str, Union[tf.Tensor, tf.Operation]] = {}
        self._feeds: Dict[str, _PreparedFeed] = {}
        self._checked: Dict[Tuple[Any, ...], bool] = {}

    def run(
        self,
        fetches: Any,
        feed_dict: Optional[Mapping[Any, Any]] = None,
        options: Optional[tf.compat.v1.RunOptions] = None,
        run_metadata: Optional[tf.compat.v1.RunMetadata] = None,
    ) -> Any:
        """Runs ops and computes tensors, as `Session.run` does.

        Args:
          fetches: a structure of tensors, operations, and names of either.
          feed_dict: {tensor, or its name: value}.
          options: of the run; one with options is checked each time.
          run_metadata: to be filled.

        Returns:
          the structure with the tensors' values, and None for operations.
        """
        flat = tf.nest.flatten(fetches)
        known = all(isinstance(one, (tf.Tensor, tf.Operation, str)) for one in flat)
        if options is not None or run_metadata is not None or not known:
            return super().run(fetches, feed_dict, options, run_metadata)
        feed = {key if isinstance(key, str) else key.name: value for key, value in (feed_dict or {}).items()}
        key = (*(one if isinstance(one, str) else one.name for one in flat), None, *feed)
        if key not in self._checked:
            values = super().run(fetches, feed_dict)
            self._checked[key] = True
            return values
        return tf.nest.pack_sequence_as(fetches, self._run_checked([self._element(one) for one in flat], feed))

    def _run_checked(self, flat: List[Union[tf.Tensor, tf.Operation]], feed: Mapping[str, Any]) -> List[Any]:
        """Runs what was run before; a tensor that is fed, too, is the value that it is fed, and an operation None."""
        fed = {name: np.asarray(value, self._feed(name).dtype) for name, value in feed.items()}
        tensors = {one.name: one for one in flat if isinstance(one, tf.Tensor) and one.name not in fed}
        targets = [one._c_op for one in flat if isinstance(one, tf.Operation)]
        computed = []
        if tensors or targets:  # the runtime refuses a run of nothing
            computed = self._do_call(
                lambda feeds, outputs: self._call_tf_sessionrun(None, feeds, outputs, targets, None),
                {self._feed(name).output: value for name, value in fed.items()},
                [tensor._as_tf_output() for tensor in tensors.values()],
            )
        values = {**dict(zip(tensors, computed)), **fed}
        return [values.get(one.name) for one in flat]

    def _element(self, one: Union[str, tf.Tensor, tf.Operation]) -> Union[tf.Tensor, tf.Operation]:
        if not isinstance(one, str):
            return one
        if one not in self._elements:
            self._elements[one] = self.graph.as_graph_element(one)
        return self._elements[one]

    def _feed(self, name: str) -> _PreparedFeed:
        if name not in self._feeds:
            tensor = self.graph.as_graph_element(name)
            self._feeds[name] = _PreparedFeed(tensor._as_tf_output(), tensor.dtype.as_numpy_dtype)
        return self._feeds[name]
