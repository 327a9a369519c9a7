import pytest

from legacy.saved.tower_search.towers import Towers


@pytest.mark.parametrize(
    "mask, tower, common, shared",
    [
        (0, None, False, False),
        (1, None, True, False),
        (3, 0, False, False),
        (5, 1, False, False),
        (7, None, False, True),
    ],
)
def test_a_nodes_mask_tells_the_towers_that_it_depends_on(mask, tower, common, shared):
    towers = Towers(2, "by hand", {"n": mask}, {}, set())
    assert (towers.tower_of("n"), towers.is_common("n"), towers.is_shared("n")) == (tower, common, shared)
    assert towers.tower_of("unknown") is None and not towers.is_common("unknown")
