"""Topologies of SCALE-Sim: layers that say nothing of each other."""

from __future__ import annotations

import csv
import os

from .._errors import UserError
from ._graph import Atom, Network, NotSupported, Tensor, View, printable
from ._layers import Windows, convolution, product, window_sizes


def read_scalesim(path: str | os.PathLike[str], bits: int = 8) -> Network:
    """The layers of a topology file: convolutions, or with a header M, N, K matrix products. Each is an
    Einsum of its own.

    Raises UserError naming the line.
    """
    shown = printable(os.path.basename(os.fspath(path)))
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{printable(os.fspath(path))}: {error}") from error
    net = Network(os.path.basename(os.fspath(path)), bits)
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    matrices = header[1:4] in (["m", "n", "k"], ["m", "k", "n"])
    for line, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        try:
            sizes = [int(cell) for cell in cells[1:(4 if matrices else 8)]]
        except ValueError as error:
            raise UserError(f"{shown}: line {line}: {printable(str(error))}; expected whole numbers after the "
                            "name of a layer") from error
        if len(sizes) < (3 if matrices else 7) or min(sizes) < 1:
            raise UserError(f"{shown}: line {line}: expected a name and {3 if matrices else 7} positive numbers")
        try:
            _matrix(net, cells[0], dict(zip(header[1:], sizes))) if matrices else _convolution(net, cells[0], sizes)
        except NotSupported as why:
            raise UserError(f"{shown}: line {line}: {why}") from why
    return net


def _image(net: Network, name: str, sizes: list[int], hints: str) -> View:
    axes = [[Atom(n, h)] if n > 1 else [] for n, h in zip(sizes, hints)]
    return View(Tensor(net.name(name), [a for axis in axes for a in axis]), axes)


def _matrix(net: Network, name: str, sizes: dict[str, int]) -> None:
    net.count(net.taken, "matrix products")
    product(net, name, _image(net, name + "_in", [sizes["m"], sizes["k"]], "MK"), None, sizes["n"])


def _convolution(net: Network, name: str, sizes: list[int]) -> None:
    height, width, r, s, channels, filters, stride = sizes
    net.count(net.taken, "convolutions")
    rows = window_sizes([height, width], [r, s], [stride] * 2, [1, 1], [0] * 4)
    image = _image(net, name + "_in", [1, channels, height, width], "BCYX")
    convolution(net, name, image, filters, 1, Windows([r, s], [stride] * 2, [1, 1], rows))
