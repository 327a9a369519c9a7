"""A few damaged inputs of the kinds that Python alone reads: each is read, or refused as unusable input.

`make fuzz` runs thousands, of every kind, in processes of their own.
"""

from __future__ import annotations

import pathlib
import random
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from parity.diagnosis.collect import evidence_of_recordings
from parity.verdict.explanation import explain_recordings
from tests.fuzz import array_damage, mutations, readers
from tests.fuzz.corpus import KINDS, SOUND
from tests.fuzz.examples import CHOICES
from workloads.records.reader import Recording
from workloads.support.errors import InputError

#: Damaged inputs of each kind.
EXAMPLES = 16


def read_recordings(folder: pathlib.Path) -> None:
    """Reads a sound and a damaged recording, as `parity.diagnose` does."""
    with Recording(str(folder / SOUND), "--left") as left, Recording(str(folder / "damaged.npz"), "--right") as right:
        evidence_of_recordings(left, right)


READ = {
    "recording": read_recordings,
    "cifar": lambda folder: readers.read_data_dir(str(folder)),
    "idx": lambda folder: readers.read_data_dir(str(folder)),
    "TF_CONFIG": lambda folder: readers.read_cluster(str(folder / "tf_config")),
    "arrays": lambda folder: readers.read_data(str(folder / "data.npz"), str(folder / "lift")),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with the sound inputs of the kinds in `READ`."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in READ:
        for choice in range(CHOICES):
            (folder / name / str(choice)).mkdir(parents=True)
            KINDS[name].write(folder / name / str(choice), choice)
    return folder


@pytest.mark.parametrize("name", READ)
def test_a_damaged_input_is_read_or_refused_and_nothing_else(name, corpus, tmp_path):
    refused = []

    @seed(0)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, CHOICES - 1), st.integers(0, 2**32 - 1))
    def read(choice: int, number: int) -> None:
        folder = tmp_path / "input"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(corpus / name / str(choice), folder)
        rng = random.Random(number)
        told = mutations.damage(rng.choice(sorted(folder.glob(KINDS[name].damaged))), rng)
        try:
            READ[name](folder)
        except InputError as error:
            refused.append((told, str(error)))

    for choice in range(CHOICES):
        READ[name](corpus / name / str(choice))
    read()
    assert len(refused) > EXAMPLES // 4  # otherwise the damage would be none
    assert all("\n" not in message for _, message in refused)


def test_a_cause_is_found_in_the_sound_recordings(corpus):
    folder = corpus / "recording" / "0"
    with Recording(str(folder / SOUND)) as left, Recording(str(folder / "damaged.npz")) as right:
        assert explain_recordings(left, right).recognized


def test_every_damage_of_a_recording_changes_it(corpus, tmp_path):
    source = (corpus / "recording" / "0" / SOUND).read_bytes()
    for number in range(20):
        path = tmp_path / "damaged.npz"
        path.write_bytes(source)
        members = {"00000/losses": np.float32([1, 2])}
        assert array_damage.odd_members(members, random.Random(number)) and mutations.damage(
            path, random.Random(number)
        )
