"""Pictures of a history: nothing that is identical is drawn."""

from parity.html.pictures import difference_pictures, loss_pictures
from tests.parity.html.pages import history


def test_losses_name_both_sides():
    (picture,) = loss_pictures(history(), ("a.npz", "b.npz"))
    assert ">a.npz</text>" in picture and ">b.npz</text>" in picture
    assert "they first differ at step 1; a.npz from 1 to 0.25, b.npz from 1 to 3.25." in picture
    assert "the same numbers in every step; a from 1 to 0.25." in loss_pictures(history(differs=False), ("a", "b"))[0]


def test_identical_bits_are_one_sentence():
    (sentence,) = difference_pictures(history(differs=False), "exact")
    assert sentence == "<p>Nowhere: 6 tensors have identical bits in each of 4 steps.</p>"


def test_differences_are_in_units_of_what_is_allowed_under_auto():
    relative, shares = (difference_pictures(history(), name)[0] for name in ("exact", "auto"))
    assert "relative difference</text>" in relative and "in units of the tolerance</text>" in shares
