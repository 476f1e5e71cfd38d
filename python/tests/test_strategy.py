"""Strategies and cost models in Python."""

import pickle

import numpy as np
import pytest

import tessera
from tessera import Limits, Problem
from tessera import testing
from tessera.strategy import MOVES, VERDICTS, register


class Climb(tessera.Strategy):
    """Hill climbing."""

    knobs = {"room": (64, "candidates a batch, at most"), "greedy": True, "share": 0.5}

    def __init__(self, room, greedy, share):
        assert (type(room), type(greedy), type(share)) == (int, bool, float)
        self.room = room

    def start(self, space, seed):
        self.best, self.value, self.trace = None, np.inf, []

    def ask(self, room):
        n = min(room, self.room)
        return self.draw(n) if self.best is None else self.move(self.best, n)

    def tell(self, batch):
        self.trace.append(batch.value)
        if np.nanmin(batch.value, initial=np.inf) < self.value:
            at = int(np.nanargmin(batch.value))
            self.best, self.value = batch.points.take([at]), batch.value[at]

    def save(self):
        return pickle.dumps((self.best, self.value, self.rng.bit_generator.state))

    def restore(self, state):
        self.best, self.value, rng = pickle.loads(state)
        self.rng.bit_generator.state = rng
        return True


class Everything(tessera.Strategy):
    """All points, one after the other."""

    ends = True

    def start(self, space, seed):
        self.points = space.enumerate()
        self.done = False

    def ask(self, room):
        points = self.points.next(room)
        self.done = len(points) == 0
        return self.at(points)

    def exhausted(self):
        return self.done


class Unit(tessera.Strategy):
    """Numbers from 0 to 1, of which it knows nothing else."""

    def start(self, space, seed):
        self.base, self.size = None, space.unit_size(space.n_einsums)

    def ask(self, room):
        if self.base is None:
            return self.draw(1)
        return self.near_unit(self.base, self.rng.random((room, self.size)))

    def tell(self, batch):
        if self.base is None and batch.verdict[0] == 0:
            self.base = batch.points


def evaluations(n, **more):
    return {"limits": Limits(max_evals=n), **more}


@pytest.mark.parametrize("strategy", [Climb, Everything, Unit])
def test_contract(strategy):
    testing.check(strategy)


def test_contract_is_not_kept():
    class Forgetful(Climb):
        knobs = {}

        def __init__(self):
            self.room = 8

        def start(self, space, seed):
            self.rng = np.random.default_rng()  # not the seed
            super().start(space, seed)

    with pytest.raises(AssertionError, match="seed"):
        testing.check(Forgetful)


def test_a_strategy_searches(small):
    optimum = tessera.map(small).edp
    result = tessera.map(small, mapper=Climb, **evaluations(4000, seed=1))
    assert result.stopped_by == "max-evals" and result.statistics["evaluated"] <= 4000
    assert optimum * (1 - 1e-9) <= result.edp < 10 * optimum
    assert tessera.explain(small, result.mapping) == []
    assert tessera.evaluate(small, result.mapping).edp == result.edp


def test_same_seed_same_trace(small):
    def trace(seed, threads):
        seen = []

        class Traced(Climb):
            def tell(self, batch):
                seen.append(batch.value)
                super().tell(batch)

        tessera.map(small, mapper=Traced, threads=threads, **evaluations(1000, seed=seed))
        return np.concatenate(seen)

    first = trace(5, 1)
    assert len(first) == 1000
    np.testing.assert_array_equal(first, trace(5, 2))
    assert not np.array_equal(first, trace(6, 1), equal_nan=True)


def test_exhausted_is_optimal():
    problem = Problem.load("simple", "matmul", {"M": 4, "K": 4, "L": 4})
    result = tessera.map(problem, mapper=Everything)
    assert result.status == "optimal"
    assert result.edp == pytest.approx(tessera.map(problem).edp, rel=1e-12)


def test_knobs(small):
    seen = []

    class Counted(Climb):
        """Hill climbing that tells its batches."""

        def tell(self, batch):
            seen.append(len(batch))
            super().tell(batch)

    name = register(Counted)
    assert name == "counted" and tessera.mappers()[name].startswith("Hill climbing")
    tessera.map(small, mapper=Counted, knobs={name: {"room": 10}}, **evaluations(50))
    assert max(seen) == 10 and sum(seen) == 50
    with pytest.raises(tessera.UserError, match="room"):
        tessera.map(small, mapper=Counted, knobs={name: {"rom": 10}}, **evaluations(50))


def test_a_class_can_be_defined_anew():
    def define():
        class Again(Climb):
            pass

        return register(Again)

    assert [define(), define()] == ["again", "again-2"]


@pytest.mark.parametrize("method", ["start", "ask", "tell", "exhausted"])
def test_what_a_strategy_raises_is_raised(small, method):
    class Broken(Everything):
        pass

    def fail(*_):
        raise ZeroDivisionError(method)

    setattr(Broken, method, fail)
    problem = Problem.load("simple", "matmul", {"M": 4, "K": 4, "L": 4})
    with pytest.raises(ZeroDivisionError, match=method):
        tessera.map(problem, mapper=Broken)


def test_too_many_proposals_are_an_error(small):
    class Greedy(tessera.Strategy):
        def ask(self, room):
            return self.draw(room + 1)

    with pytest.raises(tessera.TesseraError, match="candidates"):
        tessera.map(small, mapper=Greedy, **evaluations(10))


def test_a_space_ends_with_its_search(small):
    kept = []

    class Keeper(Climb):
        def start(self, space, seed):
            super().start(space, seed)
            kept.append(space)

    tessera.map(small, mapper=Keeper, **evaluations(10))
    with pytest.raises(tessera.UserError, match="over"):
        kept[0].layout


def test_strategies_race_the_built_in_ones(small):
    table = tessera.compare(small, [Climb, "random", "annealing"], limits=Limits(max_evals=500))
    assert [row["mapper"] for row in table] == [register(Climb), "random", "annealing"]
    assert all(row["evaluated"] <= 500 and row["edp_js"] > 0 for row in table)


def test_views_of_points(conv):
    opened = tessera.OpenSpace(conv, seed=3)
    space = opened.space
    drawn = opened.run(opened.draw(200))
    assert (drawn.verdict == 0).all()
    points = drawn.points
    again = pickle.loads(pickle.dumps(points))
    assert again == points and len(points.take([5, -1])) == 2
    assert space.decode(space.encode(points)) == points
    assert len(space.layout) == space.encode(points).shape[1]
    # Evaluated as they stand they cost the same, as they do by the model.
    same = opened.run(opened.at(points))
    np.testing.assert_array_equal(same.energy, drawn.energy)
    solution = tessera.evaluate(conv, opened.mapping(points, 7))
    assert solution.energy == pytest.approx(drawn.energy[7], rel=1e-9)
    assert solution.latency == pytest.approx(drawn.latency[7], rel=1e-9)
    unit = space.unit_encode(points.take([0]), 1)
    assert unit.shape == (1, space.unit_size(1)) and (0 <= unit).all() and (unit <= 1).all()
    near = opened.run(opened.near_unit(points.take([0]), np.full((3, unit.shape[1]), 0.5)))
    assert len(near) == 3
    moved = opened.run(opened.move(points.take([0]), 50, kinds=["tile", "factor"]))
    assert {VERDICTS[v] for v in moved.verdict} <= {"legal", "no_point"}
    crossed = opened.run(opened.cross(points, points.take(np.arange(200)[::-1])))
    assert (crossed.verdict == 0).all()
    assert len(MOVES) == 9


@pytest.mark.parametrize("call", [
    lambda o, p: o.space.decode(np.zeros((2, 3), np.float32)),
    lambda o, p: o.near_unit(p, np.zeros((2, 3))),
    lambda o, p: o.space.unit_encode(p, 9),
    lambda o, p: o.at(type(p)(p.choices[:, :0], [[]], [0])),
    lambda o, p: o.at(type(p)(p.choices + 10**6, p.tiles, p.orders)),
    lambda o, p: type(p)(p.choices, [], [0]),
])
def test_what_is_no_point_is_refused(conv, call):
    opened = tessera.OpenSpace(conv, seed=3)
    points = opened.draw(1)
    with pytest.raises(tessera.UserError):
        call(opened, opened.run(points).points)


class Cycles(tessera.CostModel):
    """Energy: one pJ a word moved; latency: one ns a computation."""

    def evaluate(self, mapping, report):
        def cost(einsum):
            actions = [c["tensors"][t]["actions"] for c in einsum["components"].values()
                       for t in c["tensors"]]
            moved = sum(a.get("read", 0) + a.get("write", 0) for a in actions)
            compute = sum(c["compute"]["actions"]["compute"]
                          for c in einsum["components"].values() if "compute" in c)
            return 1e-12 * moved, 1e-9 * compute

        return {name: cost(einsum) for name, einsum in report["einsums"].items()}


def test_a_model_judges(small, conv):
    mapping = tessera.map(small).mapping
    solution = tessera.evaluate(small, mapping, Cycles)
    rows = tessera.evaluate(small, mapping).report.rows()
    moved = sum(r["count"] for r in rows if r["action"] in ("read", "write"))
    assert solution.energy == pytest.approx(1e-12 * moved, rel=1e-12)
    assert list(solution.report["einsums"]) == small.einsums


def test_a_model_is_searched_by_strategies(small):
    found = tessera.map(small, "energy", mapper="annealing", model=Cycles, **evaluations(300, seed=2))
    assert found.energy == tessera.evaluate(small, found.mapping, Cycles).energy
    worse = tessera.map(small, "energy", mapper="random", model=Cycles, **evaluations(20, seed=2))
    assert found.energy <= worse.energy
    again = tessera.map(small, "energy", mapper="random", model=Cycles, start=[found.mapping],
                        **evaluations(5))
    assert again.energy <= found.energy
    table = tessera.compare(small, ["random", Climb], model=Cycles, limits=Limits(max_evals=40))
    assert all(row["energy_j"] > 0 for row in table)


def test_who_needs_formulas_says_so(small):
    with pytest.raises(tessera.UserError, match="formulas"):
        tessera.map(small, model=Cycles)
    with pytest.raises(tessera.UserError, match="formulas"):
        tessera.map(small, mapper="random", model=Cycles,
                    knobs={"search": {"space": "tables"}}, **evaluations(5))


def test_what_a_model_raises_is_raised(small):
    class Broken(tessera.CostModel):
        def evaluate(self, mapping, report):
            raise ZeroDivisionError("here")

    class Incomplete(tessera.CostModel):
        def evaluate(self, mapping, report):
            return 1.0, 2.0

    class Refusing(tessera.CostModel):
        def evaluate(self, mapping, report):
            raise tessera.IllegalMapping("never")

    mapping = tessera.map(small).mapping
    with pytest.raises(ZeroDivisionError, match="here"):
        tessera.evaluate(small, mapping, Broken)
    with pytest.raises(ZeroDivisionError, match="here"):
        tessera.map(small, mapper="random", model=Broken, **evaluations(5))
    with pytest.raises(tessera.PluginError, match="each of Matmul0"):
        tessera.evaluate(small, mapping, Incomplete)
    with pytest.raises(tessera.IllegalMapping, match="never"):
        tessera.evaluate(small, mapping, Refusing)
    assert tessera.map(small, mapper="random", model=Refusing, **evaluations(5)).status == "unknown"


def test_contract_of_a_model():
    testing.check(Cycles)
