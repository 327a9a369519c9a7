"""Tests of what texts have in common."""

import pytest

from legacy.source.repeats.common_texts import common_and_own, common_ends


@pytest.mark.parametrize(
    "texts, expected",
    [
        (["model/encoder/w", "model/decoder/w"], (("model/", "/w"), ("encoder", "decoder"))),  # no "en", "de"
        (["inner/w", "input/w"], (("", "/w"), ("inner", "input"))),  # no "ner", "put"
        (["net/w3a", "net/wout"], (("net/w", ""), ("3a", "out"))),  # a number is a word of its own
        (["conv_a/w", "conv_b/w"], (("conv_", "/w"), ("a", "b"))),
        (["fc1/w", "fc2/w"], (("fc", "/w"), ("1", "2"))),
    ],
)
def test_what_texts_have_of_their_own_is_whole_words(texts, expected):
    assert common_and_own(texts) == expected


def test_common_ends_tear_no_number():
    assert common_ends(["conv10/w", "conv11/w"]) == ("conv", "/w")
