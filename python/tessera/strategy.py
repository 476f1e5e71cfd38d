"""Search strategies and cost models of your own.

A strategy proposes mappings in batches and is told what they cost; the host makes, evaluates and
checks them on all threads. All of a batch is arrays, so that Python has work for each batch and
none for each mapping::

    class Climb(tessera.Strategy):
        def start(self, space, seed):
            super().start(space, seed)
            self.best = None

        def ask(self, room):
            if self.best is None:
                return self.draw(room)
            return self.move(self.best, room)

        def tell(self, batch):
            if np.isfinite(batch.value).any():
                self.best = batch.points.take([np.nanargmin(batch.value)])

    tessera.map(problem, mapper=Climb, limits=tessera.Limits(max_evals=10_000))
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import zlib
from dataclasses import asdict
from typing import Any, Sequence

import numpy as np

from ._errors import PluginError
from ._mapping import Mapping
from ._problem import Problem
from ._result import Report
from ._search import MapSpace, _mapspace, _problem_for
from .native import _tessera as _native
from .native._tessera import Batch, Points, Space

__all__ = ["Batch", "CostModel", "MOVES", "OpenSpace", "Points", "Space", "Strategy", "register"]

#: Changes that the host makes of a legal point: Strategy.move()'s ``kinds`` (docs/search.md).
MOVES = ("factor", "tile", "tiles", "spatial", "order", "keep", "backing", "einsum", "einsums")

#: What became of a candidate: Batch.verdict counts in this list.
VERDICTS = ("legal", "no_point", "incompatible", "tile_shape", "fanout", "capacity", "constraint",
            "refused", "not_evaluated")


class _Proposals:
    """Makes batches. ``seed`` of each: the host's draws depend on it; the same gives the same."""

    space: Space
    rng: np.random.Generator

    def _seed(self) -> int:
        return int(self.rng.integers(2**63))

    def draw(self, n: int) -> Batch:
        """``n`` random legal points, uniform over structures."""
        return _native.batch_draw(n, self._seed())

    def at(self, points: Points) -> Batch:
        """These points as they stand, legal or not."""
        return _native.batch_points(self.space, points)

    def near(self, points: Points) -> Batch:
        """A legal point near each of these."""
        return _native.batch_repair(self.space, points, self._seed())

    def near_vectors(self, vectors: np.ndarray) -> Batch:
        """A legal point near each row, of shape (n, len(space.layout)); float32, any values."""
        return self.near(self.space.decode(np.asarray(vectors, np.float32)))

    def near_unit(self, base: Points, unit: np.ndarray, block: int | None = None) -> Batch:
        """A legal point near each row of numbers from 0 to 1, of shape (n, space.unit_size(block)).

        Block e: the numbers of Einsum e, the others as in ``base`` (one point); the last block,
        ``None``: all.
        """
        block = self.space.n_einsums if block is None else block
        return self.near(self.space.unit_decode(base, block, np.asarray(unit, np.float64)))

    def move(self, points: Points, n: int | None = None, kinds: Sequence[str] = MOVES) -> Batch:
        """``n`` changes of legal points, in turn (one of each): random kinds of these, Einsums."""
        n = len(points) if n is None else n
        chosen = points.take(np.arange(n) % len(points))
        numbers = np.array([MOVES.index(kind) for kind in kinds])
        return _native.batch_moves(self.space, chosen, self.rng.choice(numbers, n),
                                   self.rng.integers(self.space.n_einsums, size=n), self._seed())

    def cross(self, points: Points, mates: Points) -> Batch:
        """Each of these with a random range of Einsums of its mate."""
        ends = np.sort(self.rng.integers(self.space.n_einsums + 1, size=(len(points), 2)), axis=1)
        return _native.batch_cross(self.space, points, mates, ends[:, 0], ends[:, 1], self._seed())


class Strategy(_Proposals):
    """A search strategy: docs/python.md, "A strategy of your own".

    ``knobs``   name and default of each setting, or default and text, as
                ``{"elite": (16, "mappings that are kept")}``; the constructor gets their values
    ``width``   how many candidates it has use for at a time; 0: as many as there is room for. One
                that works on few is run as islands, objects with a seed of their own
    ``ends``    it stops by itself, so that no limit is needed

    Same seed and same outcomes must give the same proposals: draw from ``self.rng``.
    """

    knobs: dict[str, Any] = {}
    width: int = 0
    ends: bool = False

    def _start(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        self.rng = np.random.default_rng(seed)
        self.start(space, seed)

    def start(self, space: Space, seed: int) -> None:
        """Called once, before everything else. ``self.space`` and ``self.rng`` are there."""

    def ask(self, room: int) -> Batch | None:
        """A batch of at most ``room`` candidates; ``None`` or an empty one: nothing is left."""
        raise NotImplementedError("a strategy has a method ask(room)")

    def tell(self, batch: Batch) -> None:
        """The last batch with what came of it: ``points``, ``value`` (what is minimised, NaN where
        it is not legal), ``energy``, ``latency``, ``verdict``."""

    def exhausted(self) -> bool:
        """After ask() gave nothing: every legal point was proposed, so that the best is optimal."""
        return False

    def budget_used(self, fraction: float) -> None:
        """Before ask(): the share of the limits that is used up; negative: there are none."""

    def immigrate(self, best: Batch) -> None:
        """The best point of all islands, a batch of one."""

    def _save(self) -> bytes:
        state = self.save()
        return zlib.crc32(state).to_bytes(4, "little") + state if state else b""

    def _restore(self, state: bytes) -> bool:
        """What was changed on its way is not understood; nobody else sees it."""
        own = state[4:]
        return zlib.crc32(own).to_bytes(4, "little") == state[:4] and bool(self.restore(own))

    def save(self) -> bytes:
        """The state after tell(), for a search that goes on later; empty: it cannot be saved."""
        return b""

    def restore(self, state: bytes) -> bool:
        """Called after start() with what save() gave. False: it is not understood."""
        return False


class CostModel:
    """A cost model: says what mappings cost that are legal on the architecture.

    Strategies search by it; mappers that need formulas (ffm) refuse it. Called from one thread at
    a time.
    """

    def evaluate(self, mapping: Mapping, report: Report) -> Any:
        """Energy in J and latency in s: ``{einsum: (energy, latency)}`` for every Einsum; of one
        Einsum the pair alone. ``report``: what model ``looptree`` says of it, for its counts.
        Raises :class:`tessera.IllegalMapping` for a mapping that cannot be."""
        raise NotImplementedError("a cost model has a method evaluate(mapping, report)")

    def _evaluate(self, mapping: Any, report: Any) -> list[tuple[str, float, float]]:
        told = Report(json.loads(report.to_json()))
        costs = self.evaluate(Mapping(mapping), told)
        einsums = list(told["einsums"])
        if not isinstance(costs, dict):
            if len(einsums) > 1:
                raise PluginError("evaluate() gives {einsum: (energy, latency)} for each of "
                                  + ", ".join(einsums))
            costs = {einsums[0]: costs}
        return [(e, float(costs[e][0]), float(costs[e][1])) for e in einsums]


_names: dict[type, str] = {}


def register(component: type) -> str:
    """Makes a strategy or model known by name, and returns it; done by ``map(mapper=MyClass)``.

    The name is the class's attribute ``name``, else its own in lower case with ``_``. A class that
    is defined anew under a name that is taken (in a notebook) gets ``-2`` behind it. To be called
    before searches in other threads are started.
    """
    if component in _names:
        return _names[component]
    if not (isinstance(component, type) and issubclass(component, (Strategy, CostModel))):
        raise TypeError(f"{component!r} is neither a name nor a class below tessera.Strategy or "
                        "tessera.CostModel")
    own = component.__dict__.get("name")
    base = own or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", component.__name__).lower()
    taken = {**_native.mappers(), **_native.strategies(), **_native.models()}
    name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, 10**6))) if n not in taken)
    summary = (inspect.getdoc(component) or "").split("\n")[0]
    file = getattr(sys.modules.get(component.__module__), "__file__", None) or "Python"
    if issubclass(component, Strategy):
        _native.register_strategy(name, summary, file, component.knobs, component)
    else:
        _native.register_model(name, summary, file, component)
    _names[component] = name
    return name


class OpenSpace(_Proposals):
    """A problem's mapspace for methods that evaluate by themselves, without :func:`tessera.map`.

    ``space`` has the views as numbers; :meth:`run` makes and evaluates a batch on all threads, with
    the GIL free. ``draw``, ``at``, ``near``, ``move``, ``cross`` make batches.
    """

    def __init__(self, problem: Problem, mapspace: str | MapSpace = "full",
                 model: str = "looptree", threads: int = 0, seed: int = 0):
        space = _mapspace(mapspace)
        self._opened = _native.OpenedSpace(_problem_for(problem, space)._native, asdict(space),
                                           model, threads)
        self.space = self._opened.space
        self.rng = np.random.default_rng(seed)

    def run(self, batch: Batch) -> Batch:
        """Makes and evaluates the candidates in place; ``energy`` and ``latency`` are there then."""
        self._opened.run(batch)
        return batch

    def mapping(self, points: Points, index: int = 0) -> Mapping:
        """The LoopTree of a legal point."""
        return Mapping(self._opened.mapping(points, index))
