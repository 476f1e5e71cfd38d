"""What the bridge makes of a spec that AccelForge has evaluated, on specs that look like its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tessera
from tessera import Problem, _yaml, accelforge as bridge


class ArchNode:
    model_extra = None


def model(kind, **fields):
    """As an object of pydantic in which these fields were set; nodes are tagged by their class."""
    nodes = kind in ("Memory", "Toll", "Compute", "Container")
    one = type(kind, (ArchNode,) if nodes else (), {"model_fields": fields, "model_extra": None})()
    one.__dict__.update(fields, model_fields_set=set(fields))
    return one


class Unset:
    """A field that was not given when the model was made."""

    def __init__(self, default):
        self.default = default

    def get_default(self, call_default_factory):
        return self.default


def action(name, energy, throughput):
    return model("Action", name=name, energy=energy, throughput=throughput)


def spec(nodes, **more):
    arch = model("Arch", nodes=nodes)
    arch.find = lambda name: next(node for node in nodes if node.name == name)
    return model("Spec", arch=arch, variables=more.pop("variables", model("Variables")), **more)


def memory(name, size, leak=0.0, **more):
    return model("Memory", name=name, size=size, leak_power=leak,
                 actions=[action("read", 1e-12, 1e9), action("write", 1e-12, 1e9)], **more)


MAC = model("Compute", name="MAC", leak_power=0.0, actions=[action("compute", 1e-12, 1e9)])


def test_costs_have_scales_and_parallel_instances_in_them():
    raw = model("Toll", name="ADC", component_class="ADC", n_parallel_instances=63, area_scale=2,
                leak_power_scale=3, actions=[model("Action", name="read", throughput=1e9)],
                tensors=model("Tensors", keep="All"))
    told = model("Toll", name="ADC", leak_power=6.3, n_parallel_instances=63,
                 actions=[action("read", 2e-12, 63e9)], tensors=model("Tensors", keep={"A"}))
    tree = bridge._tree(spec([raw]), {"E": spec([told])})
    assert tree["arch"]["nodes"] == [{
        "!": "Toll", "name": "ADC", "leak_power": 6.3, "tensors": {"keep": "All"},
        "actions": [{"name": "read", "throughput": 63e9, "energy": 2e-12}]}]


def test_expressions_are_numbers_by_einsum():
    """Its functions and lists are not Tessera's: what they make of a field is handed over."""
    bits = {"weight": "slice_bits(weights_hist)", "input": 8}
    raw = memory("Cell", "cells * bits", bits_per_value=bits, enabled="len(All) == 3",
                 spatial=[model("Spatial", name="row", fanout="get_rows(spec)")])
    rows = [model("Spatial", name="row", fanout=16)]
    told = {"One": spec([memory("Cell", 64, bits_per_value={"W": 4.0, "X": 8}, enabled=True,
                                spatial=rows)]),
            "Two": spec([memory("Cell", 32, bits_per_value={"W": 2.0, "Y": 8}, enabled=False,
                                spatial=rows)])}
    tree = bridge._tree(spec([raw]), told)
    (cell,) = tree["arch"]["nodes"]
    assert cell["size"] == 64 and cell["spatial"] == [{"name": "row", "fanout": 16}]
    assert cell["bits_per_value"] == {"W": 4.0, "X": 8, "Y": 8}
    assert tree["per_einsum"] == {"Two": {"arch.Cell.size": 32, "arch.Cell.enabled": False,
                                          "arch.Cell.bits_per_value.W": 2.0}}


def test_what_is_put_into_a_map_later_counts_as_set():
    einsum = model("Einsum", name="E")
    type(einsum).model_fields = {"name": None, "rank_sizes": Unset({}), "renames": Unset({}),
                                 "shapes": Unset([])}
    einsum.__dict__.update(rank_sizes={}, renames={}, shapes=["0 <= m < 3"])
    einsum.rank_sizes["K"] = 16
    assert bridge._plain(einsum) == {"name": "E", "rank_sizes": {"K": 16}, "shapes": ["0 <= m < 3"]}


def test_variables_that_are_no_numbers_are_left_out():
    raw = model("Variables", bits=8, hist=[1, 2, 1], rows="get_rows(spec)", mode="fast")
    told = model("Variables", bits=8, hist=[1, 2, 1], rows=16, mode="fast")
    tree = bridge._tree(spec([], variables=raw), {"E": spec([], variables=told)})
    assert tree["variables"] == {"bits": 8, "rows": 16, "mode": "fast"}


def test_a_condition_on_no_set_of_loops_is_told():
    def array(*texts):
        return model("Container", name="Array", spatial=[model(
            "Spatial", name="row", fanout=4, loop_bounds=[
                model("Comparison", expression=text, operator="<=", value=1) for text in texts])])

    einsum = model("Einsum", rank_variables={"p", "m"})
    told = spec([array({"m"}, "{P, Q}", "p or q")], workload=model(
        "Workload", einsums={"E": einsum}))
    with pytest.warns(tessera.TesseraWarning, match=r"loop_bounds\[1\]: '{P, Q}'.*for none"):
        tree = bridge._tree(spec([array("m", "{P, Q}", "p or q")]), {"E": told})
    bounds = tree["arch"]["nodes"][0]["spatial"][0]["loop_bounds"]
    assert [bound["expression"] for bound in bounds] == ["m", "p"]


def test_what_is_handed_over_can_be_searched():
    main, buffer = memory("Main", float("inf")), memory("Buffer", "banks * 64", leak=1e-3)
    told = spec([main, memory("Buffer", 512, leak=1e-3), MAC])
    arch = bridge._tree(spec([main, buffer, MAC]), {"Z": told})
    workload = ("workload:\n  rank_sizes: {M: 8, K: 8, N: 8}\n  bits_per_value: {All: 8}\n"
                "  einsums:\n  - 'Z[m, n] = A[m, k] * B[k, n]'\n")
    found = tessera.map(Problem.parse(_yaml.dump(arch), workload))
    assert found.status == "optimal" and found.best.report["leak_energy_j"] == pytest.approx(
        1e-3 * found.latency)


#: Compute-in-memory chips as the bridge hands them over, and what AccelForge's model (1.0.489) says
#: of the optimal mapping.
CHIPS = json.loads((Path(__file__).parent / "cim_chips.json").read_text())


@pytest.mark.parametrize("chip", sorted(CHIPS))
def test_chips_cost_what_its_model_says(chip):
    kept = CHIPS[chip]
    problem = Problem.parse(kept["arch"], kept["workload"], compat="accelforge")
    found = tessera.map(problem, mapspace=tessera.MapSpace("accelforge", imperfect_spatial=True))
    assert found.status == "optimal"
    told = kept["energy_j"], kept["latency_s"]
    assert (found.energy, found.latency) == pytest.approx(told, rel=1e-6)


def test_the_example_says_what_it_needs():
    example = Path(__file__).parents[2] / "examples" / "cim" / "chips.py"
    told = subprocess.run([sys.executable, example, "--help"], capture_output=True, text=True)
    assert told.returncode == 0 and "--own" in told.stdout
