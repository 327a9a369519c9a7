"""`RecordData`: examples from TFRecord files, by a parser of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, List, Optional, Tuple

import tensorflow as tf

from workloads.data.batches import Batches, Data, Request
from workloads.data.epochs import Epochs
from workloads.data.function import check_spec
from workloads.data.own_thread import OwnThread
from workloads.data.record_files import RecordFiles
from workloads.program import Arrays
from workloads.support.user import user_code

v1 = tf.compat.v1

EXPECTED = "{input name: tensor} of one example, from its record, a scalar string tensor"
#: Examples that are parsed side by side.
_PARALLEL = 2


class RecordData(Data):
    """Examples in TFRecord files.

    Args:
      path: of a file or folder.
      parser: the user's function, from a scalar string tensor to {input name: tensor} of one example; made for
        `tf.data.Dataset.map`.
      parser_name: its name in messages, such as "--parser=mine:parse".
      argument: the flag that names the files.

    Raises:
      InputError: the files cannot be read.
    """

    def __init__(
        self, path: str, parser: Callable[[tf.Tensor], Any], parser_name: str, argument: str = "--data"
    ) -> None:
        self._files = RecordFiles(path, argument)
        self._parser, self._parser_name = parser, parser_name
        self.name = f"{argument}={path}"
        self.description = f"records:{self._files.digest}, {parser_name.lstrip('-')}"

    def batches(self, request: Request) -> Batches:
        return RecordBatches(self._files, _Parser(self._parser, self._parser_name, request), self.name, request)


class RecordBatches(Batches):
    """Batches of the examples in files.

    Args:
      files: the records.
      parser: makes a batch of some.
      what: beginning of messages.
      request: of the job.

    Raises:
      InputError: there are fewer examples than a batch has.
    """

    def __init__(self, files: RecordFiles, parser: _Parser, what: str, request: Request) -> None:
        request.order.check_count(what, files.count)
        self._files, self._parser, self._what, self._request = files, parser, what, request
        self._epochs = Epochs(files.count, request.order)
        self._thread = OwnThread()

    @property
    def count(self) -> Optional[int]:
        return self._files.count

    def batch(self, step: int) -> Arrays:
        rows = self._epochs.rows(step)
        arrays = self._thread.run(lambda: self._parser.parse([self._files.read(row) for row in rows]))
        return self._request.check(self._what, arrays, len(rows))

    def ends(self) -> Tuple[int, ...]:
        return self._epochs.ends()

    def steps(self, epochs: int) -> Optional[int]:
        return self._epochs.steps(epochs)


class _Parser:
    """Parses records by the user's function, in a session of its own with threads of its own.

    Another session's Python function may be waiting for the batch, and hold all threads that sessions share.
    """

    def __init__(self, parser: Callable[[tf.Tensor], Any], name: str, request: Request) -> None:
        self._user, self._name, self._request = parser, name, request
        self._session: Optional[tf.compat.v1.Session] = None

    def parse(self, records: List[bytes]) -> Arrays:
        """Returns the arrays of a batch of examples."""
        if self._session is None:
            self._build()
        assert self._session is not None  # `_build` has made it
        with user_code.running(self._name, self._user, self._session.graph):
            self._session.run(self._initializer, {self._records: records})
            return self._session.run(self._batch)

    def _build(self) -> None:
        graph = tf.Graph()
        with graph.as_default(), tf.device("/device:CPU:0"):
            self._records = v1.placeholder(tf.string, [None])
            records = tf.data.Dataset.from_tensor_slices(self._records)
            with user_code.calling(self._name, self._user, EXPECTED):
                examples = records.map(self._user, _PARALLEL)
            check_spec(user_code.named(self._name, self._user), examples.element_spec, self._request, EXPECTED)
            iterator = v1.data.make_initializable_iterator(examples.batch(self._request.order.size))
            batch = iterator.get_next()
        self._initializer = iterator.initializer
        self._batch = {name: batch[name] for name in self._request.inputs}
        config = v1.ConfigProto(use_per_session_threads=True, device_count={"GPU": 0})
        self._session = v1.Session(graph=graph, config=config)
