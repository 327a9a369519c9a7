from legacy.saved.tower_search.labelling.labellings import labellings
from tests.legacy.saved.graphs import graph_of


def found(text):
    """{how: {node: number}} of the candidate labellings."""
    return {labelling.found_by: labelling.labels for labelling in labellings(graph_of(text))}


def test_devices_label_nodes_from_zero_without_gaps():
    text = """
        a = NoOp() @ /job:worker/device:GPU:2
        b = NoOp() @ /gpu:5
        c = NoOp() @ /cpu:0
    """
    assert found(text)["device /gpu:k"] == {"a": 0, "b": 1}
    assert "device /cpu:k" not in found(text)  # one label is no labelling


def test_scopes_label_nodes_by_their_number():
    assert found("tower_0/a = NoOp()\n tower_1/a = NoOp()\n other = NoOp()")["name scope tower_k"] == {
        "tower_0/a": 0,
        "tower_1/a": 1,
    }


def test_a_model_built_again_is_labelled_by_the_suffix_of_its_scope():
    assert found("model/a = NoOp()\n model_1/a = NoOp()")["name scope model(_k) k"] == {"model/a": 0, "model_1/a": 1}


def test_nodes_built_again_without_a_scope_are_labelled_by_their_own_suffix():
    assert found("MatMul = NoOp()\n MatMul_1 = NoOp()")["suffixes of names"] == {"MatMul": 0, "MatMul_1": 1}


def test_a_gradient_op_without_a_label_has_its_forward_ops():
    text = "a = NoOp() @ /gpu:0\n b = NoOp() @ /gpu:1\n gradients/b_grad/Neg = NoOp()\n gradients/AddN = NoOp()"
    assert found(text)["device /gpu:k"] == {"a": 0, "b": 1, "gradients/b_grad/Neg": 1}


def sized(first, second):
    """Labellings of a graph with so many nodes on each device."""
    lines = [f"a{i} = NoOp() @ /gpu:0" for i in range(first)] + [f"b{i} = NoOp() @ /gpu:1" for i in range(second)]
    return found("\n".join(lines))


def test_labels_of_very_different_sizes_are_no_towers():
    assert "device /gpu:k" in sized(20, 3)  # 0.15 of the largest
    assert "device /gpu:k" not in sized(20, 2)


def test_more_labels_than_there_are_devices_in_a_machine_are_no_towers():
    assert "device /gpu:k" in found("\n".join(f"n{i} = NoOp() @ /gpu:{i}" for i in range(64)))
    assert "device /gpu:k" not in found("\n".join(f"n{i} = NoOp() @ /gpu:{i}" for i in range(65)))


def test_the_place_of_a_variable_says_nothing_of_an_ops_tower():
    text = "w = VariableV2() @ /gpu:0\n a = NoOp() @ /gpu:0\n b = NoOp() @ /gpu:1\n read = NoOp() @ /gpu:0"

    def device_labels(place):
        graph = graph_of(text)
        graph.nodes["read"].attr["_class"].list.s.append(f"loc:@{place}".encode())
        return {labelling.found_by: labelling.labels for labelling in labellings(graph)}["device /gpu:k"]

    assert "read" not in device_labels("w")
    assert device_labels("a")["read"] == 0  # the place of another op is its tower's


def test_what_is_colocated_with_the_read_of_a_variable_is_placed_by_the_variable():
    """As a branch of a later tower that takes a weight whose variable a device function moved to the CPU."""
    text = """
        w = VariableV2() @ /cpu:0
        w/read = Identity(w) @ /gpu:0
        a = NoOp() @ /gpu:0
        a/read = NoOp() @ /gpu:0
        b = NoOp() @ /gpu:1
        taken = Switch(w/read, b) @ /gpu:0
    """

    def label_of_taken(place):
        graph = graph_of(text)
        graph.nodes["taken"].attr["_class"].list.s.append(f"loc:@{place}".encode())
        return {found.found_by: found.labels for found in labellings(graph)}["device /gpu:k"].get("taken")

    assert label_of_taken("w/read") is None
    assert label_of_taken("a/read") == 0


def test_what_is_colocated_with_the_entry_of_a_variable_into_a_loop_is_placed_by_the_variable():
    """As the gradient of a weight that enters a second tower's loop, by colocate_gradients_with_ops."""
    graph = graph_of(
        """
        w = VariableV2() @ /gpu:0
        a = NoOp() @ /gpu:0
        b = NoOp() @ /gpu:1
        enter = Enter(w) @ /gpu:0
        exit = NoOp() @ /gpu:0
        data = Enter(b) @ /gpu:1
        """
    )
    for name, place in (("exit", "enter"), ("b", "b")):
        graph.nodes[name].attr["_class"].list.s.append(f"loc:@{place}".encode())
    labels = {labelling.found_by: labelling.labels for labelling in labellings(graph)}["device /gpu:k"]
    assert labels == {"w": 0, "a": 0, "b": 1, "data": 1}


def test_two_gradient_graphs_are_no_towers():
    """A GAN differentiates two losses in the same name scope."""
    for scope in ("gradients", "cond", "while"):
        text = f"a/{scope}/b_grad/Neg = NoOp()\n a/{scope}_1/b_grad/Neg = NoOp()"
        assert not any(scope in how for how in found(text))


def test_copies_inside_of_each_device_are_no_towers():
    """A discriminator is built for real and for made examples on each GPU."""
    text = "\n".join(
        f"device_{gpu}/d_model_{copy}/MatMul = NoOp() @ /gpu:{gpu}" for gpu in range(2) for copy in range(2 - gpu)
    )
    assert {"device /gpu:k", "name scope device_k"} <= set(found(text))
    assert not any("d_model" in how for how in found(text))
