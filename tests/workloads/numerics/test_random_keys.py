import hashlib

from workloads.numerics import random_keys


def test_a_digest_is_of_the_parts_and_not_of_their_joined_text():
    assert random_keys.digest("a", 1) == hashlib.sha256(b"a\x1f1").digest()
    assert random_keys.digest("ab", "c") != random_keys.digest("a", "bc")


def test_a_stream_depends_on_every_part_and_on_nothing_else():
    first = random_keys.generator("batch", 0, 1).random_sample(4)
    random_keys.generator("other").random_sample(4)
    assert random_keys.generator("batch", 0, 1).random_sample(4).tolist() == first.tolist()
    assert random_keys.generator("batch", 0, 2).random_sample(4).tolist() != first.tolist()


def test_noise_keys_are_non_negative_int32_and_differ():
    keys = {random_keys.noise_key(seed, replica, name) for seed in (0, 1) for replica in (0, "all") for name in "ab"}
    assert len(keys) == 8
    assert all(0 <= key < 2**31 for key in keys)
