"""What is raised, and what it knows."""

import pickle
import time
import warnings

import pytest

import tessera
from tessera import Limits, Problem

ARCH = """
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 10, throughput: inf}
    - {name: write, energy: 10, throughput: inf}
    tensors: {keep: All}
  - !Memory
    name: Inner
    size: 8
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 1, throughput: inf}
    - {name: write, energy: 1, throughput: inf}
    tensors: {keep: All}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, throughput: 1}
"""
WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 4, K: 4}
  einsums:
  - {einsum: "Y[m] = A[m, k]"}
"""


def test_user_error_knows_its_place(tmp_path):
    path = tmp_path / "chip.yaml"
    path.write_text(ARCH.replace("size: 8", "sise: 8"))
    with pytest.raises(tessera.UserError) as caught:
        Problem.load(path, "matmul")
    error = caught.value
    assert (error.file, error.line) == (str(path), 13) and error.column > 0
    assert "size" in str(error) and isinstance(error, (ValueError, tessera.TesseraError))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.file, copy.line) == (str(error), error.file, error.line)


@pytest.mark.parametrize("call, word", [
    (lambda p: Problem.load("tpu", "matmul"), "tpu"),
    (lambda p: Problem.load("snowcat", "matmuls", {"N_EINSUM": 2}), "N_EINSUMS"),
    (lambda p: Problem.load("snowcat", "matmul", compat="timelop"), "timelop"),
    (lambda p: tessera.map(p, "speed"), "speed"),
    (lambda p: tessera.map(p, mapper="anealing"), "annealing"),
    (lambda p: tessera.map(p, mapspace="ful"), "ful"),
    (lambda p: tessera.map(p, model="looptre"), "looptre"),
    (lambda p: tessera.map(p, knobs={"search": {"batch": 3}}), "search"),
    (lambda p: tessera.map(p, mapper="random", knobs={"search": {"batch": 0}}), "batch"),
    (lambda p: tessera.compare(p, ["ffm"], knobs={"genetic": {"x": 1}}), "genetic"),
    (lambda p: tessera.Mapping.from_yaml("mapping: {nodes: [!Storage {}]}"), "mapping"),
])
def test_wrong_input_is_a_user_error(small, call, word):
    with pytest.raises(tessera.UserError, match=word):
        call(small)


def test_nothing_is_legal():
    result = tessera.map(Problem.parse(ARCH, WORKLOAD))
    assert result.status == "infeasible" and result.solutions == [] and result.reasons
    with pytest.raises(tessera.NoLegalMapping) as caught:
        result.best
    assert caught.value.reasons == result.reasons
    assert "Inner" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).reasons == result.reasons


def test_a_limit_comes_first(small):
    result = tessera.map(small, mapper="random", limits=Limits(max_time=1e-9))
    assert result.status == "unknown"
    with pytest.raises(tessera.LimitReached):
        result.edp


def test_cpu_time_is_that_of_each_search(small):
    """Not that of the process so far, which is more."""
    while time.process_time() < 0.5:
        pass
    for mapper in ("random", "annealing"):
        began = time.process_time()
        result = tessera.map(small, mapper=mapper, limits=Limits(max_cpu_time=0.2), threads=1)
        assert result.stopped_by == "max-cpu-time"
        assert time.process_time() - began > 0.19


def test_warnings_of_files_are_warnings():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        problem = Problem.parse(ARCH + "config: {expression_custom_functions: []}\n", WORKLOAD)
    assert [w.category for w in heard] == [tessera.TesseraWarning] * len(problem.warnings)
    assert any("config" in line for line in problem.warnings)
