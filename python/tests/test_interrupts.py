"""Ctrl-C, callbacks, threads and forks."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tessera
from tessera import Limits

ENDLESS = {"mapper": "random", "limits": Limits(max_time=120), "threads": 1}


@pytest.fixture(autouse=True)
def interruptible():
    """What started the tests in the background may have SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when(condition):
    """SIGINT to this process as soon as the condition holds."""

    def watch():
        while not condition():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


def test_control_c_gives_the_best_mapping(small):
    seen = []
    interrupt_when(lambda: any(p.best for p in seen))
    result = tessera.map(small, progress=seen.append, **ENDLESS)
    assert result.stopped_by == "stop" and result.status == "feasible"
    assert result.edp <= min(p.best for p in seen if p.best) * (1 + 1e-9)


def test_control_c_ends_a_comparison(small):
    seen = []
    interrupt_when(lambda: any(p.best for p in seen))
    table = tessera.compare(small, ["random", "annealing"], limits=Limits(max_time=120), threads=1,
                            progress=seen.append)
    assert len(table) == 1 and table[0]["result"].stopped_by == "stop"


def test_other_signals_end_it_with_their_exception(small):
    def handler(*_):
        raise TimeoutError("alarm")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="alarm"):
            tessera.map(small, **ENDLESS)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_progress_is_told_on_the_callers_thread(small):
    seen = []

    def listen(progress):
        seen.append((threading.get_ident(), progress))

    result = tessera.map(small, mapper="random", limits=Limits(max_evals=3000), progress=listen)
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    counts = [p.evaluated for _, p in seen]
    assert counts == sorted(counts) and counts[-1] == result.statistics["evaluated"]
    assert seen[-1][1].best == result.edp


def test_what_a_callback_raises_is_raised(small):
    class Enough(Exception):
        pass

    def listen(_):
        raise Enough("now")

    began = time.monotonic()
    with pytest.raises(Enough, match="now"):
        tessera.map(small, progress=listen, **ENDLESS)
    assert time.monotonic() - began < 60


def test_progress_line(small, capsys):
    tessera.map(small, progress=True)
    assert "evaluated" in capsys.readouterr().err or pytest.importorskip("tqdm")


def test_searches_in_threads_of_python(small):
    expected = [tessera.map(small, metric).best for metric in ("energy", "latency", "edp")] * 2
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda m: tessera.map(small, m).best,
                              ("energy", "latency", "edp") * 2))
    assert found == expected


def test_the_gil_is_free(small):
    ticks = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    tessera.map(small, mapper="random", limits=Limits(max_time=0.3), threads=1)
    stop.set()
    thread.join()
    assert len(ticks) > 20


def _search(seed):
    problem = tessera.Problem.load("simba", "matmuls", {"N_EINSUMS": 2})
    return tessera.map(problem, mapper="annealing", seed=seed, limits=Limits(max_evals=500))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_searches_in_other_processes(small, how):
    here = _search(3)
    with multiprocessing.get_context(how).Pool(2) as pool:
        there = pool.map(_search, [3, 4])
    assert there[0].solutions == here.solutions and there[0].status == here.status
