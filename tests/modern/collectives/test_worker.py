from modern.collectives.worker import Worker


def test_the_first_worker_is_the_chief_and_no_other():
    assert [Worker(None, index, 3).chief for index in range(3)] == [True, False, False]
