"""Records of TFRecord files: found by their numbers, checked once."""

import gzip
import pickle

import pytest

from tests.workloads.data.record_examples import write_records
from workloads.data.record_files import RecordFiles
from workloads.support.errors import InputError


@pytest.fixture
def folder(tmp_path):
    write_records(tmp_path / "part-1", range(3, 5))
    write_records(tmp_path / "part-0", range(3))
    write_records(tmp_path / "part-2", [])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "more").mkdir()
    return tmp_path


def test_records_come_in_the_order_of_the_files_names(folder):
    whole = folder / "more" / "all"
    write_records(whole, range(5))
    parts, one = RecordFiles(str(folder)), RecordFiles(str(whole))
    assert parts.count == one.count == 5 and parts.digest == one.digest
    assert [parts.read(row) for row in (4, 0, 3, 1, 2)] == [one.read(row) for row in (4, 0, 3, 1, 2)]
    parts.close()
    assert parts.read(1) == one.read(1)


def test_another_process_need_not_read_them_through_again(folder):
    files = RecordFiles(str(folder))
    expected = files.read(3)
    text = pickle.dumps(files)
    (folder / "part-0").rename(folder / "away")
    assert pickle.loads(text).count == 5 and pickle.loads(text).read(3) == expected


def test_other_records_have_another_digest(folder):
    before = RecordFiles(str(folder)).digest
    write_records(folder / "part-1", [4, 3])
    assert RecordFiles(str(folder)).digest != before


def _flip(path):
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(gzip.compress(path.read_bytes())),
        lambda path: path.write_text("no records"),
    ],
    ids=["a flipped bit", "cut short", "compressed", "text"],
)
def test_damaged_files_are_refused(damage, folder):
    damage(folder / "part-1")
    with pytest.raises(InputError, match="--data: .*part-1 is damaged, compressed, or no TFRecord file"):
        RecordFiles(str(folder))


def test_a_place_without_files_is_refused(folder):
    with pytest.raises(InputError, match="--data: got .*more.*, there is no file in that folder"):
        RecordFiles(str(folder / "more"))
    with pytest.raises(InputError, match="--data: cannot read .*nowhere: No such file"):
        RecordFiles(str(folder / "nowhere"))


def test_a_file_that_is_shortened_meanwhile_is_noticed(folder):
    files = RecordFiles(str(folder))
    (folder / "part-1").write_bytes(b"")
    with pytest.raises(InputError, match="it was shortened while it was read"):
        files.read(4)
