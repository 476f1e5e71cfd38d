"""Problems, searches and results: what the command line gives, bit for bit."""

import pickle
import subprocess
import sys

import pytest

import tessera
from tessera import Limits, MapSpace, Problem

DEMO = ("tpu-v4i", "gpt3-6.7b", {"BATCH": 1, "TOKENS": 2048})


def arguments(arch, workload, defines):
    return ["map", "-a", arch, "-w", workload,
            *(word for name, value in defines.items() for word in ("-D", f"{name}={value}"))]


def same(result, document):
    """Costs are equal to the last bit; so are trees, bounds and Pareto sets."""
    assert result.status == document["status"]
    assert [s.report.values for s in result.solutions] == document["mappings"]
    for solution, entry in zip(result.solutions, document["mappings"]):
        assert (solution.energy, solution.latency, solution.edp) == (
            entry["energy_j"], entry["latency_s"], entry["edp_js"])
    if len(result.metrics) == 1:
        assert result.bound == next(iter(document["bound"].values()), None)
    assert result.gap == document["gap"]


@pytest.mark.parametrize("problem, options, words", [
    (DEMO, {}, []),
    (("eyeriss", "mobilenet-28", {}), {"metric": "energy"}, ["--metric", "energy"]),
    (("simba", "matmuls", {"N_EINSUMS": 2}), {"metric": ["energy", "latency"]},
     ["--metric", "energy,latency"]),
    (("simba", "matmuls", {"N_EINSUMS": 2}), {"metric": ["resource_usage:GlobalBuffer", "energy"]},
     ["--metric", "resource_usage:GlobalBuffer,energy"]),
    (("snowcat", "matmuls", {}), {"metric": "resource_usage:GlobalBuffer"},
     ["--metric", "resource_usage:GlobalBuffer"]),
    (("simba", "matmuls", {"N_EINSUMS": 2}), {"mapspace": "accelforge"},
     ["--mapspace", "accelforge"]),
    (("simba", "three-matmuls", {}), {"metric": "traffic", "mapspace": MapSpace(unfused=True)},
     ["--metric", "traffic", "--unfused"]),
    (("simba", "matmuls", {"N_EINSUMS": 2}),
     {"mapspace": MapSpace(imperfect_spatial=True, max_fused_loops=1, einsum_orders="file")},
     ["--imperfect-spatial", "--max-fused-loops", "1", "--einsum-orders", "file"]),
    (("nvdla", "matmuls", {"N_EINSUMS": 2}),
     {"mapper": "annealing", "seed": 7, "limits": Limits(max_evals=2000),
      "knobs": {"search": {"batch": 64}}},
     ["--mapper", "annealing", "--seed", "7", "--max-evals", "2000", "--knob", "search.batch=64"]),
    (("one-buffer", "matmul", {}), {"mapper": "fusecu", "metric": "traffic"},
     ["--mapper", "fusecu", "--metric", "traffic"]),
])
def test_equals_the_command_line(program, problem, options, words):
    same(tessera.map(Problem.load(*problem), **options), program(*arguments(*problem), *words))


def test_usage_of_a_memory():
    problem = Problem.load("simba", "matmuls", {"N_EINSUMS": 2})
    result = tessera.map(problem, ["energy", "resource_usage:GlobalBuffer"])
    rows = result.rows()
    used = [row["resource_usage:GlobalBuffer"] for row in rows]
    assert len(rows) > 1 and used == sorted(used, reverse=True)
    assert used == [s.resource_usage.get("GlobalBuffer", 0.0) for s in result.solutions]
    assert result.energy == tessera.map(problem, "energy").energy
    with pytest.raises(tessera.UserError, match="no memory of limited size.*GlobalBuffer"):
        tessera.map(problem, "resource_usage:MainMemory")
    with pytest.raises(tessera.UserError, match="resource_usage:MEMORY"):
        tessera.map(problem, "resource_usage")


def test_text_and_dictionary_are_the_file(program):
    arch = {"arch": {"nodes": [
        {"!": "Memory", "name": "Outer", "size": float("inf"), "leak_power": 0, "area": 0,
         "actions": [{"name": "read", "energy": 10, "throughput": 8},
                     {"name": "write", "energy": "5 + 5", "throughput": 8}],
         "tensors": {"keep": "~Intermediates", "may_keep": "All"}},
        {"!": "Memory", "name": "Inner", "size": "SIZE", "leak_power": 0, "area": 0,
         "actions": [{"name": "read", "energy": 1, "throughput": 64},
                     {"name": "write", "energy": 1, "throughput": 64}],
         "tensors": {"keep": "~Outer", "may_keep": "All"}},
        {"!": "Compute", "name": "MAC", "leak_power": 0, "area": 0,
         "actions": [{"name": "compute", "energy": 1, "throughput": 1}]}]},
        "variables": {"SIZE": 64}}
    workload = {"workload": {"bits_per_value": {"All": 8}, "rank_sizes": {"M": 16, "K": 8, "N": 4},
                             "einsums": [{"einsum": "T[m, n] = A[m, k] * B[k, n]"},
                                         {"einsum": "Z[m] = T[m, n] * C[n]"}]}}
    made = Problem.from_dict(arch, workload, defines={"SIZE": 1024})
    assert made.einsums == ["T", "Z"]
    assert made.components == ["Outer", "Inner", "MAC"]
    text = tessera._problem._yaml.dump
    parsed = Problem.parse(text(arch), text(workload), {"SIZE": 1024})
    first, second = tessera.map(made), tessera.map(parsed)
    assert first.solutions == second.solutions
    assert tessera.map(Problem.from_dict(arch, workload)).edp > first.edp


def test_evaluate_and_explain(small, program, tmp_path):
    result = tessera.map(small)
    again = tessera.Mapping.from_yaml(result.mapping.to_yaml())
    assert again == result.mapping and hash(again) == hash(result.mapping)
    assert tessera.evaluate(small, again) == result.best
    assert [v for v in tessera.explain(small, again) if v.severity != "warning"] == []
    (tmp_path / "mapping.yaml").write_text(again.to_yaml())
    told = program("model", "-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=2", "-m",
                   str(tmp_path / "mapping.yaml"))
    assert tessera.evaluate(small, again).report.values == told["mappings"][0]


def test_illegal_mapping_is_explained(small):
    broken = tessera.map(small).mapping.to_yaml().replace("tile_shape: 1", "tile_shape: 3", 1)
    mapping = tessera.Mapping.from_yaml(broken)
    with pytest.raises(tessera.IllegalMapping):
        tessera.evaluate(small, mapping)
    found = tessera.explain(small, mapping)
    assert any(v.severity == "physical" and "3" in v.message for v in found)


def test_known_mapping_to_begin_with(small):
    known = tessera.map(small)
    found = tessera.map(small, mapper="random", start=[known.mapping], limits=Limits(max_evals=10))
    assert found.edp == known.edp


def test_results_can_be_pickled(small):
    result = tessera.map(small, ["energy", "latency"])
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.best.svg == result.best.svg and copy.best.text == result.best.text
    problem = pickle.loads(pickle.dumps(small.only("Matmul0")))
    assert problem.einsums == ["Matmul0"]
    assert tessera.evaluate(small, copy.mapping).edp == result.edp


def test_views(small):
    result = tessera.map(small)
    assert result.best._repr_svg_().startswith("<svg") and "<svg" in result._repr_html_()
    assert result.mapping._repr_svg_().startswith("<svg")
    for name in small.einsums:
        assert name in result.report._repr_html_()
    rows = result.report.rows()
    actions = sum(row["energy_j"] for row in rows)
    assert actions == pytest.approx(result.report["dynamic_energy_j"], rel=1e-9)
    assert {"read", "write", "compute"} <= {row["action"] for row in rows}
    pandas = pytest.importorskip("pandas")
    assert isinstance(result.to_frame(), pandas.DataFrame)


def test_compare_and_sweep(small):
    table = tessera.compare(small, ["ffm", "random"], seeds=[1, 2], limits=Limits(max_evals=200),
                            knobs={"search": {"batch": 32}})
    assert [(row["mapper"], row["seed"]) for row in table] == [
        ("ffm", 1), ("ffm", 2), ("random", 1), ("random", 2)]
    optimum = tessera.map(small).edp
    assert all(row["edp_js"] >= optimum for row in table)
    assert table[2]["edp_js"] != table[3]["edp_js"]
    swept = tessera.sweep(lambda n: Problem.load("simba", "matmuls", {"N_EINSUMS": n}),
                          {"n": [1, 2]}, metric="energy")
    assert [row["n"] for row in swept] == [1, 2]
    assert swept[0]["energy_j"] < swept[1]["energy_j"]


def test_names():
    assert "tpu-v4i" in tessera.arch_names() and "gpt3-6.7b" in tessera.workload_names()
    assert {"ffm", "annealing"} <= set(tessera.mappers()) and "looptree" in tessera.models()
    version = open("../pyproject.toml").read()
    assert f'version = "{tessera.__version__}"' in version


def test_nothing_is_imported_that_is_optional():
    code = "import tessera, sys; assert not {'pandas', 'tqdm', 'optuna'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
