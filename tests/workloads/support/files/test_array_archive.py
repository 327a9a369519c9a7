"""Archives of arrays: sound ones are read bit for bit, and no memory is taken for what others only declare."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive, array_from_bytes


def npy(array):
    """The bytes of an .npy file."""
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=True)
    return bytearray(content.getvalue())


def archive(members, compression=zipfile.ZIP_STORED):
    """An archive of {name: bytes}."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as file:
        for name, member in members.items():
            file.writestr(name, bytes(member))
    return ArrayArchive(content, "--data: x.npz")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3, ">i4"),
        np.zeros((0, 3), np.float16),
        np.array(["a", "bc"]),
        np.array([True, False]),
    ],
)
def test_arrays_come_back_bit_for_bit(array):
    read = archive({"x.npy": npy(array)}).array("x")
    assert read.shape == array.shape and read.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(read, array)
    read[...] = read  # can be written to


@pytest.mark.parametrize(
    "content, message",
    [
        (npy(np.array([{}], object)), "is of type object, numbers or texts are expected"),
        (npy(np.zeros(2, np.complex64)), "is of type complex64"),
        (npy(np.zeros(2))[:-1], "has 15 bytes, its header promises float64 \\[2\\]"),
        (npy(np.zeros(2)) + b"x", "has 17 bytes"),
        (npy(np.zeros(2)).replace(b"(2,)", b"(9,)"), "promises float64 \\[9\\]"),
        (npy(np.zeros((0, 2))).replace(b"(0, 2)", b"(0,9**9)"), "not an array"),
        (npy(np.zeros((0, 222222))).replace(b"222222", b"999999"), "is empty, its header promises"),
        (npy(np.zeros(2)).replace(b"(2,)", b"((,)"), "not an array"),
        (bytearray(b"no array"), "not an array"),
        (bytearray(b""), "not an array"),
        (bytearray(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), "not an array"),
        (bytearray(b"\x93NUMPY\x07\x00\x10\x00\x00\x00"), "not an array"),
    ],
)
def test_what_is_not_the_array_that_it_promises_is_refused(content, message):
    with pytest.raises(InputError, match="^w .*" + message):
        array_from_bytes(content, "w")


def test_more_than_is_expected_is_refused_before_memory_is_taken():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", bytes(npy(np.zeros(50 << 20, np.uint8))))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"declares \d+ bytes of arrays, at most \d+ are expected"):
        ArrayArchive(content, "--data: x.npz")
    opened = ArrayArchive(content, "--data: x.npz", 1 << 30)
    with pytest.raises(InputError, match="x has .* bytes, at most 1000 are expected"):
        opened.content("x", 1000)
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()
    assert opened.array("x").nbytes == 50 << 20


def test_damaged_archives_are_refused():
    with pytest.raises(InputError, match="--data: x.npz: File is not a zip file"):
        ArrayArchive(io.BytesIO(b"nothing"), "--data: x.npz")
    with pytest.raises(InputError, match="y is missing"):
        archive({"x.npy": npy(1.0)}).array("y")
    with pytest.raises(InputError, match="'x' is in it twice"):
        archive({"x.npy": npy(1.0), "x": b""})
    with pytest.raises(InputError, match="compressed in a way that numpy does not write"):
        archive({"x.npy": npy(1.0)}, zipfile.ZIP_BZIP2)


def test_a_changed_byte_of_a_member_is_found():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("x.npy", bytes(npy(np.full(4, 7, np.uint8))))
    changed = content.getvalue().replace(bytes([7, 7, 7, 7]), bytes([7, 7, 7, 8]))
    with pytest.raises(InputError, match="x: Bad CRC-32"):
        ArrayArchive(io.BytesIO(changed), "--data: x.npz").array("x")
