"""AccelForge with Tessera: its specs evaluated by its own front end, mapped by Tessera.

    import accelforge as af, tessera.accelforge as bridge

    spec = af.Spec.from_yaml("arch.yaml", "workload.yaml")
    result = bridge.map_spec(spec)               # a tessera.Result
    mappings = bridge.map_workload_to_arch(spec) # a Mappings of AccelForge

AccelForge evaluates templates (Jinja), component models and expressions, for each Einsum; sets and
`total_latency` go to Tessera as they stand. A key that Tessera does not know is an error that names it; nothing is
dropped in silence. AccelForge is imported when a function here is called, not before.
"""

from __future__ import annotations

import contextlib
import copy
import numbers
import re
import warnings
from typing import Any, Callable, Iterator

from . import _yaml
from ._errors import UserError
from ._mapping import Mapping
from ._problem import Problem, TesseraWarning
from ._result import Result
from ._search import Limits, MapSpace, map as _map

__all__ = ["evaluate_mapping", "install", "map_spec", "mapper", "map_workload_to_arch", "mapping_from_yaml",
           "mapping_to_yaml", "spec_to_yaml", "to_problem", "uninstall", "Unsupported"]

#: What AccelForge has worked into the numbers that are handed over, and areas, which cost nothing.
_WORKED_IN = {"area", "area_scale", "n_parallel_instances", "leak_power_scale", "energy_scale",
              "throughput_scale", "component_class", "component_model", "component_modeling_log",
              "extra_attributes_for_component_model", "extra_attributes_for_all_component_models",
              "total_area", "total_leak_power"}


class Unsupported(UserError):
    """An option of AccelForge without counterpart."""


def _is_set(model: Any, key: str, field: Any) -> bool:
    """A list or a map that was filled after the model was made does not count there as set."""
    if key in model.model_fields_set:
        return True
    value = getattr(model, key)
    return isinstance(value, (dict, list)) and bool(value) and value != field.get_default(
        call_default_factory=True)


def _plain(value: Any) -> Any:
    """Models of pydantic as dictionaries of what was set in them; classes of nodes as tags."""
    if hasattr(value, "model_fields_set"):
        keys = [k for k, field in type(value).model_fields.items() if _is_set(value, k, field)]
        fields = {k: _plain(getattr(value, k)) for k in keys if k not in _WORKED_IN}
        fields.update({k: _plain(v) for k, v in (value.model_extra or {}).items()})
        is_node = any(base.__name__ == "ArchNode" for base in type(value).__mro__)
        return {"!": type(value).__name__, **fields} if is_node else fields
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, numbers.Real))


#: Maps whose keys are set expressions; AccelForge evaluates them to maps from tensors to numbers.
_BY_TENSOR = ("bits_per_value", "values_per_action")


def _texts(raw: Any, evaluated: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Expressions below ``raw`` that AccelForge has evaluated to numbers: path and number."""
    if isinstance(raw, str):
        if _is_number(evaluated):
            yield path, evaluated
    elif isinstance(raw, dict):
        get = evaluated.get if isinstance(evaluated, dict) else lambda k, no: getattr(evaluated, k, no)
        for key, value in raw.items():
            below = get(key, None)
            if key in _BY_TENSOR and isinstance(value, dict) and isinstance(below, dict):
                if any(isinstance(one, str) for one in value.values()):
                    yield from ((f"{path}.{key}.{tensor}", n) for tensor, n in below.items())
            elif below is not None and key not in ("!", "nodes"):
                yield from _texts(value, below, f"{path}.{key}")
    elif isinstance(raw, list) and isinstance(evaluated, (list, tuple)):
        for place, (one, below) in enumerate(zip(raw, evaluated)):
            yield from _texts(one, below, f"{path}[{place}]")


def _clear(raw: Any) -> None:
    """Empties the maps by tensor whose numbers :func:`_texts` has given."""
    for key, value in raw.items() if isinstance(raw, dict) else enumerate(raw):
        if key in _BY_TENSOR and isinstance(value, dict) and any(
                isinstance(one, str) for one in value.values()):
            raw[key] = {}
        elif isinstance(value, (dict, list)) and key != "nodes":
            _clear(value)


def _loop_bounds(node: dict[str, Any], evaluated: dict[str, Any]) -> None:
    """A condition on loops whose set does not evaluate stays a text there: what it asks of a rank
    variable is whether the name is part of the text. Here it is the set of these, or left out."""
    for place, dim in enumerate(node.get("spatial") or []):
        kept = []
        for number, bound in enumerate(dim.get("loop_bounds") or []):
            texts, variables = set(), set()
            for einsum, one in evaluated.items():
                text = one.arch.find(node["name"]).spatial[place].loop_bounds[number].expression
                if isinstance(text, str):
                    texts.add(text)
                    variables.update(v for v in one.workload.einsums[einsum].rank_variables
                                     if v in text)
            if texts:
                where = f"arch.{node['name']}.spatial[{place}].loop_bounds[{number}]"
                warnings.warn(f"{where}: {bound['expression']!r} is no set of rank variables; "
                              f"AccelForge takes it for {' | '.join(sorted(variables)) or 'none'}",
                              TesseraWarning, stacklevel=2)
                bound["expression"] = " | ".join(sorted(variables))
            if not texts or variables:
                kept.append(bound)
        if "loop_bounds" in dim:
            dim["loop_bounds"] = kept


def _costs(leaf: Any) -> Iterator[tuple[str, Any]]:
    """Numbers of component models."""
    yield ".leak_power", leaf.leak_power
    for action in leaf.actions:
        yield f".actions.{action.name}.energy", action.energy
        yield f".actions.{action.name}.throughput", action.throughput


def _set(node: Any, path: str, value: Any) -> None:
    """``path`` as ``.actions.read.energy`` or ``.spatial[0].fanout``. What is not there is made."""
    *way, last = [int(part[1:-1]) if part[0] == "[" else part[1:]
                  for part in re.findall(r"\[\d+\]|\.[^.\[]+", path)]
    for part in way:
        if isinstance(node, list) and isinstance(part, str):
            found = [one for one in node if one.get("name") == part]
            node.extend([] if found else [{"name": part}])
            node = found[0] if found else node[-1]
        else:
            if isinstance(node, dict) and part not in node:
                node[part] = [] if part == "actions" else {}
            node = node[part]
    node[last] = value


def _evaluated(spec: Any) -> dict[str, Any]:
    """The spec as AccelForge evaluates it for each Einsum, with the costs of component models."""
    if getattr(spec, "_evaluated", False):
        raise UserError("the spec is evaluated already; give the one that its files made")
    return {name: spec.calculate_component_costs(einsum_name=name, area=False)
            for name in spec.workload.einsum_names}


def _variables(raw: Any, evaluated: list[Any]) -> dict[str, Any]:
    """Those that are numbers for every Einsum, and texts. Others (lists, functions) have their
    effect in what AccelForge has evaluated."""
    kept = {}
    for name, value in _plain(raw).items():
        values = [getattr(one, name, None) for one in evaluated]
        if all(_is_number(one) for one in values):
            same = all(one == values[0] for one in values)
            kept[name] = values[0] if same or not isinstance(value, str) else value
        elif all(isinstance(one, str) and one == values[0] for one in values):
            kept[name] = _yaml.Literal(values[0])
    return kept


def _tree(spec: Any, evaluated: dict[str, Any]) -> dict[str, Any]:
    """The architecture in numbers; what differs between Einsums under ``per_einsum``."""
    arch = _plain(spec.arch)
    arch.pop("!", None)
    specs = list(evaluated.values())
    if arch.pop("variables", None):
        arch["variables"] = _variables(spec.arch.variables, [one.arch.variables for one in specs])
    tree: dict[str, Any] = {"arch": arch}
    variables = _variables(spec.variables, [one.variables for one in specs])
    if variables:
        tree["variables"] = variables
    different: dict[str, dict[str, Any]] = {}
    for node in _leaves(arch["nodes"]):
        values = {}
        for einsum, one in evaluated.items():
            leaf = one.arch.find(node["name"])
            values[einsum] = dict(_texts(node, leaf))
            if hasattr(leaf, "actions"):
                values[einsum].update(_costs(leaf))
        _clear(node)
        _loop_bounds(node, evaluated)
        for path in {path: None for own in values.values() for path in own}:
            by_einsum = {einsum: own[path] for einsum, own in values.items() if path in own}
            first = next(iter(by_einsum.values()))
            _set(node, path, first)
            for einsum, value in by_einsum.items():
                if value != first:
                    different.setdefault(einsum, {})[f"arch.{node['name']}{path}"] = value
    return {**tree, "per_einsum": different} if different else tree


def _workload(spec: Any, evaluated: dict[str, Any]) -> dict[str, Any]:
    one = next(iter(evaluated.values()))
    workload = _plain(spec.workload)
    found = dict(_texts(workload, one.workload))
    _clear(workload)
    for path, value in found.items():
        _set(workload, path, value)
    tree = {"workload": workload}
    renames = _plain(spec.renames)
    if renames:
        tree["renames"] = renames
    variables = _variables(spec.variables, [one.variables for one in evaluated.values()])
    return {**tree, "variables": variables} if variables else tree


def spec_to_yaml(spec: Any) -> tuple[str, str]:
    """Architecture and workload as files of Tessera. ``spec``: not evaluated."""
    evaluated = _evaluated(spec)
    return _yaml.dump(_tree(spec, evaluated)), _yaml.dump(_workload(spec, evaluated))


def _problem(spec: Any, evaluated: dict[str, Any], einsum_names: list[str] | None,
             compat: str) -> Problem:
    problem = Problem.parse(_yaml.dump(_tree(spec, evaluated)),
                            _yaml.dump(_workload(spec, evaluated)), compat=compat)
    return problem.only(*einsum_names) if einsum_names else problem


def to_problem(spec: Any, einsum_names: list[str] | None = None, *,
               compat: str = "accelforge") -> Problem:
    """The spec as a problem. ``compat="none"``: under Tessera's own cost conventions."""
    return _problem(spec, _evaluated(spec), einsum_names, compat)


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
_WITHOUT_COUNTERPART = {"max_loops_minus_ranks": float("inf"), "max_loops": float("inf"),
                        "prioritize_reuse_of_unfused_tensors": False,
                        "_can_lower_outermost_memory": False, "_timeloop_style_even": False,
                        "_let_non_intermediate_tensors_respawn_in_backing_storage": False,
                        "out_of_order_hierarchy_explore_removing_spatials_for_more_temporals": False,
                        "memory_limit_per_process": float("inf")}
#: Those that make its search shorter and leave mappings out; here all are searched.
_SHORTER = {"explore_loop_orders": True, "max_pmapping_templates_per_einsum": float("inf"),
            "objective_tolerance": 0, "resource_usage_tolerance": 0, "tiling_coarseness": 1,
            "time_limit_per_pmapping_template": float("inf")}


def _options(spec: Any, evaluated: dict[str, Any], mapspace: str,
             on_unsupported: str) -> dict[str, Any]:
    """``spec.mapper`` in Tessera's words."""
    if on_unsupported not in ("raise", "warn"):
        raise UserError("on_unsupported is 'raise' or 'warn'")
    given = spec.mapper
    for name, standard in _WITHOUT_COUNTERPART.items():
        value = _given(given, name, standard)
        if value != standard:
            _refuse(f"mapper.{name}: {value!r} has no counterpart; leave it at {standard!r}",
                    on_unsupported)
    for name, standard in _SHORTER.items():
        value = _given(given, name, standard)
        if value != standard:
            warnings.warn(f"mapper.{name}: {value!r} has no effect: all mappings are searched",
                          TesseraWarning, stacklevel=4)
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
    return {"metric": _metric(given.metrics, evaluated, on_unsupported), "mapspace": space,
            "limits": limits}


def _limited_memories(evaluated: dict[str, Any]) -> list[str]:
    """Memories whose size is finite for some Einsum."""
    from accelforge.frontend.arch import Memory

    names: dict[str, None] = {}
    for spec in evaluated.values():
        for node in spec.arch.get_nodes_of_type(Memory):
            if node.size != float("inf"):
                names[node.name] = None
    return list(names)


def _metric(metrics: Any, evaluated: dict[str, Any], on_unsupported: str) -> list[str]:
    from accelforge import Metrics

    known = {"ENERGY_DELAY_PRODUCT": "edp", "ENERGY": "energy", "LATENCY": "latency",
             "DYNAMIC_ENERGY": "dynamic_energy", "LEAK_ENERGY": "leak_energy"}
    asked = [m.name for m in Metrics if m in metrics and m.name]
    usages = []
    if "RESOURCE_USAGE" in asked:
        asked.remove("RESOURCE_USAGE")
        usages = [f"resource_usage:{name}" for name in _limited_memories(evaluated)]
    for name in asked:
        if name not in known:
            _refuse(f"metric {name} has no counterpart; there are {', '.join(known)}, "
                    "RESOURCE_USAGE", on_unsupported)
    found = sorted(known[name] for name in asked if name in known)
    if not found and not usages:
        raise Unsupported("no metric of the spec has a counterpart")
    most = ["edp"] if "edp" in found else found[:2]
    if most != found:
        _refuse(f"metrics {', '.join(found)} together have no counterpart; take "
                f"{' and '.join(most)}", on_unsupported)
    return most + usages


def map_spec(spec: Any, einsum_names: list[str] | None = None, *, mapspace: str = "accelforge",
             on_unsupported: str = "raise", compat: str = "accelforge",
             progress: Any = None) -> Result:
    """Maps with the options of ``spec.mapper``. One without counterpart raises
    :class:`Unsupported`, or is told by a warning with ``on_unsupported="warn"``."""
    evaluated = _evaluated(spec)
    options = _options(spec, evaluated, mapspace, on_unsupported)
    return _map(_problem(spec, evaluated, einsum_names, compat), progress=progress, **options)


def mapping_to_yaml(mapping: Mapping, problem: Problem) -> str:
    """YAML that AccelForge reads."""
    return mapping.to_accelforge_yaml(problem)


def mapping_from_yaml(text: str) -> Mapping:
    """A mapping as AccelForge writes it."""
    return Mapping.from_yaml(text)


def _with_mapping(spec: Any, mapping: Mapping, problem: Problem) -> Any:
    import tempfile

    from accelforge import Mapping as Theirs, Metrics

    own = copy.deepcopy(spec)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(mapping_to_yaml(mapping, problem))
        file.flush()
        own.mapping = Theirs.from_yaml(file.name, top_key="mapping")
    own.model.metrics = own.mapper.info_metrics | own.mapper.metrics & Metrics.RESOURCE_USAGE
    return own


def _told(spec: Any, evaluated: dict[str, Any], mapping: Mapping, problem: Problem) -> Any:
    """Its Mappings of one row."""
    from accelforge.frontend.mapping import Compute
    from accelforge.model.main import evaluate_mapping as theirs

    own = _with_mapping(spec, mapping, problem)
    flat = {(node.einsum, node.component): evaluated[node.einsum]._get_flattened_architecture(
                compute_node=node.component)
            for node in own.mapping.get_nodes_of_type(Compute)}
    return theirs(own, flattened_arches=flat, evaluated_specs=evaluated)


def evaluate_mapping(spec: Any, mapping: Mapping) -> Any:
    """What AccelForge's own model says of a mapping: its Mappings of one row."""
    evaluated = _evaluated(spec)
    return _told(spec, evaluated, mapping, _problem(spec, evaluated, None, "accelforge"))


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
                        ("cache_dir", cache_dir),
                        ("print_number_of_pmappings", print_number_of_pmappings),
                        ("_pmapping_row_filter_function", _pmapping_row_filter_function)):
        if value:
            _refuse(f"{name} has no counterpart; leave it out", on_unsupported)
    evaluated = _evaluated(spec)
    options = _options(spec, evaluated, mapspace, on_unsupported)
    problem = _problem(spec, evaluated, einsum_names, "accelforge")
    result = _map(problem, progress=print_progress or one_pbar_only or None, **options)
    result.best  # raises what there is to say without one
    rows = [_told(spec, evaluated, solution.mapping, problem) for solution in result.solutions]
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
