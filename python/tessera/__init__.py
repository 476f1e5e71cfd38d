"""Tessera: optimal fused mappings of tensor workloads onto accelerators.

    import tessera
    problem = tessera.Problem.load("tpu-v4i", "gpt3-6.7b", {"BATCH": 1, "TOKENS": 2048})
    result = tessera.map(problem)
    print(result.status, result.edp)

Units are SI: J, s, bit. docs/python.md is the guide.
"""

from ._errors import (Bug, IllegalMapping, LimitReached, NoLegalMapping, PluginError, TesseraError,
                      UserError)
from ._mapping import Mapping
from ._problem import Problem, TesseraWarning, arch_names, workload_names
from ._result import Report, Result, Solution
from ._search import (Limits, MapSpace, Progress, Table, Violation, compare, evaluate, explain,
                      load_plugin, map, mappers, models, sweep)
from .native._tessera import __version__
from .strategy import CostModel, OpenSpace, Strategy

__all__ = [
    "Bug", "CostModel", "IllegalMapping", "Limits", "LimitReached", "MapSpace", "Mapping", "NoLegalMapping",
    "OpenSpace", "PluginError", "Problem", "Progress", "Report", "Result", "Solution", "Strategy", "Table", "TesseraError",
    "TesseraWarning", "UserError", "Violation", "arch_names", "compare", "evaluate", "explain",
    "load_plugin", "map", "mappers", "models", "sweep", "workload_names",
]
