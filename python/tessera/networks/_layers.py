"""Layers as Einsums: what readers of networks have in common."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ._graph import (Access, Atom, Axis, Network, NotSupported, Op, Tensor, View, access, align, leaves, size_of)


def output_of(network: Network, name: str, axes: Sequence[Sequence[Atom]],
              bits: int | None = None) -> tuple[View, Access]:
    """A tensor with the axes of these slots; of a slot that is there already, or that is not stored,
    the rank is another one."""
    seen: set[Atom] = set()
    view_axes: list[Axis] = []
    index = []
    for axis in axes:
        own: Axis = []
        for slot in axis:
            atom = slot if slot.stored and slot not in seen else slot.twin()
            seen.add(atom)
            own.append(atom)
            index.append((atom, slot))
        view_axes.append(own)
    tensor = Tensor(network.name(name), [atom for axis in view_axes for atom in axis], bits)
    view = View(tensor, view_axes)
    return view, access(view, index)


def weight_of(network: Network, name: str, slots: Sequence[Atom], bits: int | None = None) -> Access:
    """A tensor that only this Einsum reads."""
    return output_of(network, name, [slots], bits)[1]


def pointwise(network: Network, name: str, operands: Sequence[View], operation: str) -> View:
    """Operands of one shape, but for axes of size 1 and those that are missing in front."""
    n = max(len(v.axes) for v in operands)
    padded = [[[] for _ in range(n - len(v.axes))] + [leaves(a) for a in v.axes] for v in operands]
    slots: list[Axis] = [[] for _ in range(n)]
    pairs: list[list[tuple[Atom, Atom]]] = [[] for _ in operands]
    for d in range(n):
        wide = [i for i, axes in enumerate(padded) if axes[d]]
        if not wide:
            continue
        for i in wide[1:]:
            align(padded[wide[0]][d], padded[i][d])
        slots[d] = leaves(padded[wide[0]][d])
        for i in wide:
            pairs[i] += list(zip(leaves(padded[i][d]), slots[d], strict=True))
    # Every slot is one rank variable, though an axis may be a rank of several tensors.
    seen: set[Atom] = set()
    for axis in slots:
        for k, slot in enumerate(axis):
            if slot in seen:
                axis[k] = slot.twin()
                pairs = [[(a, axis[k] if s is slot and a in leaves(padded[i][slots.index(axis)]) else s)
                          for a, s in of] for i, of in enumerate(pairs)]
            seen.add(axis[k])
    view, out = output_of(network, name, slots)
    network.add(Op(out, [access(v, p) for v, p in zip(operands, pairs)], operation, weight=False))
    return view


def reduced(network: Network, name: str, operand: View, over: Sequence[int], operation: str = "add") -> View:
    """Axes `over` become 1."""
    kept = [[] if d in over else leaves(axis) for d, axis in enumerate(operand.axes)]
    view, out = output_of(network, name, kept)
    pairs = [(atom, atom) for axis in operand.axes for atom in leaves(axis)]
    network.add(Op(out, [access(operand, pairs)], operation))
    return view


def product(network: Network, name: str, a: View, b: View | None, columns: int = 0) -> View:
    """Over the last axis of `a` and the one before the last of `b`; axes before these are a batch. No
    `b`: a weight of so many columns."""
    if len(a.axes) < 2 or (b is not None and len(b.axes) < 2):
        raise NotSupported("a product with a vector")
    *front, last = [leaves(axis) for axis in a.axes]
    if b is None:
        new = [Atom(columns, "N")] if columns > 1 else []
        view, out = output_of(network, name, [*front, new])
        used = [(s, s) for axis in (*front, last) for s in axis]
        network.add(Op(out, [access(a, used), weight_of(network, "W_" + name, [*last, *new])]))
        return view
    n = max(len(a.axes), len(b.axes))
    of_a = [[] for _ in range(n - len(a.axes))] + front + [last]
    of_b = [[] for _ in range(n - len(b.axes))] + [leaves(axis) for axis in b.axes]
    align(of_a[-1], of_b[-2])
    for d in range(n - 2):
        if of_a[d] and of_b[d]:
            align(of_a[d], of_b[d])
    of_a, of_b = [leaves(x) for x in of_a], [leaves(x) for x in of_b]
    taken = {s for axis in of_a for s in axis}
    columns_of = [s.twin() if s in taken else s for s in of_b[-1]]
    pairs_a = [(s, s) for axis in of_a for s in axis]
    pairs_b = list(zip(of_b[-1], columns_of)) + list(zip(of_b[-2], of_a[-1], strict=True))
    batch: list[Axis] = []
    for d in range(n - 2):
        batch.append(of_a[d] or [s.twin() if s in taken else s for s in of_b[d]])
        pairs_b += list(zip(of_b[d], batch[-1], strict=True)) if of_b[d] else []
    view, out = output_of(network, name, [*batch, of_a[-2], columns_of])
    network.add(Op(out, [access(a, pairs_a), access(b, pairs_b)]))
    return view


class Windows:
    """How filters move along the rows of an image."""

    def __init__(self, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
                 sizes: Sequence[int]):
        self.kernel, self.strides, self.dilations, self.sizes = kernel, strides, dilations, sizes

    def along(self, network: Network, d: int, axis: Axis) -> tuple[Axis, Axis, dict[Atom, list[tuple[int, Atom]]]]:
        """Slots of the output, of the filter, and how the axis of the image is indexed."""
        own = leaves(axis)
        stride, size = self.strides[d], self.sizes[d]
        window = network.window("RSUVT"[d], self.kernel[d])
        if stride == 1 and not window and size == size_of(own):
            return own, [], {atom: [(1, atom)] for atom in own}
        if not own:  # one row
            return ([Atom(size, "PQO"[d % 3]).make_rigid()] if size > 1 else []), window, {}
        if len(own) != 1:
            raise NotSupported("a window moves along an axis that is split")
        own[0].make_rigid()
        out = [Atom(size, "PQO"[d % 3]).make_rigid()] if size > 1 else []
        terms = [(stride, slot) for slot in out] + [(self.dilations[d], slot) for slot in window]
        return out, window, {own[0]: terms or [(1, own[0])]}


def convolution(network: Network, name: str, image: View, filters: int, groups: int, windows: Windows) -> View:
    """Of an image [batch, channels, rows...] and a weight."""
    batch, channels = leaves(image.axes[0]), image.axes[1]
    n_channels = size_of(channels)
    index = {atom: [(1, atom)] for atom in batch}
    rows, window = [], []
    for d, axis in enumerate(image.axes[2:]):
        out, points, indexed = windows.along(network, d, axis)
        rows.append(out)
        window += points
        index.update(indexed)
    if n_channels % groups or filters % groups:
        raise NotSupported(f"{n_channels} channels and {filters} filters in {groups} groups")
    per_group = n_channels // groups
    if groups > 1 and per_group > 1:
        align(channels, [Atom(groups, "G"), Atom(per_group, "C")])
    own = leaves(channels)
    index.update({atom: [(1, atom)] for atom in own})
    of_group, inside = _front(own, groups)
    made = [Atom(filters // groups, "M")] if filters > groups else []
    view, out = output_of(network, name, [batch, [*of_group, *made], *rows])
    weight = weight_of(network, "W_" + name, [*of_group, *window, *inside, *made])
    stored = {atom: terms for atom, terms in index.items() if atom.stored}
    network.add(Op(out, [Access(image.tensor, stored), weight]))
    return view


def _front(axis: Axis, size: int) -> tuple[Axis, Axis]:
    """The atoms of the first `size` values' factor, and the others."""
    n, k = 1, 0
    while n < size:
        n *= axis[k].size
        k += 1
    return axis[:k], axis[k:]


def transposed_convolution(network: Network, name: str, image: View, filters: int,
                           kernel: Sequence[int]) -> View:
    """Whose windows do not overlap."""
    batch, channels = leaves(image.axes[0]), leaves(image.axes[1])
    made = [Atom(filters, "M")] if filters > 1 else []
    rows: list[Axis] = []
    window: Axis = []
    into: dict[Atom, list[tuple[int, Atom]]] = {}
    read = {atom: [(1, atom)] for atom in (*batch, *channels)}
    for d, axis in enumerate(image.axes[2:]):
        own = leaves(axis)
        points = network.window("UVT"[d], kernel[d])
        window += points
        read.update({atom: [(1, atom)] for atom in own})
        if not points:
            rows.append(own)
            continue
        if len(own) > 1:
            raise NotSupported("a window moves along an axis that is split")
        out = Atom(size_of(own) * kernel[d], "PQO"[d % 3]).make_rigid()
        rows.append([out])
        into[out] = [(kernel[d], own[0].make_rigid()) for _ in own] + [(1, points[0])]
    view, out_access = output_of(network, name, [batch, made, *rows])
    out_access.index.update(into)
    weight = weight_of(network, "W_" + name, [*window, *channels, *made])
    network.add(Op(out_access, [Access(image.tensor, read), weight]))
    return view


def pool(network: Network, name: str, image: View, windows: Windows, operation: str) -> View:
    """The largest, or the sum, of the points below a window."""
    front = [leaves(axis) for axis in image.axes[:2]]
    index = {atom: [(1, atom)] for axis in front for atom in axis}
    rows = []
    for d, axis in enumerate(image.axes[2:]):
        out, _, indexed = windows.along(network, d, axis)
        rows.append(out)
        index.update(indexed)
    view, out_access = output_of(network, name, [*front, *rows])
    network.add(Op(out_access, [Access(image.tensor, index)], operation))
    return view


def window_sizes(rows: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
                 pads: Sequence[int], round_up: bool = False) -> list[int]:
    """Rows of what windows make; `pads`: all that begin, then all that end."""
    n = len(rows)
    out = []
    for d in range(n):
        room = rows[d] + pads[d] + pads[n + d] - dilations[d] * (kernel[d] - 1) - 1
        out.append((-(-room // strides[d]) if round_up else room // strides[d]) + 1)
    if prod(out) <= 0:
        raise NotSupported("a filter is larger than its image")
    return out
