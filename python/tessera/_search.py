"""Searches and evaluations."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, Iterable, Mapping as MappingType, Sequence

from . import _yaml
from ._mapping import Mapping
from ._errors import UserError
from ._problem import Problem
from ._result import Result, Solution, _frame
from .native import _tessera as _native


@dataclass(frozen=True)
class MapSpace:
    """Which mappings are searched (docs/mapspace.md). ``None``: what the preset says.

    ``preset``: ``"full"``, ``"accelforge"`` (the restrictions of that tool) or ``"timeloop"`` (of
    mapper ``timeloop`` alone). Limits of loops: a number; -1: unlimited. ``einsum_orders``:
    ``"all"``, every order in which producers run first, or ``"file"``. ``imperfect_*``: tile shapes
    need not divide. ``unfused``: the outermost memory keeps every tensor.
    """

    preset: str = "full"
    max_fused_loops: int | None = None
    max_fused_loops_per_rank_variable: int | None = None
    max_loops_per_spatial_dimension: int | None = None
    einsum_orders: str | None = None
    imperfect_temporal: bool = False
    imperfect_spatial: bool = False
    unfused: bool = False
    force_memory_hierarchy_order: bool = True

    def __post_init__(self) -> None:
        for value, known in ((self.preset, ("full", "accelforge", "timeloop")),
                             (self.einsum_orders, (None, "all", "file"))):
            if value not in known:
                names = ", ".join(str(k) for k in known if k)
                raise UserError(f"unknown choice {value!r} of a mapspace (there are: {names})")


@dataclass(frozen=True)
class Limits:
    """What ends a search early; it then gives the best mapping so far with its true gap.

    Zero or ``None``: unlimited. ``max_time`` and ``max_cpu_time`` (of the whole process, from the
    start of each search) in s, ``max_evals`` in evaluations (pmappings, in ffm), ``max_stall`` in
    evaluations without a better mapping, ``max_memory`` (resident, of the whole process) in bytes,
    ``gap`` as (best - bound) / best, ``target`` in the metric's unit (J, s, J s).
    """

    max_time: float = 0
    max_evals: int = 0
    max_cpu_time: float = 0
    max_stall: int = 0
    max_memory: int = 0
    gap: float = 0
    target: float | None = None


@dataclass(frozen=True)
class Progress:
    """What a search tells while it runs; ``best`` and ``bound`` of the first metric."""

    elapsed: float  #: s
    evaluated: int
    phase: str
    best: float | None
    bound: float | None
    gap: float | None


@dataclass(frozen=True)
class Violation:
    """One condition that a mapping breaks. ``severity``: physical, constraint or warning.

    ``found`` and ``limit`` are both sides where they are numbers; ``constraint`` and ``node`` are
    places in files.
    """

    code: str
    severity: str
    message: str
    einsum: str = ""
    tensor: str = ""
    level: str = ""
    found: float = 0
    limit: float = 0
    constraint: str = ""
    node: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class _Line:
    """Progress as one line that is written anew."""

    def __init__(self) -> None:
        self.length = 0

    def __call__(self, now: Progress) -> None:
        text = f"{now.elapsed:.1f} s, {now.evaluated} evaluated"
        text += f", best {now.best:.6g}" if now.best is not None else ""
        text += f", gap {100 * now.gap:.2g} %" if now.gap is not None else ""
        sys.stderr.write("\r" + text.ljust(self.length))
        sys.stderr.flush()
        self.length = len(text)

    def close(self) -> None:
        if self.length:
            sys.stderr.write("\n")


class _Tqdm:
    """Progress as a bar of tqdm that counts evaluations."""

    def __init__(self, tqdm: Any) -> None:
        self.bar = tqdm(unit=" evals", unit_scale=True)

    def __call__(self, now: Progress) -> None:
        self.bar.update(now.evaluated - self.bar.n)
        if now.best is not None:
            self.bar.set_postfix_str(f"best {now.best:.6g}")

    def close(self) -> None:
        self.bar.close()


def _shown(progress: Any) -> Any:
    if progress is not True:
        return progress or None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


def _metrics(metric: str | Sequence[str]) -> list[str]:
    return metric.split(",") if isinstance(metric, str) else list(metric)


def _knobs(knobs: MappingType[str, MappingType[str, Any]]) -> dict[str, dict[str, str]]:
    def text(value: Any) -> str:
        return ("1" if value else "0") if isinstance(value, bool) else _yaml.scalar(value)

    return {name: {k: text(v) for k, v in values.items()} for name, values in knobs.items()}


def _mapspace(given: str | MapSpace) -> MapSpace:
    return MapSpace(given) if isinstance(given, str) else given


def _component(given: Any) -> str:
    """The name of a built-in component, or of a class that is registered now."""
    if isinstance(given, str):
        return given
    from . import strategy

    return strategy.register(given)


def _problem_for(problem: Problem, space: MapSpace) -> Problem:
    implied = space.preset == "accelforge" and problem.compat is None
    return problem.with_compat("accelforge") if implied else problem


def _search(problem: Problem, progress: Any, space: MapSpace, limits: Limits,
            **given: Any) -> Result:
    problem = _problem_for(problem, space)
    shown = _shown(progress)
    told = None if shown is None else lambda *values: shown(Progress(*values))
    if limits.max_cpu_time > 0:  # the engine reckons from the start of the process
        limits = replace(limits, max_cpu_time=time.process_time() + limits.max_cpu_time)
    options = {"mapspace": asdict(space), "limits": asdict(limits), **given}
    try:
        found = _native.search(problem._native, options, told)
    finally:
        if shown is not progress and shown is not None:
            shown.close()
    if found.pop("interrupted") and not found["solutions"]:
        raise KeyboardInterrupt
    solutions = [Solution(s, problem) for s in found.pop("solutions")]
    return Result(metrics=given["metrics"], solutions=solutions, **found)


def map(problem: Problem, metric: str | Sequence[str] = "edp",  # noqa: A001
        mapspace: str | MapSpace = "full", limits: Limits = Limits(), mapper: Any = "ffm",
        model: Any = "looptree", knobs: MappingType[str, MappingType[str, Any]] = {},
        start: Sequence[Mapping] = (), threads: int = 0, seed: int = 0,
        progress: bool | Callable[[Progress], None] | None = None) -> Result:
    """Searches for the mapping of least ``metric``, as ``tessera map`` does.

    ``metric``    ``"energy"``, ``"latency"``, ``"edp"``, ``"traffic"``, ``"dynamic_energy"`` or
                  ``"leak_energy"``; two, as
                  ``["energy", "latency"]``, ask for the Pareto set; with them or alone
                  ``"resource_usage:MEMORY"``, the share of a memory that is in use
    ``mapper``    name of a mapper or search strategy (:func:`mappers`), or a class below
                  :class:`tessera.Strategy`
    ``model``     name of a cost model, or a class below :class:`tessera.CostModel`
    ``knobs``     settings by component: ``{"search": {"batch": 512}}``
    ``start``     known mappings; what is found is as good as the best of them or better
    ``threads``   0: one for each core
    ``progress``  ``True``: a bar of tqdm, or a line without it; or what is called with a
                  :class:`Progress` four times a second, on this thread

    The GIL is free while it runs; several searches may run in threads of Python. Ctrl-C ends it
    with the best mapping so far (``result.stopped_by == "stop"``), or raises ``KeyboardInterrupt``
    if there is none yet. What ``progress`` raises ends it and is raised.

    That no mapping is legal is a result: ``result.status``, ``result.reasons``. Raises
    :class:`UserError` for wrong options.
    """
    return _search(problem, progress, _mapspace(mapspace), limits, metrics=_metrics(metric),
                   mapper=_component(mapper), model=_component(model), knobs=_knobs(knobs),
                   start=[m._native for m in start], threads=threads, seed=seed,
                   exact_mapspace=False)


def evaluate(problem: Problem, mapping: Mapping, model: Any = "looptree") -> Solution:
    """Costs of a mapping. Raises :class:`IllegalMapping` naming the limit that it breaks."""
    native = _native.evaluate(problem._native, mapping._native, _component(model))
    return Solution(native, problem)


def explain(problem: Problem, mapping: Mapping, model: Any = "looptree") -> list[Violation]:
    """All that makes a mapping illegal. Empty, or warnings alone: it is legal."""
    found = _native.explain(problem._native, mapping._native, _component(model))
    return [Violation(**one) for one in found]


class Table(list):
    """Rows of a comparison or sweep: a list of dictionaries."""

    def to_frame(self) -> Any:
        """A ``pandas.DataFrame``."""
        return _frame([{k: v for k, v in row.items() if k != "result"} for row in self])

    def _repr_html_(self) -> str:
        from ._result import _table

        heads = [k for k in (self[0] if self else {}) if k != "result"]
        return _table([tuple(row[h] for h in heads) for row in self], tuple(heads))


def _row(result: Result, seconds: float) -> dict[str, Any]:
    best = result.solutions[0] if result.solutions else None
    costs = {"energy_j": best and best.energy, "latency_s": best and best.latency,
             "edp_js": best and best.edp}
    return {**costs, "status": result.status, "gap": result.gap,
            "evaluated": result.statistics["evaluated"], "seconds": seconds, "result": result}


def compare(problem: Problem, mappers: Iterable[Any], metric: str | Sequence[str] = "edp",
            mapspace: str | MapSpace = "full", limits: Limits = Limits(), seeds: Iterable[int] = (0,),
            model: Any = "looptree", knobs: MappingType[str, MappingType[str, Any]] = {},
            start: Sequence[Mapping] = (), threads: int = 0, progress: Any = None) -> Table:
    """Mappers and strategies one after the other on the same mapspace with the same limits.

    A row for each mapper and seed: ``mapper``, ``seed``, ``energy_j``, ``latency_s``, ``edp_js``,
    ``status``, ``gap``, ``evaluated``, ``seconds`` (wall), ``result``. Ctrl-C ends it with the rows
    so far. ``knobs`` of mappers that do not take part are an error.
    """
    named = [_component(m) for m in mappers]
    settings = _knobs(knobs)
    runners = {*named, _component(model), "search"}
    for name in settings:
        if name not in runners:
            raise UserError(f"knobs of {name!r} are set, which is not used here")
    table = Table()
    for name, seed in itertools.product(named, seeds):
        own = {k: v for k, v in settings.items()
               if k == name or k == _component(model)
               or (k == "search" and name in _native.strategies())}
        begin = time.perf_counter()
        result = _search(problem, progress, _mapspace(mapspace), limits, metrics=_metrics(metric),
                         mapper=name, model=_component(model), knobs=own,
                         start=[m._native for m in start], threads=threads, seed=seed,
                         exact_mapspace=True)
        row = _row(result, time.perf_counter() - begin)
        table.append({"mapper": name, "seed": seed, **row})
        if result.stopped_by == "stop":
            break
    return table


def sweep(make: Callable[..., Problem], over: MappingType[str, Iterable[Any]], **options: Any) -> Table:
    """One search for each combination of values.

    ``make`` is called with one value of each of ``over`` by name and gives the problem:
    ``sweep(lambda TOKENS: Problem.load("tpu-v4i", "gpt3-6.7b", {"TOKENS": TOKENS}),
    {"TOKENS": [512, 1024]})``. ``options`` are those of :func:`map`. A row for each: the values,
    then as in :func:`compare`. Ctrl-C ends it with the rows so far.
    """
    table = Table()
    for values in itertools.product(*over.values()):
        chosen = dict(zip(over, values))
        begin = time.perf_counter()
        result = map(make(**chosen), **options)
        table.append({**chosen, **_row(result, time.perf_counter() - begin)})
        if result.stopped_by == "stop":
            break
    return table


def mappers() -> dict[str, str]:
    """Name and summary of each mapper and search strategy."""
    return {**_native.mappers(), **_native.strategies()}


def models() -> dict[str, str]:
    """Name and summary of each cost model."""
    return _native.models()


def load_plugin(path: str) -> None:
    """Adds the components of a plugin (a shared object). Its code runs. Before any search."""
    _native.load_plugin(path)
