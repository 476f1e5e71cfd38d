"""A network as Einsums: what readers build, and how it is written.

    Atom     an axis, or a factor of one; becomes a rank
    Tensor   its atoms, major first
    View     a tensor as a reader sees it: for each axis the atoms that it consists of
    Op       an Einsum: an output and what it reads, each atom indexed by slots

A slot is an atom that stands for a rank variable. Reshapes split atoms. What is indexed by one slot
is linked, so that it is split alike: the ranks of all Einsums follow from the whole network, and are
named when it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from .._errors import UserError


class NotSupported(Exception):
    """What a network has and an Einsum cannot say."""


class _Size:
    """Shared by atoms that are linked."""

    def __init__(self, size: int):
        self.size = size
        self.same: _Size | None = None
        self.parts: list[_Size] = []
        self.rigid = False

    def root(self) -> _Size:
        at = self
        while at.same is not None:
            at = at.same
        return at


class Atom:
    """`hint`: what its rank is called, as far as the name is free. `stored`: False for an axis that is
    repeated and not in the tensor."""

    def __init__(self, size: int, hint: str, stored: bool = True):
        self._size = _Size(size)
        self.hint, self.stored = hint, stored
        self._parts: list[Atom] = []

    @property
    def size(self) -> int:
        return self._size.root().size

    def make_rigid(self) -> Atom:
        """It is part of a sum, which no split follows."""
        if len(self.leaves()) > 1:
            raise NotSupported("a window moves along an axis that is split")
        self._size.root().rigid = True
        return self

    def leaves(self) -> list[Atom]:
        sizes = self._size.root().parts
        if not sizes:
            return [self]
        if not self._parts:
            for part in sizes:
                atom = Atom(part.size, self.hint, self.stored)
                atom._size = part
                self._parts.append(atom)
        return [leaf for part in self._parts for leaf in part.leaves()]

    def split(self, first: int) -> None:
        """Into `first` and the rest, major first."""
        size = self._size.root()
        if size.rigid:
            raise NotSupported("an axis along which a window moves is split")
        if size.size % first:
            raise NotSupported(f"an axis of {size.size} is split after {first}")
        size.parts = [_Size(first), _Size(size.size // first)]

    def link(self, other: Atom) -> None:
        a, b = self._size.root(), other._size.root()
        if a is not b:
            a.rigid = a.rigid or b.rigid
            b.same = a

    def twin(self, hint: str | None = None) -> Atom:
        """Another rank of the same size, split alike."""
        atom = Atom(self.size, hint or self.hint)
        atom._size = self._size.root()
        return atom


Axis = list[Atom]


def leaves(axis: Iterable[Atom]) -> Axis:
    return [leaf for atom in axis for leaf in atom.leaves()]


def size_of(axis: Iterable[Atom]) -> int:
    return prod(atom.size for atom in leaves(axis))


def align(a: Iterable[Atom], b: Iterable[Atom]) -> list[tuple[Atom, Atom]]:
    """Two axes of one size index the same: pairs of atoms, linked."""
    pairs = []
    left, right = leaves(a), leaves(b)
    while left and right:
        x, y = left[0], right[0]
        if x.size > y.size:
            x.split(y.size)
            left[:1] = x.leaves()
        elif y.size > x.size:
            y.split(x.size)
            right[:1] = y.leaves()
        else:
            x.link(y)
            pairs.append((x, y))
            del left[0], right[0]
    if left or right:
        raise NotSupported("axes of different sizes meet")
    return pairs


def regroup(axes: Iterable[Axis], sizes: Sequence[int]) -> list[Axis]:
    """The same values in the same order as axes of other sizes."""
    rest = leaves(atom for axis in axes for atom in axis)
    out: list[Axis] = []
    for size in sizes:
        axis: Axis = []
        while size > 1:
            if not rest:
                raise NotSupported("a reshape has more values than it is given")
            atom = rest.pop(0)
            if atom.size > size:
                atom.split(size)
                atom, *more = atom.leaves()
                rest[:0] = more
            if size % atom.size:
                raise NotSupported(f"a reshape cuts an axis of {atom.size} into {size}")
            size //= atom.size
            axis.append(atom)
        out.append(axis)
    if rest:
        raise NotSupported("a reshape has fewer values than it is given")
    return out


@dataclass(eq=False)
class Tensor:
    name: str
    atoms: Axis
    bits: int | None = None
    made: bool = False  # by an Einsum


@dataclass
class View:
    tensor: Tensor
    axes: list[Axis]

    @property
    def shape(self) -> list[int]:
        return [size_of(axis) for axis in self.axes]


Term = tuple[int, Atom]  # a coefficient and a slot


@dataclass
class Access:
    """`index`: for some atoms of the tensor the slots whose sum they are."""

    tensor: Tensor
    index: dict[Atom, list[Term]] = field(default_factory=dict)

    def at(self, atom: Atom, *terms: Term) -> Access:
        self.index[atom] = list(terms)
        return self


@dataclass
class Op:
    output: Access
    inputs: list[Access]
    operation: str = ""  # "": a product that is summed up
    weight: bool = True  # the second input may be called the weight


def access(view: View, pairs: Iterable[tuple[Atom, Atom]]) -> Access:
    """Of atoms of the view and the slots that they are indexed by."""
    found = Access(view.tensor)
    for atom, slot in pairs:
        if atom.stored:
            found.at(atom, (1, slot))
    return found


_RENAMES = """renames:
  einsums:
  - name: default
    tensor_accesses:
    - name: input
      source: Inputs & Intermediates if len(All) == 3 else Inputs
      expected_count: 1
    - name: output
      source: Outputs
      expected_count: 1
    - name: weight
      source: ~(input | output)
      expected_count: 1 if len(All) == 3 else 0
"""


class Network:
    """Einsums in the order in which they run. `to_yaml()` is a workload file; `taken`, `folded` and
    `ignored` say what became of the layers of the file that was read."""

    def __init__(self, source: str, bits: int = 8):
        self.source, self.bits = source, bits
        self.ops: list[Op] = []
        self.taken: dict[str, int] = {}
        self.folded: dict[str, int] = {}
        self.ignored: dict[str, int] = {}
        self._names: set[str] = set()
        self._windows: dict[tuple[str, int], Atom] = {}

    # ---- for readers

    def name(self, wanted: str) -> str:
        """A name of a tensor that no other one has."""
        plain = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_")[:60] or "T"
        if not plain[0].isalpha():
            plain = "T" + plain
        # Words of the expressions of a file.
        if plain in ("All", "Nothing", "Inputs", "Outputs", "Intermediates", "Tensors", "Persistent", "Shared",
                     "Above", "Other", "input", "output", "weight", "if", "else", "and", "or", "not", "inf"):
            plain += "_"
        name, n = plain, 2
        while name in self._names:
            name, n = f"{plain}_{n}", n + 1
        self._names.add(name)
        return name

    def window(self, hint: str, size: int) -> Axis:
        """Of the points of a filter: one rank for all of one size. None where there is one point."""
        if size == 1:
            return []
        return [self._windows.setdefault((hint, size), Atom(size, hint).make_rigid())]

    def add(self, op: Op) -> Op:
        op.output.tensor.made = True
        self.ops.append(op)
        return op

    def count(self, where: dict[str, int], what: str) -> None:
        where[what] = where.get(what, 0) + 1

    # ---- the file

    def to_yaml(self) -> str:
        if not self.ops:
            raise UserError(f"{self.source}: there is nothing that an Einsum computes")
        return _Writer(self).text()

    def describe(self) -> str:
        """A line for each: what was taken, folded into what it follows, and ignored."""
        lines = [f"{len(self.ops)} Einsums"]
        for word, counts in (("taken", self.taken), ("folded", self.folded), ("ignored", self.ignored)):
            if counts:
                lines.append(f"{word}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
        return "\n".join(lines)


class _Writer:
    def __init__(self, network: Network):
        self.network = network
        self.ranks: dict[Atom, str] = {}
        self.sizes: dict[str, int] = {}
        self.tensor_ranks: dict[Tensor, dict[Atom, str]] = {}

    def rank(self, atom: Atom) -> str:
        if atom not in self.ranks:
            n, name = 1, atom.hint
            while name in self.sizes:
                name, n = f"{atom.hint}{n}", n + 1
            self.ranks[atom] = name
            self.sizes[name] = atom.size
        return self.ranks[atom]

    def ranks_of(self, tensor: Tensor) -> dict[Atom, str]:
        if tensor not in self.tensor_ranks:
            self.tensor_ranks[tensor] = {atom: self.rank(atom) for atom in leaves(tensor.atoms)}
        return self.tensor_ranks[tensor]

    @staticmethod
    def terms(access: Access) -> list[tuple[Atom, list[Term]]]:
        """Leaf by leaf."""
        found = []
        for atom, terms in access.index.items():
            if len(terms) == 1 and terms[0][0] == 1:
                found += [(leaf, [(1, slot)]) for leaf, slot in
                          zip(atom.leaves(), terms[0][1].leaves(), strict=True)]
            else:
                found.append((atom, terms))
        return found

    def einsum(self, op: Op, lower: set[str]) -> tuple[str, list[str]]:
        """The equation, and bounds of rank variables that no rank says."""
        variables: dict[Atom, str] = {}
        used: set[str] = set()
        bounds: list[str] = []

        def give(slot: Atom, name: str) -> None:
            base = name
            while name in used or (name != base and name in lower):
                name += "x"
            variables[slot] = name
            used.add(name)

        accesses = [op.output, *op.inputs]
        for one in accesses:  # a variable is called after the first rank that it alone indexes
            for atom, terms in self.terms(one):
                if len(terms) == 1 and terms[0][0] == 1 and terms[0][1] not in variables:
                    give(terms[0][1], self.ranks_of(one.tensor)[atom].lower())
        for one in accesses:
            for _, terms in self.terms(one):
                for _, slot in terms:
                    if slot not in variables:
                        give(slot, self.rank(slot).lower())
                        bounds.append(f"0 <= {variables[slot]} < {slot.size}")

        def written(one: Access) -> str:
            ranks = self.ranks_of(one.tensor)
            indexed = dict(self.terms(one))
            parts = []
            for atom, rank in ranks.items():
                index = " + ".join((f"{c} * " if c != 1 else "") + variables[slot] for c, slot in indexed[atom])
                parts.append(index if index == rank.lower() else f"{rank}: {index}")
            return f"{one.tensor.name}[{', '.join(parts)}]"

        sign = {"add": " + ", "subtract": " - ", "divide": " / "}.get(op.operation, " * ")
        return written(op.output) + " = " + sign.join(written(i) for i in op.inputs), bounds

    def text(self) -> str:
        net = self.network
        for op in net.ops:
            for one in (op.output, *op.inputs):
                self.ranks_of(one.tensor)
        lower = {name.lower() for name in self.sizes}
        written = [self.einsum(op, lower) for op in net.ops]  # names further ranks, too
        bits = {t.name: t.bits for op in net.ops for t in (op.output.tensor, *(i.tensor for i in op.inputs))
                if t.bits is not None and t.bits != net.bits}
        lines = ["# " + line for line in [f"Made from {printable(net.source)}.", *net.describe().splitlines()]]
        lines += ["", "variables:", f"  BITS: {net.bits}  # per value", "", "workload:", "  rank_sizes:"]
        lines += [f"    {name}: {size}" for name, size in self.sizes.items()
                  if any(name in ranks.values() for ranks in self.tensor_ranks.values())]
        named = "".join(f"{name}: {n}, " for name, n in bits.items())
        lines += [f"  bits_per_value: {{{named}{'Other' if bits else 'All'}: BITS}}",
                  "  persistent_tensors: weight - Intermediates", "  einsums:"]
        for op, (equation, bounds) in zip(net.ops, written):
            lines += self.entry(op, equation, bounds)
        return "\n".join(lines) + "\n\n" + _RENAMES

    @staticmethod
    def entry(op: Op, equation: str, bounds: list[str]) -> list[str]:
        lines = [f'  - einsum: "{equation}"']
        if op.operation:
            lines.append(f"    operation: {op.operation}")
        if bounds:
            lines.append(f"    iteration_space_shape: [{', '.join(bounds)}]")
        first, *more = [i.tensor for i in op.inputs]
        if more and not op.weight:
            names = " | ".join(dict.fromkeys(i.tensor.name for i in op.inputs))
            lines.append(f'    renames: {{input: "{names}", weight: Nothing}}')
        elif more and (not first.made or more[0].made):
            lines.append(f"    renames: {{input: {first.name}}}")
        return lines


def printable(text: str | bytes) -> str:
    if isinstance(text, bytes):  # what protobuf makes of a name that is no text
        text = text.decode(errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text)
