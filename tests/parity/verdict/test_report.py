"""The report of a comparison, as text and as JSON, of results that are made up."""

from rich.console import Console

from parity.causes.basics.cause import HIGH, Finding, RecognizedCause
from parity.causes.catalogue import CAUSES
from parity.comparison.difference import compare
from parity.comparison.result import Failure, Verdict, Verification
from parity.comparison.stage_summary import StageSummary
from parity.coverage.mutant import Choice, Mutant, MutantOutcome
from parity.verdict import report
from parity.verdict.compare_programs import Comparison, Settings
from parity.verdict.explanation import Explanation
from tests.cases import Dyadic, setup
from tests.parity.step_records import MadeUpProgram, arrays, made_up_evidence
from tests.small_lift import small_job
from workloads.support.machine import environment

SETUP = setup(Dyadic())
SETTINGS = Settings({"input": "feed", "xla": "off"}, {"input": "tf.data", "xla": "off"})


def comparison(passed=True, **fields):
    values = arrays({"left": [1.0], "right": [1.0 if passed else 2.0]})
    difference, summary = compare("w", values["left"], values["right"]), StageSummary()
    summary.add(1, difference, 0.0)
    first = None if passed else Failure(1, "loss", difference, 0.0)
    made = Verification("exact", "free", 2, passed, stages={"loss": summary}, first=first, **fields)
    return Comparison(made, SETTINGS)


class MadeUpCoverage:
    """A measurement of one mutant that no step showed."""

    outcomes = [MutantOutcome(Mutant(Choice.CLIP, "clip.limit", "1 -> 2", lambda step: [], lambda: "never acts"))]
    no_visits = "--novisits"


def explanation():
    recognized = [RecognizedCause(CAUSES[0], Finding("sentence [1]", HIGH, "because"))]
    return Explanation(recognized, made_up_evidence())


def printed(made, explained=None):
    console = Console(width=160)
    with console.capture() as capture:
        report.print_verification(console, SETUP, made, explained)
    return capture.get().splitlines()


def test_the_headline_has_the_jobs_sizes():
    assert report.headline(SETUP.job, "free") == (
        "dyadic: 2 replicas, global batch 8 (4 per replica), float32, free mode"
    )


def test_the_headline_of_a_lift_has_the_dtypes_of_its_weights(tmp_path):
    job = small_job(str(tmp_path / "lift"), 2)
    assert "float32, free mode" in report.headline(job, "free")
    job.workload.plan.variables[0].dtype = "float64"
    assert job.workload.plan.variables[0].role == "weight"
    assert "float64, free mode" in report.headline(job, "free")


def test_parity_is_the_last_line():
    lines = printed(comparison())
    assert lines[0] == report.headline(SETUP.job, "free")
    assert lines[-1] == "PARITY: 2 steps, every stage identical bits"
    text = "\n".join(lines)
    assert "tf.data" in text and "xla" not in text  # settings that differ, only


def test_causes_come_first():
    lines = printed(comparison(passed=False), explanation())
    assert lines[0].startswith(f"{CAUSES[0].id}: sentence [1]") and lines[-1].startswith("NO PARITY: first at step 1")


def test_trajectories_and_the_noise_floor_have_tables_where_they_were_measured():
    floor = {
        "loss": dict.fromkeys(("legacy_to_itself", "legacy_to_truth", "modern_to_truth", "modern_over_legacy"), 0.5)
    }
    measured = {
        "trajectory": {"loss": StageSummary()},
        "double": {"loss": StageSummary()},
        "floor": floor,
        "diverged_at": 1,
    }
    plain, full = printed(comparison()), printed(comparison(**measured))
    for words in (
        "free trajectories, reported and not judged",
        "both sides in float64",
        "noise floor",
        "note: the free trajectories diverge",
    ):
        assert words in "\n".join(full) and words not in "\n".join(plain)


def test_json_has_settings_causes_and_both_environments(monkeypatch):
    monkeypatch.setattr(environment, "describe", lambda: {"tensorflow": "2.21"})
    content = report.verification_json(SETUP, comparison(passed=False), None, explanation())
    assert content["workload"] == "dyadic" and content["verdict"] == "no parity"
    assert content["settings"]["legacy"] == SETTINGS.left and content["settings"]["modern"] == SETTINGS.right
    assert [tuple(row) for row in content["settings"]["differences"]] == [("input", "feed", "tf.data")]
    assert [cause["cause"] for cause in content["causes"]] == [CAUSES[0].id] and content["facts"]
    assert content["environment"] == content["legacy_environment"] == {"tensorflow": "2.21"}


def test_json_has_the_recordings_environment(monkeypatch):
    monkeypatch.setattr(environment, "describe", lambda: {"tensorflow": "2.21"})
    recording = MadeUpProgram([])
    recording.manifest = {"environment": {"tensorflow": "1.15"}}
    content = report.verification_json(SETUP, comparison(), recording, None)
    assert content["legacy_environment"] == {"tensorflow": "1.15"} and content["environment"] == {"tensorflow": "2.21"}
    assert content["causes"] == []


def test_each_verdict_has_its_colour():
    assert {verdict: style.split()[-1] for verdict, style in report.STYLES.items()} == {
        Verdict.PARITY: "green",
        Verdict.NO_PARITY: "red",
        Verdict.NOT_SHOWN: "yellow",
    }


def test_mutants_that_no_step_shows_are_named_before_the_verdict():
    made = comparison(not_shown=["clip (never acts)"])._replace(coverage=MadeUpCoverage())
    lines = printed(made)
    assert lines[-1] == "NOT SHOWN: 2 steps, every stage identical bits; but not exercised: clip (never acts)"
    assert lines[-3] == "mutants 1, seen 0; not exercised: clip.limit, 1 -> 2 (never acts)"
    assert lines[-2] == "no visits: --novisits"
    content = report.verification_json(SETUP, made, None, None)
    assert content["verdict"] == "not shown" and content["coverage"][0]["name"] == "clip.limit"
