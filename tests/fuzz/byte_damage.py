"""Damages to bytes: of any file, to the sizes that a file declares, and to the size that it expands to."""

from __future__ import annotations

import functools
import gzip
import pathlib
import random


def damage_bytes(path: pathlib.Path, rng: random.Random) -> str:
    """Truncates the file, or flips, inserts, removes, repeats or replaces bytes."""
    data = bytearray(path.read_bytes())
    place, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    way = rng.choice(["truncate", "empty", "flip", "insert", "remove", "repeat", "zero", "random", "text"])
    if way == "truncate":
        del data[place:]
    elif way == "empty":
        data.clear()
    elif way == "flip":
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif way == "insert":
        data[place:place] = rng.randbytes(rng.choice([1, 4, 100]))
    elif way == "remove":
        del data[place : min(end, place + 100)]
    elif way == "repeat":
        data[place:place] = data[place:end]
    elif way == "zero":
        data[place:end] = bytes(end - place)
    elif way == "random":
        data = bytearray(rng.randbytes(len(data)))
    else:
        data[place:place] = rng.choice([b"[" * 100000, b"{" * 5000, b"\xff\xfe", b"node { attr { " * 3000])
    path.write_bytes(bytes(data))
    return f"bytes of {path.name}: {way}"


def make_bomb(path: pathlib.Path, rng: random.Random) -> str:
    """Replaces a gzip file by one that expands to much more, of the same header or of a huge one."""
    header = gzip.decompress(path.read_bytes())[:16]
    if rng.random() < 0.5:
        header = header[:4] + b"\xff" * 12
    path.write_bytes(gzip.compress(header) + _compressed_zeros())  # two members, which are read as one content
    return "a file that expands to 256 MiB"


@functools.lru_cache(maxsize=None)
def _compressed_zeros() -> bytes:
    return gzip.compress(bytes(256 << 20), compresslevel=1)


def damage_header(path: pathlib.Path, rng: random.Random) -> str:
    """Changes the sizes that an IDX file declares."""
    data = bytearray(path.read_bytes())
    place = rng.randrange(4, 16)
    data[place : place + 4] = rng.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\x00\x00\x00\x05"])
    path.write_bytes(bytes(data))
    return f"header of {path.name}"
