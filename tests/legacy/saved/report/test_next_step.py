"""The next commands that the page of a saved graph suggests, and its number of parameters."""

from legacy.saved.report import next_step
from legacy.saved.report.next_step import next_rows, parameter_count, with_other_runs
from tests.small_lift import small_job
from workloads.lifted.plan import Variable


def answers(plan, path="graph.meta", flags=()):
    return {row["what"]: row["is"] for row in next_rows(plan, path, flags)}


def test_a_graph_that_can_be_lifted(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    found = answers(plan, flags=["--train_op=train"])
    assert found["can be lifted"] == "yes" and found["replicas"] == "any number"
    assert found["next command"] == "python -m legacy.lift graph.meta --out=lifted --train_op=train"
    assert found["then"] == "python -m parity.verify --workload=lifted"


def test_constants_stay_those_of_the_towers_where_replicas_may_be_of_another_number(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    assert answers(plan)["constants"].startswith(f"stay those of {plan.towers} towers; a learning rate")
    plan.own_number = "towers differ"
    assert "constants" not in answers(plan), "there is no other number"
    plan.own_number, plan.towers = "", 1
    assert "constants" not in answers(plan), "one tower's constants follow no number of towers"


def test_the_checkpoint_beside_a_graph_is_named(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    (tmp_path / "model.ckpt-7.index").touch()
    command = answers(plan, str(tmp_path / "model.ckpt-7.meta"))["next command"]
    assert f"--checkpoint={tmp_path / 'model.ckpt-7'} " in command


def test_ops_that_are_refused_are_asked_for(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    plan.unsafe["reader"] = "PyFunc"
    found = answers(plan)
    assert found["can be lifted"] == "if you trust it: a step runs PyFunc"
    assert found["next command"].endswith("--allow_ops=PyFunc")


def test_python_in_the_model_is_data_of_a_lift(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    plan.unsafe["mask"] = "PyFunc"
    plan.sources["mask"] = "mask:0"
    found = answers(plan)
    assert found["can be lifted"].startswith("only with the results of mask as data: Python in the model")
    assert found["next command"].endswith("--allow_ops=PyFunc")


def test_a_lift_whose_loops_no_replica_runs_is_the_reference_of_a_source(tmp_path):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    plan.divided_loops = ["tower_0/while/Tanh:0"]
    found = answers(plan)
    assert found["can be lifted"].startswith("as the reference of a source alone: a tower takes tower_0/while/Tanh:0")
    assert found["next command"].endswith("--out=lifted --source=port.py")
    assert found["then"] == "python -m parity.verify --workload=port.py:PORT --against=lifted"


def test_unequal_parts_cannot_be_lifted(tmp_path, monkeypatch):
    plan = small_job(str(tmp_path / "lift")).workload.plan
    monkeypatch.setattr(next_step, "unequal_parts", lambda plan: "towers take 12, 36 rows of x")
    found = answers(plan)
    assert found["can be lifted"] == "no: towers take 12, 36 rows of x" and "next command" not in found


def test_what_cannot_be_lifted_has_no_other_runs():
    rows = [{"what": "can be lifted", "is": "no: towers take 12, 36 rows of x"}]
    assert with_other_runs(rows, ["d", "g"]) == rows
    assert with_other_runs([{**rows[0], "is": "yes"}], ["d", "g"]) == [
        {"what": "can be lifted", "is": "yes, if its train ops take turns"},
        {
            "what": "other runs",
            "is": "--train_op=d+g if one run fetches all, --train_op=d,d,g if d runs twice in each round",
        },
    ]
    found = with_other_runs([{**rows[0], "is": "yes"}], ["old", "new"], are_alike=True)[-1]["is"]
    assert found.endswith(", --train_op=old or --train_op=new if the program runs one of them alone")


def test_parameters_are_those_of_the_weights():
    assert parameter_count([Variable("w", [10, 2], "float32", "weight")]) == "20 in 1 weight"


def test_variables_of_open_shape_are_counted_and_not_measured():
    weight, others = Variable("w", [10, 2], "float32", "weight"), [None, [None, 2]]
    examples = [Variable(f"examples_{shape}", shape, "float32", "statistic") for shape in others]
    assert parameter_count([weight, *examples]) == "20 in 1 weight; 2 variables of open shape"
