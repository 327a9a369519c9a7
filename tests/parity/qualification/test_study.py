"""The command of the study: its flags, its images and the file that it writes."""

import contextlib

import pytest

from tests.own_flags import own_flags, set_flags
from tests.refusals import refusal
from workloads.support.command_line import flag_help
from workloads.support.errors import InputError

with own_flags(shared=False):
    from parity.qualification import study


@pytest.fixture
def flags():
    """Sets flags of the command until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda **values: stack.enter_context(set_flags(study.FLAGS, **values))


@pytest.mark.parametrize("seeds", [2, 16])
def test_as_many_seeds_as_have_an_interval_are_allowed(seeds, flags):
    flags(seeds=seeds)
    assert refusal(study.check_flags) == ""


@pytest.mark.parametrize(
    "values, message",
    [
        ({"seeds": 1}, "--seeds: got 1, from 2 to 16"),
        ({"seeds": 17}, "--seeds: got 17, from 2 to 16"),
        ({"workloads": ["resnet18"]}, "--workloads: got 'resnet18', allowed: cifar_cnn, regression"),
        ({"replicas": 0}, "--replicas: got 0, must be at least 1"),
        ({"steps": 9}, "--steps: got 9, must be at least 10"),
        ({"processes": 0}, "--processes: got 0, must be at least 1"),
        ({"markdown": "/no/such/folder/study.md"}, "--markdown: got '/no/such/folder/study.md'"),
    ],
)
def test_what_cannot_be_used_is_refused(values, message, flags):
    flags(**values)
    with pytest.raises(InputError, match=message):
        study.check_flags()


@pytest.mark.parametrize("flag, value", [("seeds", 3), ("workloads", ["regression"]), ("data_dir", "/images")])
def test_flags_of_one_study_are_refused_for_another(flag, value, flags):
    flags(name="overlap")
    assert refusal(study.check_flags) == ""
    flags(**{flag: value})
    assert f"--{flag}: got {value!r}, serves --name=sync_or_async" in refusal(study.check_flags)


def test_quick_changes_what_was_not_given(flags):
    flags(seeds=3)
    with set_flags(study.FLAGS, quick=True, steps=500, workloads=list(study.WORKLOADS), replicas=4):
        for flag in ("steps", "workloads", "replicas"):
            study.FLAGS[flag].present = 0
        study.make_quick()
        assert (study.FLAGS.seeds, study.FLAGS.steps, study.FLAGS.workloads) == (3, 10, ["regression"])


def test_the_help_says_the_question_of_each_study_and_which_one_a_flag_serves():
    text = flag_help.help_text("", study.FLAGS, study.__name__)
    for name, question in study.QUESTIONS.items():
        assert f"{name}: {question}" in " ".join(text.split())
    for flag in study.SYNC_FLAGS:
        assert study.FLAGS[flag].help.endswith("Serves --name=sync_or_async.")


def test_a_page_of_a_quick_run_says_that_it_is_no_answer(flags):
    flags(name="overlap")
    assert "no answer" not in "".join(study.closing_lines(1.0))
    flags(quick=True)
    lines = list(study.closing_lines(1.0))
    assert lines[0].startswith("`python -m parity.study --name=overlap --quick`, 1 s") and "no answer" in lines[-1]


def test_no_image_is_read_where_no_workload_takes_images(flags):
    flags(workloads=["regression"])
    assert study.images_from_flags() is None
    flags(workloads=["cifar_cnn"])
    assert "scanned digits" in study.images_from_flags().description


def test_the_page_is_written_where_a_file_is_named(flags, tmp_path):
    study.write_markdown("nowhere")
    flags(markdown=str(tmp_path / "study.md"))
    study.write_markdown("# page\n")
    assert (tmp_path / "study.md").read_text() == "# page\n"
    flags(markdown=str(tmp_path))
    with pytest.raises(InputError, match="--markdown: cannot write"):
        study.write_markdown("# page\n")
