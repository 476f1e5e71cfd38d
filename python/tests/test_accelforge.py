"""The bridge to AccelForge. What needs AccelForge is skipped where it is not installed; the numbers
that its model gave (version 1.0.467) are kept here, so that ours are always compared with them."""

import os
import warnings

import pytest

import tessera
from tessera import Problem

ARCH = """
variables: {WORD: 8}
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 64e-12, throughput: 16e9}
    - {name: write, energy: 64e-12, throughput: 16e9}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: {{ KIB }} * 1024 * WORD
    leak_power: 1e-3
    area: 1e-6
    energy_scale: 2
    actions:
    - {name: read, energy: 1e-12 if len(All) == 3 else 2e-12, throughput: 512e9}
    - {name: write, energy: 1.5e-12, throughput: 512e9}
    tensors: {keep: ~DRAM, may_keep: All}
  - !Container
    name: Row
    spatial:
    - {name: X, fanout: {{ MACS }}}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 0.5e-12, throughput: 1e9}
"""
WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 64, K: 32, H: 48, N: 16}
  einsums:
  - name: Up
    tensor_accesses:
    - {name: X, projection: [m, k]}
    - {name: W1, projection: [k, h]}
    - {name: A, projection: [m, h], output: True}
  - name: Act
    tensor_accesses:
    - {name: A, projection: [m, h]}
    - {name: B, projection: [m, h], output: True}
  - name: Down
    tensor_accesses:
    - {name: B, projection: [m, h]}
    - {name: W2, projection: [h, n]}
    - {name: Y, projection: [m, n], output: True}
"""
DATA = {"KIB": 1, "MACS": 4}
#: Energy in J and latency in s of AccelForge's evaluate_mapping() for our optimum of each metric.
KEPT = dict.fromkeys(("edp", "energy", "latency"), (1.2990720279e-05, 3.7631998566e-05))


def plain(text):
    for name, value in DATA.items():
        text = text.replace("{{ %s }}" % name, str(value))
    return text


@pytest.mark.parametrize("metric", sorted(KEPT))
def test_numbers_of_accelforge(metric):
    """The native reading of the same file, templates written out, has the numbers kept."""
    found = tessera.map(Problem.parse(plain(ARCH), WORKLOAD), metric, mapspace="accelforge")
    assert found.status == "optimal"
    assert (found.energy, found.latency) == pytest.approx(KEPT[metric], rel=1e-6)


@pytest.fixture
def spec(tmp_path):
    accelforge = pytest.importorskip("accelforge")
    files = []
    for name, text in (("arch.yaml", ARCH), ("workload.yaml", WORKLOAD)):
        (tmp_path / name).write_text(text)
        files.append(str(tmp_path / name))
    made = accelforge.Spec.from_yaml(*files, jinja_parse_data=DATA)
    made.config.use_installed_component_models = False
    return made


def metrics(spec, name):
    import accelforge

    known = {"energy": accelforge.Metrics.ENERGY, "latency": accelforge.Metrics.LATENCY,
             "edp": accelforge.Metrics.ENERGY_DELAY_PRODUCT}
    spec.mapper.metrics = known[name]


@pytest.mark.parametrize("metric", sorted(KEPT))
def test_equals_its_model(spec, metric):
    from tessera import accelforge as bridge

    metrics(spec, metric)
    result = bridge.map_spec(spec)
    row = bridge.evaluate_mapping(spec, result.mapping).data.iloc[0]
    told = float(row["Total<SEP>energy"]), float(row["Total<SEP>latency"])
    assert (result.energy, result.latency) == pytest.approx(told, rel=1e-6)
    assert told == pytest.approx(KEPT[metric], rel=1e-6)
    native = tessera.map(Problem.parse(plain(ARCH), WORKLOAD), metric, mapspace="accelforge")
    assert native.edp == pytest.approx(result.edp, rel=1e-12)


def test_costs_by_einsum_are_handed_over(spec):
    from tessera import accelforge as bridge

    arch, _ = bridge.spec_to_yaml(spec)
    assert "per_einsum:" in arch and "arch.Buffer.actions.read.energy: 4e-12" in arch.replace(
        '"', "")
    assert "energy_scale" not in arch and "{{" not in arch


def test_in_place_of_its_mapper(spec, tmp_path, monkeypatch):
    import accelforge

    from tessera import accelforge as bridge

    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    metrics(spec, "energy")
    with bridge.mapper():
        mappings = spec.map_workload_to_arch(print_progress=False)
    assert float(mappings.data.iloc[0]["Total<SEP>energy"]) == pytest.approx(KEPT["energy"][0],
                                                                             rel=1e-6)
    assert os.listdir() == []
    assert accelforge.mapper.FFM.map_workload_to_arch is not bridge.map_workload_to_arch


def test_some_einsums_alone(spec):
    from tessera import accelforge as bridge

    metrics(spec, "energy")
    found = bridge.map_workload_to_arch(spec, ["Up"], print_progress=False)
    columns = [c for c in found.data.columns if not c.startswith("Total<SEP>")]
    assert any(c.startswith("Up<SEP>") for c in columns)
    assert not any(c.startswith("Down<SEP>") for c in columns)
    assert float(found.energy()) == pytest.approx(bridge.map_spec(spec, ["Up"]).energy, rel=1e-6)


def test_its_own_optimum_is_no_better(spec):
    import accelforge

    from tessera import accelforge as bridge

    metrics(spec, "energy")
    own = accelforge.mapper.FFM.map_workload_to_arch(spec, print_progress=False,
                                                     eval_in_detail=False)
    theirs = float(own.data["Total<SEP>energy"].min())
    assert bridge.map_spec(spec).energy <= theirs * (1 + 1e-6)


def test_metrics_in_words_of_tessera():
    accelforge = pytest.importorskip("accelforge")
    from tessera import accelforge as bridge

    asked = accelforge.Metrics
    def metric(metrics):
        return bridge._metric(metrics, {}, "raise")

    assert metric(asked.DYNAMIC_ENERGY) == ["dynamic_energy"]
    assert metric(asked.LATENCY | asked.LEAK_ENERGY) == ["latency", "leak_energy"]
    for several in (asked.ENERGY | asked.LATENCY | asked.LEAK_ENERGY,
                    asked.ENERGY | asked.ENERGY_DELAY_PRODUCT):
        with pytest.raises(bridge.Unsupported, match="together"):
            metric(several)
    with pytest.raises(bridge.Unsupported, match="ACTIONS"):
        metric(asked.ACTIONS)


def test_usage_of_memories(spec):
    import accelforge

    from tessera import accelforge as bridge

    spec.mapper.metrics = accelforge.Metrics.ENERGY | accelforge.Metrics.RESOURCE_USAGE
    result = bridge.map_spec(spec)
    assert result.status == "optimal"
    assert result.metrics == ["energy", "resource_usage:Buffer"]
    told = bridge.map_workload_to_arch(spec, print_progress=False)
    assert len(told.data) == len(result.solutions) > 2
    for ours, energy, used in zip(result.solutions, told.energy(),
                                  told.resource_usage()["Buffer"]):
        assert (ours.energy, ours.resource_usage["Buffer"]) == pytest.approx((energy, used),
                                                                             rel=1e-6)
    own = accelforge.mapper.FFM.map_workload_to_arch(spec, print_progress=False)
    for energy, used in zip(own.energy(), own.resource_usage()["Buffer"]):
        assert any(s.energy <= energy * (1 + 1e-6) and
                   s.resource_usage["Buffer"] <= used * (1 + 1e-6) for s in result.solutions)


def test_what_has_no_counterpart_is_named(spec):
    from tessera import accelforge as bridge

    metrics(spec, "energy")
    spec.mapper.max_loops_minus_ranks = 5
    with pytest.raises(bridge.Unsupported, match="max_loops_minus_ranks"):
        bridge.map_spec(spec)
    spec.mapper.objective_tolerance = 0.5  # leaves mappings out; here none is
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert bridge.map_spec(spec, on_unsupported="warn").status == "optimal"
    for name in ("max_loops_minus_ranks", "objective_tolerance"):
        assert any(name in str(w.message) for w in heard)


def test_a_template_is_said_to_be_one():
    with pytest.raises(tessera.UserError, match="tessera.accelforge"):
        Problem.parse(ARCH, WORKLOAD)
