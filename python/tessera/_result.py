"""What evaluations and searches give back."""

from __future__ import annotations

import functools
import html
import json
from dataclasses import dataclass, field
from typing import Any, Iterator

from ._errors import LimitReached, NoLegalMapping
from ._mapping import Mapping
from ._problem import Problem
from .native import _tessera as _native


def _quantity(value: float, unit: str) -> str:
    """Four significant digits with an SI prefix."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"),
                           (1e-9, "n"), (1e-12, "p"), (1e-15, "f")):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def _table(rows: list[tuple], head: tuple) -> str:
    def line(cells: tuple, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(r, "td") for r in rows) + "</table>"


def _frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame; pandas is needed for this alone."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame() needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


class Report:
    """All that the cost model says of one mapping: the entry of "mappings" that ``--json`` prints.

    A mapping (``report["einsums"]``); docs/output.md says what stands where. Energies in J, times
    in s, sizes in bit, counts for all instances. May be pickled.
    """

    def __init__(self, values: dict[str, Any]):
        self.values = values

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def keys(self) -> Any:
        return self.values.keys()

    def rows(self) -> list[dict[str, Any]]:
        """One row for each Einsum, component, tensor and action: count and energy in J."""
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for einsum, of_einsum in self.values["einsums"].items():
            for component, of_component in of_einsum["components"].items():
                for tensor, values in _parts(of_component):
                    for action, count in values.get("actions", {}).items():
                        yield {"einsum": einsum, "component": component, "tensor": tensor,
                               "action": action, "count": count,
                               "energy_j": values["energy_j"].get(action, 0.0)}

    def to_frame(self) -> Any:
        """:meth:`rows` as a ``pandas.DataFrame``."""
        return _frame(self.rows())

    def _repr_html_(self) -> str:
        parts = {**self.values["einsums"], "Total": self.values}
        rows = [(name, _quantity(of["energy_j"], "J"), _quantity(of["latency_s"], "s"))
                for name, of in parts.items()]
        spent: dict[str, float] = {}
        for einsum in self.values["einsums"].values():
            for name, component in einsum["components"].items():
                spent[name] = spent.get(name, 0.0) + component["energy_j"]
        where = [(name, _quantity(energy, "J"))
                 for name, energy in sorted(spent.items(), key=lambda item: -item[1])]
        return _table(rows, ("Einsum", "energy", "latency")) + _table(where, ("component", "energy"))

    def __repr__(self) -> str:
        v = self.values
        return (f"<Report: {_quantity(v['energy_j'], 'J')}, {_quantity(v['latency_s'], 's')}, "
                f"{len(v['einsums'])} Einsums>")


def _parts(component: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What belongs to no tensor, then each tensor."""
    if "compute" in component:
        yield "", component["compute"]
    yield from component["tensors"].items()


class Solution:
    """A mapping and what it costs. May be pickled.

    ``energy`` in J, ``latency`` in s, ``edp`` in J s, ``traffic`` in words to and from the
    outermost memory (``None``: the model does not count them), ``warnings``: constraints of the
    architecture that a best effort did not meet.
    """

    def __init__(self, native: Any, problem: Problem):
        self._native, self._problem = native, problem
        self.energy: float = native.energy
        self.latency: float = native.latency
        self.edp: float = native.edp
        self.traffic: float | None = native.traffic
        self.warnings: list[str] = native.warnings

    @functools.cached_property
    def mapping(self) -> Mapping:
        """The LoopTree."""
        return Mapping(self._native.mapping)

    @functools.cached_property
    def report(self) -> Report:
        """Costs by Einsum, component, tensor and action."""
        return Report(json.loads(_native.to_json(self._problem._native, self._native)))

    @property
    def resource_usage(self) -> dict[str, float]:
        """The largest share of each memory that is in use at any time; 0 of an infinite one."""
        return self.report["peak_occupancy"]

    @functools.cached_property
    def svg(self) -> str:
        """A drawing of the LoopTree with trip counts, sizes and energies."""
        return _native.to_svg(self._problem._native, self._native)

    @functools.cached_property
    def text(self) -> str:
        """The LoopTree with trip counts and sizes of tiles, a node a line."""
        return _native.to_text(self._problem._native, self._native)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return (f"<Solution: {_quantity(self.energy, 'J')}, {_quantity(self.latency, 's')}, "
                f"EDP {self.edp:.6g} J s>")

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Solution) and self.mapping == other.mapping
                and self.report.values == other.report.values)

    def __getstate__(self) -> dict[str, Any]:
        # What is made of the library's objects is made now; they stay behind.
        self.mapping, self.report, self.svg, self.text
        return {k: v for k, v in self.__dict__.items() if k not in ("_native", "_problem")}


@dataclass
class Result:
    """What a search found. May be pickled.

    ``status``     ``"optimal"`` (proven; of several metrics: the Pareto set is complete),
                   ``"feasible"``, ``"infeasible"`` (no mapping is legal) or ``"unknown"`` (a limit
                   came before any mapping)
    ``solutions``  best first; of several metrics the Pareto set, by the first metric
    ``bound``      no mapping of the mapspace is better, in J, s or J s; one metric only
    ``gap``        (best - bound) / best; ``None``: unknown
    ``reasons``    why nothing is legal, or why the mapping is as it is
    ``stopped_by`` the limit that ended the search, ``"stop"`` for Ctrl-C; empty: none did
    ``statistics`` ``wall_s``, ``evaluated``, ``mapspace_size``, ``phases`` and more
    """

    status: str
    metrics: list[str]
    solutions: list[Solution]
    bound: float | None = None
    gap: float | None = None
    later: dict[str, Any] | None = None
    reasons: list[str] = field(default_factory=list)
    stopped_by: str = ""
    statistics: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Solution:
        """The first solution. Raises :class:`NoLegalMapping` or :class:`LimitReached`."""
        if self.solutions:
            return self.solutions[0]
        if self.status == "infeasible":
            raise NoLegalMapping("no legal mapping: " + "; ".join(self.reasons), self.reasons)
        raise LimitReached("the search ended before any mapping was found"
                           + (f" ({self.stopped_by})" if self.stopped_by else ""))

    @property
    def energy(self) -> float:
        """Of the best, in J."""
        return self.best.energy

    @property
    def latency(self) -> float:
        """Of the best, in s."""
        return self.best.latency

    @property
    def edp(self) -> float:
        """Of the best, in J s."""
        return self.best.edp

    @property
    def mapping(self) -> Mapping:
        """Of the best."""
        return self.best.mapping

    @property
    def report(self) -> Report:
        """Of the best."""
        return self.best.report

    def rows(self) -> list[dict[str, Any]]:
        """One row for each solution: energy_j, latency_s, edp_js, traffic_words, and what was asked
        for of resource_usage:MEMORY."""
        memories = [m.partition(":")[2] for m in self.metrics if m.startswith("resource_usage:")]
        return [{"energy_j": s.energy, "latency_s": s.latency, "edp_js": s.edp,
                 "traffic_words": s.traffic,
                 **{f"resource_usage:{m}": s.resource_usage.get(m, 0.0) for m in memories}}
                for s in self.solutions]

    def to_frame(self) -> Any:
        """:meth:`rows` as a ``pandas.DataFrame``."""
        return _frame(self.rows())

    def _repr_html_(self) -> str:
        rows = [(i + 1, _quantity(s.energy, "J"), _quantity(s.latency, "s"), f"{s.edp:.6g} J s")
                for i, s in enumerate(self.solutions)]
        text = html.escape(self._line())
        drawing = self.solutions[0].svg if self.solutions else ""
        return f"<p>{text}</p>" + _table(rows, ("", "energy", "latency", "EDP")) + drawing

    def _line(self) -> str:
        line = f"{self.status} for {','.join(self.metrics)}"
        if self.gap:
            line += f", gap {100 * self.gap:.3g} %"
        if self.stopped_by:
            line += f", stopped by {self.stopped_by}"
        return line

    def __repr__(self) -> str:
        first = f", {self.solutions[0]!r}" if self.solutions else ""
        return f"<Result: {self._line()}, {len(self.solutions)} solutions{first}>"
