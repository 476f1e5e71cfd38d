"""AccelForge with Tessera: its specs evaluated by its own front end, mapped by Tessera.

    import accelforge as af, tessera.accelforge as bridge

    spec = af.Spec.from_yaml("arch.yaml", "workload.yaml")
    result = bridge.map_spec(spec)               # a tessera.Result
    mappings = bridge.map_workload_to_arch(spec) # a Mappings of AccelForge

AccelForge evaluates templates (Jinja) and component models, for each Einsum; all other expressions
go to Tessera as they stand. A key that Tessera does not know is an error that names it; nothing is
dropped in silence. AccelForge is imported when a function here is called, not before.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import Any, Callable, Iterator

from . import _yaml
from ._errors import UserError
from ._mapping import Mapping
from ._problem import Problem
from ._result import Result
from ._search import Limits, MapSpace, map as _map

__all__ = ["evaluate_mapping", "install", "map_spec", "mapper", "map_workload_to_arch", "mapping_from_yaml",
           "mapping_to_yaml", "spec_to_yaml", "to_problem", "uninstall", "Unsupported"]

#: What AccelForge has worked into the numbers that are handed over.
_WORKED_IN = {"area_scale", "leak_power_scale", "energy_scale", "throughput_scale",
              "component_class", "component_model", "component_modeling_log",
              "extra_attributes_for_component_model", "total_area", "total_leak_power"}


class Unsupported(UserError):
    """An option of AccelForge without counterpart."""


def _plain(value: Any) -> Any:
    """Models of pydantic as dictionaries of what was set in them; classes of nodes as tags."""
    if hasattr(value, "model_fields_set"):
        from accelforge.frontend.arch.structure import ArchNode

        keys = [k for k in type(value).model_fields if k in value.model_fields_set]
        fields = {k: _plain(getattr(value, k)) for k in keys if k not in _WORKED_IN}
        fields.update({k: _plain(v) for k, v in (value.model_extra or {}).items()})
        return {"!": type(value).__name__, **fields} if isinstance(value, ArchNode) else fields
    if isinstance(value, dict):
        return {_yaml.scalar(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _leaves(nodes: list) -> Any:
    for node in nodes:
        if "nodes" in node:
            yield from _leaves(node["nodes"])
        if "name" in node:
            yield node


def _costs(spec: Any, einsum: str) -> dict[tuple[str, str], float]:
    """Numbers of component models by component and path, for one Einsum."""
    from accelforge.frontend.arch.components import Component
    from accelforge.frontend.arch.structure import Leaf

    evaluated = spec.calculate_component_costs(einsum_name=einsum)
    costs: dict[tuple[str, str], float] = {}
    for leaf in evaluated.arch.get_nodes_of_type(Leaf):
        if not isinstance(leaf, Component):
            continue
        costs[leaf.name, "area"] = leaf.area
        costs[leaf.name, "leak_power"] = leaf.leak_power
        for action in leaf.actions:
            costs[leaf.name, f"actions.{action.name}.energy"] = action.energy
            costs[leaf.name, f"actions.{action.name}.throughput"] = action.throughput
    return costs


def _set(node: dict[str, Any], path: str, value: float) -> None:
    if not path.startswith("actions."):
        node[path] = value
        return
    _, action, key = path.split(".")
    actions = node.setdefault("actions", [])
    for one in actions:
        if one.get("name") == action:
            one[key] = value
            return
    actions.append({"name": action, key: value})


def _tree(spec: Any) -> dict[str, Any]:
    """The architecture with its costs; what differs between Einsums under ``per_einsum``."""
    arch = _plain(spec.arch)
    arch.pop("!", None)
    tree: dict[str, Any] = {"arch": arch}
    variables = _plain(spec.variables)
    if variables:
        tree["variables"] = variables
    names = list(spec.workload.einsum_names)
    costs = {einsum: _costs(spec, einsum) for einsum in names}
    first = costs[names[0]]
    nodes = {node["name"]: node for node in _leaves(arch["nodes"])}
    for (component, path), value in first.items():
        _set(nodes[component], path, value)
    others = {einsum: {f"arch.{component}.{path}": value
                       for (component, path), value in own.items()
                       if value != first[component, path]}
              for einsum, own in costs.items()}
    different = {einsum: values for einsum, values in others.items() if values}
    return {**tree, "per_einsum": different} if different else tree


def _workload(spec: Any) -> dict[str, Any]:
    tree = {"workload": _plain(spec.workload)}
    renames = _plain(spec.renames)
    if renames:
        tree["renames"] = renames
    variables = _plain(spec.variables)
    return {**tree, "variables": variables} if variables else tree


def spec_to_yaml(spec: Any) -> tuple[str, str]:
    """Architecture and workload as files of Tessera. ``spec``: not evaluated."""
    if getattr(spec, "_evaluated", False):
        raise UserError("the spec is evaluated already; give the one that its files made")
    return _yaml.dump(_tree(spec)), _yaml.dump(_workload(spec))


def to_problem(spec: Any, einsum_names: list[str] | None = None, *,
               compat: str = "accelforge") -> Problem:
    """The spec as a problem. ``compat="none"``: under Tessera's own cost conventions."""
    problem = Problem.parse(*spec_to_yaml(spec), compat=compat)
    return problem.only(*einsum_names) if einsum_names else problem


def _refuse(text: str, on_unsupported: str) -> None:
    if on_unsupported == "raise":
        raise Unsupported(text)
    warnings.warn(text, stacklevel=4)


def _given(mapper: Any, name: str, standard: Any) -> Any:
    """An option; versions of AccelForge that lack it mean the standard."""
    return getattr(mapper, name, standard)


def _number(value: Any, infinite: int = -1) -> int:
    return infinite if value == float("inf") else int(value)


#: Options of its mapper: the value that changes nothing here.
_WITHOUT_COUNTERPART = {"max_loops_minus_ranks": float("inf"), "explore_loop_orders": True,
                        "max_pmapping_templates_per_einsum": float("inf"),
                        "prioritize_reuse_of_unfused_tensors": False, "objective_tolerance": 0,
                        "resource_usage_tolerance": 0, "max_loops": float("inf"),
                        "tiling_coarseness": 1, "_can_lower_outermost_memory": False,
                        "_timeloop_style_even": False,
                        "_let_non_intermediate_tensors_respawn_in_backing_storage": False,
                        "out_of_order_hierarchy_explore_removing_spatials_for_more_temporals": False,
                        "time_limit_per_pmapping_template": float("inf"),
                        "memory_limit_per_process": float("inf")}


def _options(spec: Any, mapspace: str, on_unsupported: str) -> dict[str, Any]:
    """``spec.mapper`` in Tessera's words."""
    given = spec.mapper
    for name, standard in _WITHOUT_COUNTERPART.items():
        value = _given(given, name, standard)
        if value != standard:
            _refuse(f"mapper.{name}: {value!r} has no counterpart; leave it at {standard!r}",
                    on_unsupported)
    limits = Limits(max_time=0 if given.time_limit == float("inf") else float(given.time_limit),
                    max_memory=_number(given.memory_limit, 0))
    space = MapSpace(mapspace, max_fused_loops=_number(given.max_fused_loops),
                     max_fused_loops_per_rank_variable=_number(
                         given.max_fused_loops_per_rank_variable),
                     max_loops_per_spatial_dimension=_number(
                         _given(given, "max_loops_per_spatial_dimension", float("inf"))),
                     imperfect_temporal=_given(
                         given, "explore_imperfect_temporal_loops", False),
                     imperfect_spatial=_given(
                         given, "explore_imperfect_spatial_loops", False),
                     force_memory_hierarchy_order=given.force_memory_hierarchy_order)
    return {"metric": _metric(given.metrics, on_unsupported), "mapspace": space, "limits": limits}


def _metric(metrics: Any, on_unsupported: str) -> list[str]:
    from accelforge import Metrics

    known = {"ENERGY_DELAY_PRODUCT": "edp", "ENERGY": "energy", "LATENCY": "latency"}
    asked = [m.name for m in Metrics if m in metrics and m.name]
    if "ENERGY_DELAY_PRODUCT" in asked:
        return ["edp"]
    for name in asked:
        if name not in known:
            _refuse(f"metric {name} has no counterpart; there are ENERGY, LATENCY and "
                    "ENERGY_DELAY_PRODUCT", on_unsupported)
    found = [known[name] for name in asked if name in known]
    if not found:
        raise Unsupported("no metric of the spec has a counterpart")
    return sorted(found)


def map_spec(spec: Any, einsum_names: list[str] | None = None, *, mapspace: str = "accelforge",
             on_unsupported: str = "raise", compat: str = "accelforge",
             progress: Any = None) -> Result:
    """Maps with the options of ``spec.mapper``. One without counterpart raises
    :class:`Unsupported`, or is told by a warning with ``on_unsupported="warn"``."""
    if on_unsupported not in ("raise", "warn"):
        raise UserError("on_unsupported is 'raise' or 'warn'")
    options = _options(spec, mapspace, on_unsupported)
    return _map(to_problem(spec, einsum_names, compat=compat), progress=progress, **options)


def mapping_to_yaml(mapping: Mapping, problem: Problem) -> str:
    """YAML that AccelForge reads."""
    return mapping.to_accelforge_yaml(problem)


def mapping_from_yaml(text: str) -> Mapping:
    """A mapping as AccelForge writes it."""
    return Mapping.from_yaml(text)


def _with_mapping(spec: Any, mapping: Mapping, problem: Problem) -> Any:
    import tempfile

    from accelforge import Mapping as Theirs

    own = copy.deepcopy(spec)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(mapping_to_yaml(mapping, problem))
        file.flush()
        own.mapping = Theirs.from_yaml(file.name, top_key="mapping")
    own.model.metrics = own.mapper.info_metrics
    return own


def evaluate_mapping(spec: Any, mapping: Mapping) -> Any:
    """What AccelForge's own model says of a mapping: its Mappings of one row."""
    from accelforge.model.main import evaluate_mapping as theirs

    return theirs(_with_mapping(spec, mapping, to_problem(spec)))


def map_workload_to_arch(spec: Any, einsum_names: list[str] | None = None,
                         can_combine_multiple_runs: bool = False, cache_dir: str | None = None,
                         one_pbar_only: bool = False, print_progress: bool = True,
                         print_number_of_pmappings: bool = False, eval_in_detail: bool = True,
                         _pmapping_row_filter_function: Callable | None = None, *,
                         mapspace: str = "accelforge", on_unsupported: str = "raise") -> Any:
    """In place of AccelForge's function of this name: mapped by Tessera, evaluated by AccelForge.

    Gives its Mappings: a row for each mapping of the Pareto set, by the first metric, with the
    columns of its model. Nothing is written to the working directory.
    """
    for name, value in (("can_combine_multiple_runs", can_combine_multiple_runs),
                        ("cache_dir", cache_dir), ("einsum_names", einsum_names),
                        ("_pmapping_row_filter_function", _pmapping_row_filter_function)):
        if value:
            _refuse(f"{name} has no counterpart; leave it out", on_unsupported)
    result = map_spec(spec, mapspace=mapspace, on_unsupported=on_unsupported)
    result.best  # raises what there is to say without one
    rows = [evaluate_mapping(spec, solution.mapping) for solution in result.solutions]
    mappings = rows[0]
    if len(rows) > 1:
        import pandas

        mappings.data = pandas.concat([row.data for row in rows], ignore_index=True).fillna(0)
    return mappings


_originals: dict[str, Callable] = {}


def install() -> None:
    """``spec.map_workload_to_arch()`` and ``accelforge.mapper.FFM.map_workload_to_arch()`` map by
    Tessera from now on."""
    from accelforge.mapper import FFM
    from accelforge.mapper.FFM import main

    if not _originals:
        _originals.update(FFM=FFM.map_workload_to_arch, main=main.map_workload_to_arch)
    FFM.map_workload_to_arch = main.map_workload_to_arch = map_workload_to_arch


def uninstall() -> None:
    """AccelForge maps by itself again."""
    from accelforge.mapper import FFM
    from accelforge.mapper.FFM import main

    if _originals:
        FFM.map_workload_to_arch = _originals.pop("FFM")
        main.map_workload_to_arch = _originals.pop("main")


@contextlib.contextmanager
def mapper() -> Iterator[None]:
    """``with mapper():`` as :func:`install`, then :func:`uninstall`."""
    install()
    try:
        yield
    finally:
        uninstall()
