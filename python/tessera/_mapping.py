"""Mappings: LoopTrees as text, drawing, and what the library works on."""

from __future__ import annotations

import os
from typing import Any

from ._problem import Problem
from .native import _tessera as _native


class Mapping:
    """A LoopTree. Immutable; equal if the YAML is equal; may be pickled.

    Made by a search, :meth:`from_yaml` or :meth:`load`.
    """

    def __init__(self, native: Any):
        self._native = native

    @classmethod
    def from_yaml(cls, text: str, name: str = "mapping") -> Mapping:
        """Reads what :meth:`to_yaml` writes. ``name`` stands for a file in messages."""
        return cls(_native.Mapping.parse(text, name))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Mapping:
        """Reads a ``mapping.yaml``."""
        with open(path, encoding="utf-8") as file:
            return cls.from_yaml(file.read(), os.fspath(path))

    def to_yaml(self) -> str:
        """The YAML that ``tessera model -m`` reads."""
        return self._native.to_yaml()

    def to_accelforge_yaml(self, problem: Problem) -> str:
        """YAML that AccelForge reads: one branch for each Einsum."""
        return _native.to_accelforge_yaml(problem._native, self._native)

    def _repr_svg_(self) -> str:
        return self._native.to_svg()

    def __str__(self) -> str:
        return self._native.to_text()

    def __repr__(self) -> str:
        return f"<Mapping of {self.to_yaml().count('!Compute')} Einsums>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self.to_yaml() == other.to_yaml()

    def __hash__(self) -> int:
        return hash(self.to_yaml())

    def __reduce__(self) -> tuple:
        return Mapping.from_yaml, (self.to_yaml(),)
