"""Python names of variables: the last word, and the folders that tell variables of the same word apart."""

from legacy.source.lines.identifiers import words_of_paths


def words(*paths):
    return list(words_of_paths(dict(enumerate(paths))).values())


def test_the_innermost_folder_tells_variables_apart():
    assert words("dec/gates/kernel", "dec/candidate/kernel", "dec/gates/bias") == [
        "gates_kernel",
        "candidate_kernel",
        "bias",
    ]


def test_folders_that_all_have_say_nothing():
    assert words("net/cell_0/lstm/kernel", "net/cell_1/lstm/kernel") == ["cell_0_kernel", "cell_1_kernel"]
    found = words(*(f"net/cell_{n}/gru/{gate}/kernel" for n in (0, 1) for gate in ("gates", "candidate")))
    assert found == ["cell_0_gates_kernel", "cell_0_candidate_kernel", "cell_1_gates_kernel", "cell_1_candidate_kernel"]


def test_many_folders_would_be_no_name():
    paths = [f"net/{a}/{b}/{c}/w" for a in "ab" for b in "cd" for c in "ef"]
    assert words(*paths) == ["e_w", "f_w"] * 4
    assert words("w", "net/w") == ["w", "w"]
