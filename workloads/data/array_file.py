"""`ArrayFile`: the arrays of an .npz file, as data."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from workloads.data.batches import ArrayBatches, Batches, Data, Request
from workloads.support.files.array_archive import ArrayArchive
from workloads.support.files.input_files import require_regular

if TYPE_CHECKING:
    from workloads.program import Arrays

#: Most bytes that the arrays of --data may take: `MOST_BYTES`, or `MOST_EXPANSION` times a larger compressed file's.
MOST_BYTES, MOST_EXPANSION = 512 << 20, 20


class ArrayFile(Data):
    """An .npz file with one array [count, ...] for each input.

    Another process to which it is handed reads the file again.

    Args:
      path: of the file.
      argument: the flag that names it.

    Attributes:
      name, description: see `Data`; the description has a digest of the arrays.

    Raises:
      InputError: the file cannot be read.
    """

    def __init__(self, path: str, argument: str = "--data") -> None:
        self._path, self._argument = path, argument
        self.name = f"{argument}={path}"
        self._arrays = _read(path, argument)
        digest = hashlib.sha256()
        for name, array in sorted(self._arrays.items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
        self.description = f"npz:{digest.hexdigest()[:12]}"

    def batches(self, request: Request) -> Batches:
        """Returns the batches that a job asks for."""
        return ArrayBatches(self.name, self._arrays, request)

    def __reduce__(self) -> Any:
        return ArrayFile, (self._path, self._argument)


def _read(path: str, argument: str) -> Arrays:
    """Returns all arrays of a file."""
    packed = require_regular(path, argument)
    archive = ArrayArchive(path, f"{argument}: cannot read {path!r} as .npz", max(MOST_BYTES, MOST_EXPANSION * packed))
    try:
        return {name: archive.array(name) for name in archive.names}
    finally:
        archive.close()
