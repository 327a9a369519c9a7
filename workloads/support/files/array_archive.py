"""Archives of numpy arrays (.npz) from anywhere: each array is checked before memory is taken for it.

numpy's own reader trusts what an archive declares: a few kilobytes can stand for gigabytes of zeros.
"""

from __future__ import annotations

import io
import struct
import threading
import tokenize
import zipfile
import zlib
from typing import Any, Dict, List, Tuple

import numpy as np

from workloads.support.errors import InputError

#: Longest header of an array that is parsed; numpy's own are shorter than 200 bytes, but for structured types.
_MOST_HEADER = 10000
#: Bytes that are unpacked at a time.
_BLOCK = 1 << 20
#: numpy parses a header as Python, and Python 3.11's parser counts its depth in one place for all threads.
_PARSER = threading.Lock()
#: Kinds of arrays that are read: truth values, integers, floats, texts.
_KINDS = "biufUS"

#: Everything that `zipfile` raises for archives that are damaged, encrypted or compressed in unknown ways.
ZIP_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    RuntimeError,  # encrypted; NotImplementedError is one, too
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)

#: Everything that numpy raises for the header of an array that is none.
_HEADER_ERRORS = (
    ValueError,
    SyntaxError,
    TypeError,
    KeyError,
    RecursionError,
    MemoryError,
    struct.error,
    tokenize.TokenError,
)


class ObjectsInArray(InputError):
    """An array holds Python objects, which are never read: they may be programs."""


class ArrayArchive:
    """An open archive of arrays.

    Args:
      file: a path, or a binary file.
      subject: beginning of messages, such as "--recording: run.npz is damaged, or not a recording".
      most_bytes: the most that all arrays together may take; None for as much as the file itself.

    Attributes:
      names: names of the members, without ".npy", sorted.

    Raises:
      InputError: it is no archive, or declares more than `most_bytes`.
    """

    def __init__(self, file: Any, subject: str, most_bytes: int | None = None) -> None:
        self._subject = subject
        try:
            self._zip = zipfile.ZipFile(file)
        except ZIP_ERRORS as error:
            raise InputError(f"{subject}: {_reason(error)}") from error
        self._infos: Dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            name = info.filename[: -len(".npy")] if info.filename.endswith(".npy") else info.filename
            if name in self._infos:
                raise InputError(f"{subject}: {name!r} is in it twice")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"{subject}: {name!r} is compressed in a way that numpy does not write")
            self._infos[name] = info
        self.names: List[str] = sorted(self._infos)
        limit = _size(file) if most_bytes is None else most_bytes
        declared = sum(info.file_size for info in self._infos.values())
        if declared > limit:
            raise InputError(f"{subject}: it declares {declared} bytes of arrays, at most {limit} are expected")

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def array(self, name: str) -> np.ndarray:
        """Returns an array.

        Raises:
          ObjectsInArray: it holds Python objects.
          InputError: it is missing or damaged.
        """
        if name not in self._infos:
            raise InputError(f"{self._subject}: {name} is missing")
        return array_from_bytes(self.content(name), f"{self._subject}: {name}")

    def checksum(self, name: str) -> Tuple[int, int]:
        """Returns the checksum and the size that the archive's directory has of an array: equal for equal contents."""
        return self._infos[name].CRC, self._infos[name].file_size

    def content(self, name: str, most_bytes: int | None = None) -> bytearray:
        """Returns the bytes of a member, which must be as many as the archive declares, and not more than `most_bytes`.

        Raises:
          InputError: it is damaged, or larger.
        """
        info = self._infos[name]
        if most_bytes is not None and info.file_size > most_bytes:
            raise InputError(f"{self._subject}: {name} has {info.file_size} bytes, at most {most_bytes} are expected")
        content, done = bytearray(info.file_size), 0
        try:
            # `ZipFile.read` would unpack all that is compressed there, whatever size is declared.
            with self._zip.open(info) as file:
                while done < len(content):
                    part = file.read(min(_BLOCK, len(content) - done))
                    if not part:
                        break
                    content[done : done + len(part)] = part
                    done += len(part)
        except ZIP_ERRORS as error:
            raise InputError(f"{self._subject}: {name}: {_reason(error)}") from error
        if done != len(content):
            raise InputError(f"{self._subject}: {name} is not of the {info.file_size} bytes that are declared")
        return content

    def close(self) -> None:
        """Closes the file."""
        self._zip.close()


def array_from_bytes(content: bytearray, subject: str) -> np.ndarray:
    """Returns the array in the bytes of an .npy file.

    Args:
      content: all bytes of the file.
      subject: beginning of messages.

    Returns:
      the array, which can be written to.

    Raises:
      ObjectsInArray: it holds Python objects.
      InputError: the bytes are not those that the header promises, or of another type than `_KINDS`.
    """
    header = io.BytesIO(content[: 2 * _MOST_HEADER])
    try:
        version = np.lib.format.read_magic(header)
        size = struct.unpack_from("<H" if version == (1, 0) else "<I", content, header.tell())[0]
        if size > _MOST_HEADER:
            raise ValueError(f"header of {size} bytes")
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"version {version} of the format")
        with _PARSER:
            shape, in_fortran_order, dtype = readers[version](header)
    except _HEADER_ERRORS as error:
        raise InputError(f"{subject} is not an array: {_reason(error)}") from error
    if dtype.kind not in _KINDS or not dtype.itemsize:
        refused = ObjectsInArray if dtype.kind == "O" else InputError
        raise refused(f"{subject} is of type {dtype}, numbers or texts are expected")
    count = 1
    for length in shape:
        count *= length
    size = len(content) - header.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != size:
        raise InputError(f"{subject} has {size} bytes, its header promises {dtype} {list(shape)}")
    if not count and max(shape) > len(content):  # nothing, but many times
        raise InputError(f"{subject} is empty, its header promises {list(shape)}")
    array = np.frombuffer(content, dtype, count, header.tell()) if count else np.empty(0, dtype)
    array = array.astype(dtype.newbyteorder("="), copy=False)
    try:
        return array.reshape(shape, order="F" if in_fortran_order else "C")
    except ValueError as error:  # more dimensions than numpy has
        raise InputError(f"{subject} is not an array: {_reason(error)}") from error


def _size(file: Any) -> int:
    """Returns the number of bytes of a path or of an open file."""
    if isinstance(file, str):
        with open(file, "rb") as opened:
            return opened.seek(0, io.SEEK_END)
    place = file.tell()
    size = file.seek(0, io.SEEK_END)
    file.seek(place)
    return size


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
