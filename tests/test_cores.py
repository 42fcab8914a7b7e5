from keras_attention import cores


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert cores.count_of_cores() == 3
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 11)
    assert cores.count_of_cores() == 11
