"""Problems: a workload on an architecture."""

from __future__ import annotations

import os
import warnings as _warnings
from typing import Any, Mapping as MappingType, Sequence

from . import _yaml
from ._errors import UserError
from .native import _tessera as _native

_COMPAT = ("none", "accelforge")


class TesseraWarning(UserWarning):
    """What an input file says without effect."""


def _accelforge(compat: str | None) -> bool:
    if compat is not None and compat not in _COMPAT:
        raise UserError(f"unknown compat {compat!r} (there are: {', '.join(_COMPAT)})")
    return compat == "accelforge"


def _texts(values: MappingType[str, Any]) -> dict[str, str]:
    """Values of variables as they would stand in a file."""
    return {str(name): _yaml.scalar(value) for name, value in values.items()}


class Problem:
    """A workload on an architecture. Immutable; may be used from several threads.

    Made by :meth:`load`, :meth:`parse` or :meth:`from_dict`. ``compat`` of each says whose cost
    conventions count: ``"none"``, or ``"accelforge"`` (that tool's, defects included); ``None``
    means ``"none"``, but ``"accelforge"`` where ``map(mapspace="accelforge")`` asks for that.
    """

    def __init__(self, *_: Any):
        raise TypeError("use Problem.load, Problem.parse or Problem.from_dict")

    @classmethod
    def _made(cls, native: Any, compat: str | None, recipe: tuple) -> Problem:
        self = object.__new__(cls)
        self._native, self.compat, self._recipe = native, compat, recipe
        return self

    @classmethod
    def _told(cls, native: Any, compat: str | None, recipe: tuple) -> Problem:
        for line in native.warnings:
            _warnings.warn(line, TesseraWarning, stacklevel=3)
        return cls._made(native, compat, recipe)

    @classmethod
    def load(cls, arch: str | os.PathLike, workload: str | os.PathLike,
             defines: MappingType[str, Any] = {}, *, compat: str | None = None) -> Problem:
        """Reads files, or specs by the names that come with Tessera (see :func:`arch_names`).

        ``defines``: values for the variables that the files declare, as ``{"TOKENS": 2048}``.
        Raises :class:`UserError` with file, line and column.
        """
        names = os.fspath(arch), os.fspath(workload)
        texts = _texts(defines)
        native = _native.Problem.load(*names, texts, _accelforge(compat))
        return cls._told(native, compat, ("load", *names, texts))

    @classmethod
    def parse(cls, arch: str, workload: str, defines: MappingType[str, Any] = {}, *,
              compat: str | None = None) -> Problem:
        """The same of the YAML texts of such files."""
        texts = _texts(defines)
        native = _native.Problem.parse(arch, workload, texts, _accelforge(compat))
        return cls._told(native, compat, ("parse", arch, workload, texts))

    @classmethod
    def from_dict(cls, arch: MappingType[str, Any], workload: MappingType[str, Any],
                  per_einsum: MappingType[str, MappingType[str, Any]] = {},
                  defines: MappingType[str, Any] = {}, *, compat: str | None = None) -> Problem:
        """The same of such files as dictionaries and lists.

        The kind of a node, a YAML tag in files, stands under the key ``"!"``:
        ``{"!": "Memory", "name": "Buffer", "size": 65536}``.

        ``per_einsum`` gives values of the architecture that count for one Einsum alone:
        ``{"QK": {"arch.MAC.actions.compute.energy": 3e-12}}``; paths are those of
        ``tessera sweep`` (docs/sweep.md).
        """
        arch = dict(arch)
        if per_einsum:
            arch["per_einsum"] = {**arch.get("per_einsum", {}), **per_einsum}
        return cls.parse(_yaml.dump(arch), _yaml.dump(workload), defines, compat=compat)

    def only(self, *einsums: str) -> Problem:
        """These Einsums alone; the others' tensors are inputs and results."""
        return self._made(self._native.only(list(einsums)), self.compat,
                          ("only", self._recipe, list(einsums)))

    def with_compat(self, compat: str) -> Problem:
        """The same under other cost conventions. Files are read again."""
        return self._made(_native_of(self._recipe, _accelforge(compat)), compat, self._recipe)

    @property
    def workload(self) -> str:
        """Name of the workload."""
        return self._native.workload_name

    @property
    def architecture(self) -> str:
        """Name of the architecture."""
        return self._native.architecture_name

    @property
    def einsums(self) -> list[str]:
        """Names of the Einsums, in the order of the file."""
        return self._native.einsums

    @property
    def components(self) -> list[str]:
        """Names of memories, tolls, computes and networks, in the order of the file."""
        return self._native.components

    @property
    def warnings(self) -> list[str]:
        """What the files say without effect, one text each."""
        return self._native.warnings

    def __repr__(self) -> str:
        return f"<Problem {self.workload} on {self.architecture}: {len(self.einsums)} Einsums>"

    def __reduce__(self) -> tuple:
        return _remake, (self._recipe, self.compat)


def _native_of(recipe: tuple, accelforge: bool) -> Any:
    if recipe[0] == "only":
        return _native_of(recipe[1], accelforge).only(recipe[2])
    return getattr(_native.Problem, recipe[0])(*recipe[1:], accelforge)


def _remake(recipe: tuple, compat: str | None) -> Problem:
    """A pickled problem. One of files reads them again."""
    return Problem._made(_native_of(recipe, _accelforge(compat)), compat, recipe)


def arch_names() -> list[str]:
    """Names of the architectures that come with Tessera."""
    return _native.architecture_names()


def workload_names() -> list[str]:
    """Names of the workloads that come with Tessera."""
    return _native.workload_names()
