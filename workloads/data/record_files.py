"""`RecordFiles`: the records of TFRecord files, each of which can be read by itself."""

from __future__ import annotations

import hashlib
import logging
import os
from typing import Dict, List

import numpy as np
import tensorflow as tf

from workloads.support.errors import InputError, require
from workloads.support.files.input_files import require_regular

#: Bytes of a file before and after the content of a record: length and checksum; checksum.
_BEFORE, _AFTER = 12, 4
#: Files that are held open.
_OPEN = 64


class RecordFiles:
    """The records of one TFRecord file, or of all files in a folder, in the order of their names.

    All are read through once, and their checksums compared. Another process to which they are handed does not do that
    again.

    Args:
      path: of the file or folder; files whose names begin with "." or "_" are left out.
      argument: the flag that names them.

    Attributes:
      count: number of records.
      digest: of all contents, 12 hex digits.

    Raises:
      InputError: there is no such file, or it is damaged, compressed, or no TFRecord file.
    """

    def __init__(self, path: str, argument: str = "--data") -> None:
        self._argument = argument
        self._open: Dict[int, int] = {}
        self._paths = _paths(path, argument)
        files: List[np.ndarray] = []
        places: List[np.ndarray] = []
        digest = hashlib.sha256()
        for number, name in enumerate(self._paths):
            sizes = _sizes_of_records(name, argument, digest)
            ends = np.cumsum(np.asarray(sizes, np.int64) + _BEFORE + _AFTER)
            places.append(np.stack([ends - _AFTER - sizes, sizes], axis=1) if sizes else np.empty((0, 2), np.int64))
            files.append(np.full(len(sizes), number))
        self._files, self._places = np.concatenate(files), np.concatenate(places)
        self.count = len(self._files)
        self.digest = digest.hexdigest()[:12]

    def read(self, row: int) -> bytes:
        """Returns a record's content."""
        first, size = (int(number) for number in self._places[row])
        try:
            content = os.pread(self._descriptor(int(self._files[row])), size, first)
        except OSError as error:
            raise InputError(
                f"{self._argument}: cannot read {self._paths[self._files[row]]}: {error.strerror}"
            ) from error
        require(
            len(content) == size, self._argument, self._paths[self._files[row]], "it was shortened while it was read"
        )
        return content

    def close(self) -> None:
        """Closes the files; they are opened again if they are read."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _descriptor(self, file: int) -> int:
        """Returns an open file's descriptor."""
        if file not in self._open:
            if len(self._open) >= _OPEN:
                self.close()
            self._open[file] = os.open(self._paths[file], os.O_RDONLY)
        return self._open[file]

    def __getstate__(self) -> Dict[str, object]:
        return {**vars(self), "_open": {}}

    def __del__(self) -> None:
        self.close()


def _paths(path: str, argument: str) -> List[str]:
    """Returns the paths of the files that `path` stands for."""
    if not os.path.isdir(path):
        require_regular(path, argument)
        return [path]
    names = [name for name in sorted(os.listdir(path)) if name[0] not in "._"]
    paths = [os.path.join(path, name) for name in names if os.path.isfile(os.path.join(path, name))]
    require(paths, argument, path, "there is no file in that folder")
    return paths


def _sizes_of_records(path: str, argument: str, digest: hashlib._Hash) -> List[int]:
    """Returns the bytes of each record of a file, and adds their contents to `digest`."""
    size = require_regular(path, argument)
    sizes: List[int] = []
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)  # the reader is called deprecated; its successor wants devices to be chosen
    try:
        for record in tf.compat.v1.io.tf_record_iterator(path):
            sizes.append(len(record))
            digest.update(record)
    except (tf.errors.OpError, OSError) as error:
        raise InputError(f"{argument}: {path} is damaged, compressed, or no TFRecord file: {error}") from error
    finally:
        logger.setLevel(level)
    if sum(sizes) + len(sizes) * (_BEFORE + _AFTER) != size:  # a few bytes are taken for the end
        raise InputError(
            f"{argument}: {path} is damaged, compressed, or no TFRecord file: {size} bytes do not end a record"
        )
    return sizes
