"""Optimisers of others as strategies, each in some twenty lines; raced where they are installed."""

import numpy as np
import pytest

import tessera
from tessera import Limits, Problem, testing


class UnitCube(tessera.Strategy):
    """What optimisers of numbers have in common: rows from 0 to 1 around a first legal point."""

    def start(self, space, seed):
        self.base = None

    def ask(self, room):
        if self.base is None:
            return self.draw(1)
        return self.near_unit(self.base, self.rows(room))

    def tell(self, batch):
        if self.base is None:
            if batch.verdict[0] == 0:
                self.base = batch.points
                self.begin(self.space.unit_size(self.space.n_einsums))
            return
        self.told(np.where(np.isnan(batch.value), 1e9, np.log(batch.value)))


class OptunaTpe(UnitCube):
    """Tree-structured Parzen estimator (Optuna)."""

    def begin(self, size):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=self.seed % 2**32))
        self.size = size

    def rows(self, room):
        self.trials = [self.study.ask() for _ in range(min(room, 16))]
        return np.array([[t.suggest_float(str(i), 0, 1) for i in range(self.size)]
                         for t in self.trials])

    def told(self, values):
        for trial, value in zip(self.trials, values):
            self.study.tell(trial, value)


class NevergradCma(UnitCube):
    """Covariance matrix adaptation (Nevergrad)."""

    def begin(self, size):
        space = nevergrad.p.Array(shape=(size,), lower=0.0, upper=1.0)
        space.random_state.seed(self.seed % 2**32)
        self.optimizer = nevergrad.optimizers.CMA(space, budget=10_000, num_workers=16)

    def rows(self, room):
        self.asked = [self.optimizer.ask() for _ in range(min(room, 16))]
        return np.array([a.value for a in self.asked])

    def told(self, values):
        for asked, value in zip(self.asked, values):
            self.optimizer.tell(asked, value)


class PymooDe(UnitCube):
    """Differential evolution (pymoo), whose generations are told in pieces."""

    def begin(self, size):
        problem = pymoo_problem.Problem(n_var=size, n_obj=1, xl=0.0, xu=1.0)
        self.algorithm = pymoo_de.DE(pop_size=32)
        self.algorithm.setup(problem, seed=self.seed % 2**31, termination=("n_gen", 10**6))
        self.values = []

    def rows(self, room):
        if not self.values:
            self.population = self.algorithm.ask()
        at = len(self.values)
        return self.population.get("X")[at:at + room]

    def told(self, values):
        self.values += list(values)
        if len(self.values) == len(self.population):
            self.population.set("F", np.array(self.values)[:, None])
            self.algorithm.tell(infills=self.population)
            self.values = []


try:
    import optuna
except ImportError:
    optuna = None
try:
    import nevergrad
except ImportError:
    nevergrad = None
try:
    from pymoo.algorithms.soo.nonconvex import de as pymoo_de
    from pymoo.core import problem as pymoo_problem
except ImportError:
    pymoo_de = None

ADAPTERS = [pytest.param(cls, marks=pytest.mark.skipif(found is None, reason=f"no {name}"))
            for cls, found, name in ((OptunaTpe, optuna, "optuna"),
                                     (NevergradCma, nevergrad, "nevergrad"),
                                     (PymooDe, pymoo_de, "pymoo"))]
PROBLEMS = [("simba", "matmul", {}), ("eyeriss", "matmuls", {"N_EINSUMS": 2}),
            ("nvdla", "cnn-layer", {})]


class NumpyEvolution(UnitCube):
    """An evolution strategy that needs numpy alone: what an adapter looks like."""

    def begin(self, size):
        self.mean, self.sigma = np.full(size, 0.5), 0.3

    def rows(self, room):
        shape = (min(room, 32), len(self.mean))
        self.asked = np.clip(self.mean + self.sigma * self.rng.standard_normal(shape), 0, 1)
        return self.asked

    def told(self, values):
        if len(values) == 0:
            return
        self.mean = self.asked[np.argsort(values)[:8]].mean(axis=0)
        self.sigma = max(0.02, 0.97 * self.sigma)


@pytest.mark.parametrize("strategy", [NumpyEvolution, *ADAPTERS])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_race(strategy, problem):
    made = Problem.load(*problem)
    optimum = tessera.map(made).edp
    table = tessera.compare(made, [strategy, "random"], seeds=[1], limits=Limits(max_evals=160))
    assert all(row["evaluated"] <= 160 for row in table)
    assert all(row["edp_js"] >= optimum * (1 - 1e-9) for row in table)
    again = tessera.map(made, mapper=strategy, seed=1, limits=Limits(max_evals=160))
    assert again.edp == table[0]["edp_js"]


def test_contract():
    testing.check(NumpyEvolution)
