from workloads.optimizers.update_forms import OWN, FormKind, UpdateForm, epsilon_form


def test_a_form_with_another_epsilon_names_it_as_reports_print_it():
    assert epsilon_form("1e-7", " by step") == UpdateForm(FormKind.EPSILON, "epsilon 1e-7 by step", "1e-7")


def test_forms_are_keys_equal_by_kind_and_name():
    assert {OWN: 1}[UpdateForm(FormKind.OWN, "1.x")] == 1
    assert epsilon_form("1e-7") != epsilon_form("1e-8")
