"""The contract kits that every strategy and model of Tessera passes, for your own."""

from __future__ import annotations

from .native import _tessera as _native
from .strategy import CostModel, register


def findings(component: type, seed: int = 0) -> dict[str, list[str]]:
    """What is wrong, by check; an empty list: nothing."""
    run = _native.check_model if issubclass(component, CostModel) else _native.check_strategy
    return {f"{name}: {text}": found for name, text, found in run(register(component), seed)}


def check(component: type, seed: int = 0) -> None:
    """Raises ``AssertionError`` naming every check that a strategy or model fails."""
    wrong = {name: found for name, found in findings(component, seed).items() if found}
    if wrong:
        lines = (f"  {name}\n    " + "\n    ".join(found) for name, found in wrong.items())
        raise AssertionError(f"{component.__name__} breaks its contract:\n" + "\n".join(lines))
