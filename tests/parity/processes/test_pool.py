"""The pool and the manager: settings that they pass to `multiprocessing`, without starting a process."""

from parity.processes import pool


class MadeUpContext:
    """Remembers what is asked of `multiprocessing`."""

    def Pool(self, *arguments, **keywords):
        return "pool", arguments, keywords

    def Manager(self):
        return "manager"


def test_processes_are_spawned_prepared_and_replaced(monkeypatch):
    methods = []
    monkeypatch.setattr(pool.multiprocessing, "get_context", lambda method: methods.append(method) or MadeUpContext())
    assert pool.process_pool(2, 24) == ("pool", (2, pool._prepare), {"maxtasksperchild": 24})
    assert pool.queue_manager() == "manager"
    assert methods == ["spawn", "spawn"]


def test_a_process_prepares_an_exact_tensorflow_and_ends_without_its_clean_up(monkeypatch):
    prepared, finalizers = [], []
    monkeypatch.setattr(pool.environment, "prepare", lambda exact: prepared.append(exact))
    monkeypatch.setattr(
        pool.multiprocessing.util, "Finalize", lambda *arguments, **options: finalizers.append(arguments)
    )
    pool._prepare()
    assert prepared == [True] and finalizers == [(None, pool.os._exit, (0,))]
