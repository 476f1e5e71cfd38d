"""Workloads of ZigZag and Stream (YAML)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from .._errors import UserError
from ._graph import Access, Atom, Network, NotSupported, Op, Tensor, printable

_OPERAND = re.compile(r"([A-Za-z]\w*)((?:\[\w+\])*)")
_TERM = re.compile(r"^(?:(\d+)\*)?([A-Za-z]\w*)$")


def read_zigzag(path: str | os.PathLike[str], bits: int | None = None) -> Network:
    """The layers of a workload: equation, loop_dims, loop_sizes, dimension_relations, operand_source,
    operand_precision. `bits`: of each value, instead of what the file says.

    Raises UserError naming the layer.
    """
    try:
        import yaml
    except ImportError as missing:
        raise UserError("reading workloads of ZigZag needs the Python package 'pyyaml': pip install pyyaml, or "
                        "apt-get install python3-yaml") from missing
    shown = printable(os.fspath(path))
    try:
        with open(path, encoding="utf-8") as file:
            layers = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{shown}: {error}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{shown}: {printable(str(error))}") from error
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        raise UserError(f"{shown}: expected a list of layers")
    net = Network(os.path.basename(os.fspath(path)), bits or 8)
    made: dict[Any, Tensor] = {}
    for n, layer in enumerate(layers):
        try:
            made[layer.get("id", n)] = _layer(net, layer, made, bits)
        except (NotSupported, KeyError, TypeError, ValueError) as why:
            what = f"'{why.args[0]}' is missing" if isinstance(why, KeyError) else str(why)
            raise UserError(f"{shown}: layer {printable(str(layer.get('id', n)))}: {printable(what)}") from why
    return net


def _layer(net: Network, layer: Mapping[str, Any], made: Mapping[Any, Tensor], bits: int | None) -> Tensor:
    sizes = {str(d).lower(): int(s) for d, s in zip(layer["loop_dims"], layer["loop_sizes"], strict=True)}
    slots = {d: Atom(s, d.upper()).make_rigid() for d, s in sizes.items() if s > 1}
    relations = _relations(layer.get("dimension_relations", []))
    operands = _OPERAND.findall(str(layer["equation"]))
    if len(operands) < 2:
        raise NotSupported("its equation has no operands")
    name = str(layer.get("name", layer.get("operator_type", "layer"))) + f"_{layer.get('id', '')}"
    precision = layer.get("operand_precision", {})
    sources = layer.get("operand_source", {})

    def terms(dim: str) -> list[tuple[int, Atom]]:
        if dim in relations and dim not in sizes:
            return [(c, slots[d]) for c, d in relations[dim] if d in slots]
        if dim not in sizes:
            raise NotSupported(f"'{dim}' is neither in loop_dims nor in dimension_relations")
        return [(1, slots[dim])] if dim in slots else []

    def operand(letter: str, dims: list[str], output: bool) -> Access:
        at = [(d, terms(d)) for d in dims]
        at = [(d, t) for d, t in at if t]
        source = sources.get(letter)
        source = None if source == layer.get("id") else made.get(source)
        wanted = precision.get("O_final", precision.get("O")) if output else precision.get(letter)
        if source is not None and len(source.atoms) == len(at):
            return Access(source, dict(zip(source.atoms, (t for _, t in at))))
        # An axis that one variable runs over is a rank of its size; another one is as long as it reaches.
        atoms = [t[0][1] if len(t) == 1 and t[0][0] == 1 else
                 Atom(1 + sum(c * (s.size - 1) for c, s in t), d.upper()).make_rigid() for d, t in at]
        own = net.name(name if output else f"{name}_{letter}")
        tensor = Tensor(own, atoms, None if bits else int(wanted) if wanted else None)
        return Access(tensor, dict(zip(atoms, (t for _, t in at))))

    out, *inputs = [(letter, re.findall(r"\w+", dims.lower())) for letter, dims in operands]
    made_here = operand(*out, True)
    read = [operand(letter, dims, False) for letter, dims in inputs]
    kind = str(layer.get("operator_type", "")).lower()
    operation = "add" if kind.startswith("add") else "max" if "maxpool" in kind else ""
    if len(read) == 2 and read[1].tensor.made and not read[0].tensor.made:
        read.reverse()  # the one that another Einsum makes is the input
    net.add(Op(made_here, read, operation, weight=not operation))
    net.count(net.taken, printable(str(layer.get("operator_type", "layers"))))
    return made_here.tensor


def _relations(given: list[Any]) -> dict[str, list[tuple[int, str]]]:
    """ix = 1*ox + 1*fx"""
    found = {}
    for relation in given:
        left, _, right = str(relation).lower().replace(" ", "").partition("=")
        terms = []
        for term in right.split("+"):
            match = _TERM.match(term)
            if match is None:
                raise NotSupported(f"'{relation}' is no sum of multiples of dimensions")
            terms.append((int(match[1] or 1), match[2]))
        found[left] = terms
    return found

