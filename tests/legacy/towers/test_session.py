from legacy.towers.session import session_config


def test_a_session_has_a_cpu_for_each_tower_and_grappler_only_where_bits_may_differ():
    config = session_config(["CPU:0", "CPU:1"], exact=True)
    assert config.device_count["CPU"] == 2 and config.graph_options.rewrite_options.disable_meta_optimizer
    config = session_config(["GPU:0"], exact=False)
    assert config.device_count["CPU"] == 1 and not config.graph_options.rewrite_options.disable_meta_optimizer
