"""ONNX models. Only shapes are read: weights may be missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import UserError
from ._graph import Atom, Network, NotSupported, Tensor, View, leaves, printable, regroup, size_of
from ._layers import (Windows, convolution, pointwise, pool, product, reduced, transposed_convolution, window_sizes)

# Constants that are computed with: shapes, not weights.
_MOST_VALUES = 4096

_POINT_BY_POINT = {
    "Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Gelu", "Sigmoid", "HardSigmoid", "HardSwish", "Mish",
    "Softplus", "Softsign", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Reciprocal", "Neg", "Abs", "Clip", "Sign", "Floor",
    "Ceil", "Round", "Sin", "Cos", "Not", "ThresholdedRelu", "QuantizeLinear", "DequantizeLinear", "IsNaN", "Swish"}
_NORMS = {"BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization",
          "RMSNormalization", "SimplifiedLayerNormalization", "LpNormalization", "LRN"}
_SAME = {"Identity", "Cast", "CastLike", "Dropout"}
_BINARY = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Max": "max", "Min": "max",
           "Pow": "multiply", "Sum": "add", "And": "multiply", "Or": "add", "Equal": "subtract",
           "Greater": "subtract", "Less": "subtract", "Mod": "divide"}


@dataclass
class _Constant:
    """Of the file: a weight, or a shape that is computed with."""

    shape: tuple[int, ...]
    values: np.ndarray | None = None  # None: too many, or not in the file


@dataclass
class _Parts:
    """What is side by side along an axis, until somebody asks for it."""

    views: list[View]
    axis: int


@dataclass
class _Reduced:
    """A view of which axes are to be reduced. Not computed while it only scales what it is of."""

    view: View
    over: tuple[int, ...]
    keep: bool
    operation: str
    name: str


_Value = View | _Constant | _Parts | _Reduced


def read_onnx(path: str | os.PathLike[str], defines: Mapping[str, int] | None = None, bits: int = 8) -> Network:
    """The Einsums of a model.

    `defines`: sizes of axes that the model names only ("batch"); `bits`: of each value.
    Norms, activations, biases and scales are folded into what they follow; softmax is one pass.

    Raises UserError for files that are no models, for axes without a size, and for operators that no
    Einsum says, naming the node.
    """
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as missing:
        raise UserError("reading ONNX models needs the Python package 'onnx': pip install onnx, or "
                        "apt-get install python3-onnx") from missing
    try:
        model = onnx.load(os.fspath(path), load_external_data=False)
        graph = model.graph
        if not graph.node:
            raise ValueError("it has no nodes")
    except OSError as error:
        raise UserError(f"{printable(os.fspath(path))}: {error.strerror or error}") from error
    except Exception as error:  # protobuf raises its own kinds
        raise UserError(f"{printable(os.fspath(path))}: no ONNX model: {printable(str(error))}") from error
    return _Reader(onnx, graph, Network(os.path.basename(os.fspath(path)), bits), dict(defines or {})).run()


class _Reader:
    def __init__(self, onnx: Any, graph: Any, network: Network, defines: Mapping[str, int]):
        self.onnx, self.graph, self.net, self.defines = onnx, graph, network, defines
        self.values: dict[str, _Value] = {}

    def run(self) -> Network:
        for initializer in self.graph.initializer:
            self.values[initializer.name] = self.constant(initializer)
        for given in self.graph.input:
            if given.name not in self.values:
                self.values[given.name] = self.given(given)
        for node in self.graph.node:
            try:
                self.node(node)
            except UserError:
                raise
            except (NotSupported, LookupError, ArithmeticError, TypeError, ValueError, AttributeError) as why:
                # Of a model that breaks ONNX's own rules any of them.
                why = why if isinstance(why, NotSupported) else f"it is malformed ({type(why).__name__}: {why})"
                shown = printable(node.name or "".join(node.output[:1]))
                raise UserError(f"{self.net.source}: node '{shown}' "
                                f"({printable(node.op_type)}): {printable(str(why))}") from None
        for out in self.graph.output:
            value = self.values.get(out.name)
            if isinstance(value, (_Reduced, _Parts)):
                self.view(out.name)
        return self.net

    # ---- values

    def constant(self, tensor: Any) -> _Constant:
        shape = tuple(tensor.dims)
        size = int(np.prod(shape, dtype=np.int64))
        if size > _MOST_VALUES or tensor.data_location == self.onnx.TensorProto.EXTERNAL:
            return _Constant(shape)
        try:
            return _Constant(shape, self.onnx.numpy_helper.to_array(tensor))
        except Exception as error:  # whatever reading raises of a tensor that is not as it says
            raise UserError(f"{self.net.source}: constant '{printable(tensor.name)}': it is malformed "
                            f"({printable(str(error))})") from None

    def given(self, value: Any) -> View:
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            raise UserError(f"{self.net.source}: input '{printable(value.name)}' has no shape")
        axes = []
        dims = value.type.tensor_type.shape.dim
        hints = "BCPQO" if len(dims) > 3 else "BSD"
        for d, dim in enumerate(dims):
            size = dim.dim_value if dim.HasField("dim_value") else self.defines.get(dim.dim_param, 0)
            if size < 1:
                name = printable(dim.dim_param or "?")
                raise UserError(f"{self.net.source}: axis {d} of input '{printable(value.name)}' is called '{name}' "
                                f"and has no size: give it with -D {name}=SIZE")
            axes.append([Atom(size, hints[d] if d < len(hints) else "X")] if size > 1 else [])
        return View(Tensor(self.net.name(value.name), [a for axis in axes for a in axis]), axes)

    def view(self, name: str) -> View:
        value = self.values.get(name)
        if value is None:
            raise NotSupported(f"its input '{printable(name)}' is not computed before it")
        if isinstance(value, _Reduced):
            made = reduced(self.net, value.name, value.view, value.over, value.operation)
            self.net.count(self.net.taken, "reductions")
            axes = made.axes if value.keep else [a for d, a in enumerate(made.axes) if d not in value.over]
            self.values[name] = value = View(made.tensor, axes)
        if isinstance(value, _Constant):
            axes = [[Atom(n, "X")] if n > 1 else [] for n in value.shape]
            self.values[name] = value = View(
                Tensor(self.net.name("const_" + name), [a for axis in axes for a in axis]), axes)
        if isinstance(value, _Parts):
            raise NotSupported("what is side by side is read by something else than a convolution or a product")
        return value

    def constant_of(self, name: str) -> np.ndarray:
        value = self.values.get(name)
        if not isinstance(value, _Constant) or value.values is None:
            raise NotSupported(f"'{printable(name)}' is not known before the network runs")
        return value.values

    def shape(self, name: str) -> list[int]:
        value = self.values.get(name)
        if isinstance(value, _Constant):
            return list(value.shape)
        if isinstance(value, _Parts):
            shape = value.views[0].shape
            shape[value.axis] = sum(v.shape[value.axis] for v in value.views)
            return shape
        if isinstance(value, _Reduced):
            shape = value.view.shape
            return [1 if d in value.over else n for d, n in enumerate(shape) if value.keep or d not in value.over]
        return self.view(name).shape

    # ---- nodes

    def node(self, node: Any) -> None:
        own = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        name = node.name or node.output[0]
        inputs = [i for i in node.input if i]
        kind = node.op_type
        if kind == "Constant":
            self.values[node.output[0]] = self.of_constant(own)
            return
        if kind == "Shape":
            shape = np.array(self.shape(inputs[0]), np.int64)
            shape = shape[own.get("start", 0):own.get("end", len(shape))]
            self.values[node.output[0]] = _Constant(shape.shape, shape)
            return
        for i in inputs:
            if i not in self.values:
                raise NotSupported(f"its input '{printable(i)}' is not computed before it")
        values = [self.values[i] for i in inputs]
        if inputs and all(isinstance(v, _Constant) for v in values):
            self.fold_constants(node, own, inputs)
            return
        handler: Callable[..., Any] | None = getattr(self, "on_" + kind.lower(), None)
        if handler is not None:
            made = handler(name, inputs, own)
        elif kind in _SAME or kind in _POINT_BY_POINT or kind in _NORMS:
            what = "norms" if kind in _NORMS else "point by point" if kind in _POINT_BY_POINT else "without effect"
            self.net.count(self.net.folded, what)
            made = self.values[inputs[0]]
        elif kind in _BINARY:
            made = self.binary(name, kind, inputs)
        else:
            raise NotSupported("no Einsum says what it does; cut the model before it, or write the Einsum by hand")
        outputs = [o for o in node.output]
        for out, value in zip(outputs, made if isinstance(made, list) else [made]):
            if out:
                self.values[out] = value

    def of_constant(self, own: Mapping[str, Any]) -> _Constant:
        if "value" in own:
            return self.constant(own["value"])
        for key in ("value_int", "value_ints", "value_float", "value_floats"):
            if key in own:
                values = np.array(own[key])
                return _Constant(values.shape, values)
        raise NotSupported("a constant of this kind")

    def fold_constants(self, node: Any, own: Mapping[str, Any], inputs: Sequence[str]) -> None:
        known = [self.values[i] for i in inputs]
        if any(k.values is None for k in known):  # of weights: the shape may follow
            shape = self.shape_of_constant(node.op_type, own, inputs)
            self.values[node.output[0]] = _Constant(shape)
            return
        values = [k.values for k in known]
        made = _COMPUTED.get(node.op_type)
        if made is None:
            raise NotSupported("it is computed from constants, and not known here")
        result = made(own, *values)
        for out, value in zip(node.output, result if isinstance(result, list) else [result]):
            value = np.asarray(value)
            self.values[out] = _Constant(value.shape, value if value.size <= _MOST_VALUES else None)

    def shape_of_constant(self, kind: str, own: Mapping[str, Any], inputs: Sequence[str]) -> tuple[int, ...]:
        shape = self.shape(inputs[0])
        if kind == "Transpose":
            return tuple(shape[d] for d in own.get("perm", range(len(shape))[::-1]))
        if kind in _SAME or kind in _POINT_BY_POINT:
            return tuple(shape)
        if kind in _BINARY:
            return tuple(np.broadcast_shapes(*(tuple(self.shape(i)) for i in inputs)))
        if kind == "Reshape":
            return tuple(self.target(shape, self.constant_of(inputs[1])))
        raise NotSupported("it is computed from weights")

    @staticmethod
    def target(shape: Sequence[int], asked: np.ndarray) -> list[int]:
        sizes = [shape[d] if n == 0 else int(n) for d, n in enumerate(asked.tolist())]
        if -1 in sizes:
            rest = int(np.prod([n for n in sizes if n != -1], dtype=np.int64))
            sizes[sizes.index(-1)] = int(np.prod(shape, dtype=np.int64)) // max(rest, 1)
        return sizes

    # ---- views

    def on_reshape(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        sizes = self.target(view.shape, self.constant_of(inputs[1]))
        return View(view.tensor, regroup(view.axes, sizes))

    def on_flatten(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        at = own.get("axis", 1) % (len(view.axes) + 1)
        return View(view.tensor, [[a for axis in part for a in leaves(axis)] for part in (view.axes[:at], view.axes[at:])])

    def on_transpose(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        return View(view.tensor, [view.axes[d] for d in own.get("perm", range(len(view.axes))[::-1])])

    def axes_of(self, inputs: list[str], own: Mapping[str, Any], rank: int) -> list[int] | None:
        if "axes" in own:
            return [a % rank for a in own["axes"]]
        return [int(a) % rank for a in self.constant_of(inputs[1]).ravel()] if len(inputs) > 1 else None

    def on_squeeze(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        axes = self.axes_of(inputs, own, len(view.axes))
        gone = [d for d, n in enumerate(view.shape) if n == 1] if axes is None else axes
        return View(view.tensor, [a for d, a in enumerate(view.axes) if d not in gone])

    def on_unsqueeze(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        n_new = len(own["axes"]) if "axes" in own else self.constant_of(inputs[1]).size
        new = set(self.axes_of(inputs, own, len(view.axes) + n_new) or [])
        rest = iter(view.axes)
        return View(view.tensor, [[] if d in new else next(rest) for d in range(len(view.axes) + n_new)])

    def on_expand(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        asked = self.constant_of(inputs[1]).tolist()
        axes: list[list[Atom]] = [[] for _ in range(len(asked) - len(view.axes))] + [list(a) for a in view.axes]
        asked = [1] * (len(axes) - len(asked)) + asked
        return View(view.tensor, [[Atom(int(n), "G", stored=False)] if n > 1 and not leaves(a) else a
                                  for a, n in zip(axes, asked)])

    def on_split(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> list[Any]:
        view = self.view(inputs[0])
        d = own.get("axis", 0) % len(view.axes)
        size = view.shape[d]
        if "split" in own:
            sizes = list(own["split"])
        elif len(inputs) > 1:
            sizes = [int(n) for n in self.constant_of(inputs[1])]
        else:
            n = own.get("num_outputs", 0) or self.outputs_of(name)
            each = -(-size // n)
            sizes = [min(each, size - k * each) for k in range(n)]
        return self.cut(view, d, sizes)

    def outputs_of(self, name: str) -> int:
        return next(len(n.output) for n in self.graph.node if (n.name or n.output[0]) == name)

    def on_slice(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        view = self.view(inputs[0])
        given = [self.constant_of(i).ravel().tolist() for i in inputs[1:]]
        begins = own.get("starts") or given[0]
        ends = own.get("ends") or given[1]
        axes = own.get("axes") or (given[2] if len(given) > 2 else range(len(begins)))
        if len(given) > 3 and any(s != 1 for s in given[3]):
            raise NotSupported("it leaves out values in between")
        for begin, end, d in zip(begins, ends, axes):
            size = view.shape[d]
            begin, end = (max(0, x + size) if x < 0 else min(x, size) for x in (begin, end))
            if (begin, end) == (0, size):
                continue
            parts = [n for n in (begin, end - begin, size - end) if n > 0]
            view = self.cut(view, d % len(view.axes), parts)[1 if begin > 0 else 0]
        return view

    def cut(self, view: View, axis: int, sizes: Sequence[int]) -> list[View]:
        """Parts of what an Einsum with a weight makes are made one by one."""
        made = [op for op in self.net.ops if op.output.tensor is view.tensor]
        readers = [op for op in self.net.ops if any(i.tensor is view.tensor for i in op.inputs)]
        own = leaves(view.axes[axis])
        if sum(sizes) != size_of(own):
            raise NotSupported("its parts do not add up")
        if len(sizes) == 1:
            return [view]
        if not made or readers or len(own) != 1 or len(made[0].inputs) != 2 or made[0].operation or \
                own[0] in made[0].inputs[0].index or made[0].inputs[1].tensor.made:
            raise NotSupported("only what is made with a weight, and read in parts alone, can be cut")
        op, atom = made[0], own[0]
        self.net.ops.remove(op)
        return [self.part(op, view, atom, size) for size in sizes]

    def part(self, op: Any, view: View, atom: Atom, size: int) -> View:
        """The Einsum with another number of columns."""
        other = Atom(size, atom.hint)
        swapped = {atom: other}

        def again(access: Any, tensor: Tensor) -> Any:
            copy = type(access)(tensor)
            for a, terms in access.index.items():
                copy.index[swapped.get(a, a)] = [(c, swapped.get(s, s)) for c, s in terms]
            return copy

        def like(tensor: Tensor) -> Tensor:
            return Tensor(self.net.name(tensor.name), [swapped.get(a, a) for a in leaves(tensor.atoms)], tensor.bits)

        output, weight = like(op.output.tensor), like(op.inputs[1].tensor)
        made = type(op)(again(op.output, output), [op.inputs[0], again(op.inputs[1], weight)])
        self.net.add(made)
        return View(output, [[swapped.get(a, a) for a in leaves(axis)] for axis in view.axes])

    def on_concat(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Parts:
        views = [self.view(i) for i in inputs]
        return _Parts(views, own["axis"] % len(views[0].axes))

    def on_gather(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        table, where = self.values[inputs[0]], self.values[inputs[1]]
        if isinstance(table, _Constant) and isinstance(where, View):
            self.net.count(self.net.ignored, "lookups in a table")
            axes = [list(a) for a in where.axes] + [[Atom(n, "D")] if n > 1 else [] for n in table.shape[1:]]
            twins = [[a.twin() for a in leaves(axis)] for axis in axes]
            return View(Tensor(self.net.name(name), [a for axis in twins for a in axis]), twins)
        if isinstance(where, _Constant) and where.values is not None and where.values.size == 1:
            view, d = self.view(inputs[0]), own.get("axis", 0)
            at, size = int(where.values.ravel()[0]), view.shape[d]
            at += size if at < 0 else 0
            if size == 1:
                part = view
            else:
                parts = [n for n in (at, 1, size - at - 1) if n > 0]
                part = self.cut(view, d % len(view.axes), parts)[1 if at > 0 else 0]
            axes = [a for k, a in enumerate(part.axes) if k != d % len(part.axes)]
            return View(part.tensor, axes if where.values.ndim == 0 else part.axes)
        raise NotSupported("it picks values by others that the network computes")

    def on_pad(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Value:
        self.net.count(self.net.folded, "pads")
        return self.values[inputs[0]]

    def on_where(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Value:
        """A mask: of two values one is a constant, or a mask is one."""
        known = [i for i in inputs[1:] if not isinstance(self.values[i], _Constant)]
        if len(known) != 1:
            raise NotSupported("it chooses between two tensors")
        self.net.count(self.net.folded, "masks")
        return self.values[known[0]]

    # ---- what is computed

    def binary(self, name: str, kind: str, inputs: list[str]) -> _Value:
        values = [self.values[i] for i in inputs]
        computed = [v for v in values if not isinstance(v, _Constant)]
        wide = [v for v in computed if isinstance(v, View)]
        if len(computed) == 1:
            self.net.count(self.net.folded, "biases and scales")
            return computed[0]
        # What is derived from one tensor alone: an activation or a norm, written out.
        sources = {id(v.view.tensor if isinstance(v, _Reduced) else v.tensor)
                   for v in computed if isinstance(v, (View, _Reduced))}
        if len(sources) == 1 and not any(isinstance(v, _Parts) for v in computed):
            self.net.count(self.net.folded, "point by point")
            return wide[0] if wide else computed[0]
        views = [self.view(i) for i in inputs if not isinstance(self.values[i], _Constant)]
        made = pointwise(self.net, name, views, _BINARY[kind])
        self.net.count(self.net.taken, "sums and products of two tensors")
        return made

    def on_matmul(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        b = self.values[inputs[1]]
        self.net.count(self.net.taken, "matrix products")
        if isinstance(b, _Constant) and len(b.shape) == 2:
            return self.with_weight(name, inputs[0], b.shape[1])
        return product(self.net, name, self.view(inputs[0]), self.view(inputs[1]))

    def with_weight(self, name: str, given: str, columns: int) -> View:
        value = self.values[given]
        if isinstance(value, _Parts) and value.axis == len(value.views[0].axes) - 1:
            parts = [product(self.net, f"{name}_{k}", v, None, columns) for k, v in enumerate(value.views)]
            return self.added(name, parts)
        return product(self.net, name, self.view(given), None, columns)

    def added(self, name: str, parts: list[View]) -> View:
        total = parts[0]
        for k, part in enumerate(parts[1:]):
            last = k + 2 == len(parts)
            total = pointwise(self.net, name if last else f"{name}_sum{k}", [total, part], "add")
        return total

    def on_gemm(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        self.net.count(self.net.taken, "matrix products")
        b = self.values[inputs[1]]
        if len(inputs) > 2:
            self.net.count(self.net.folded, "biases and scales")
        if own.get("transA", 0):
            view = self.view(inputs[0])
            self.values[inputs[0]] = View(view.tensor, view.axes[::-1])
        if isinstance(b, _Constant):
            return self.with_weight(name, inputs[0], b.shape[0 if own.get("transB", 0) else 1])
        other = self.view(inputs[1])
        return product(self.net, name, self.view(inputs[0]),
                       View(other.tensor, other.axes[::-1]) if own.get("transB", 0) else other)

    def windows(self, rows: list[int], kernel: Sequence[int], own: Mapping[str, Any]) -> Windows:
        n = len(rows)
        strides, dilations = list(own.get("strides", [1] * n)), list(own.get("dilations", [1] * n))
        pads = list(own.get("pads", [0] * 2 * n))
        auto = own.get("auto_pad", b"NOTSET")
        auto = auto.decode() if isinstance(auto, bytes) else auto
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            sizes = [-(-rows[d] // strides[d]) for d in range(n)]
        else:
            sizes = window_sizes(rows, kernel, strides, dilations, pads, bool(own.get("ceil_mode", 0)))
        return Windows(list(kernel), strides, dilations, sizes)

    def on_conv(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        weight = self.shape(inputs[1])
        groups = own.get("group", 1)
        self.net.count(self.net.taken, "convolutions" if groups == 1 else "convolutions in groups")
        if len(inputs) > 2:
            self.net.count(self.net.folded, "biases and scales")
        if not isinstance(self.values[inputs[1]], _Constant):
            raise NotSupported("its weight is computed")
        value = self.values[inputs[0]]
        if isinstance(value, _Parts) and value.axis == 1 and groups == 1:
            parts = [convolution(self.net, f"{name}_{k}", v, weight[0], 1, self.windows(v.shape[2:], weight[2:], own))
                     for k, v in enumerate(value.views)]
            return self.added(name, parts)
        image = self.view(inputs[0])
        return convolution(self.net, name, image, weight[0], groups, self.windows(image.shape[2:], weight[2:], own))

    def on_convtranspose(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        weight = self.shape(inputs[1])
        kernel = weight[2:]
        if own.get("group", 1) != 1 or list(own.get("strides", [1] * len(kernel))) != list(kernel) or \
                any(own.get("pads", [])) or any(own.get("output_padding", [])):
            raise NotSupported("its windows overlap")
        self.net.count(self.net.taken, "transposed convolutions")
        return transposed_convolution(self.net, name, self.view(inputs[0]), weight[1], kernel)

    def pooled(self, name: str, inputs: list[str], own: Mapping[str, Any], operation: str) -> View:
        image = self.view(inputs[0])
        self.net.count(self.net.taken, "pools")
        return pool(self.net, name, image, self.windows(image.shape[2:], own["kernel_shape"], own), operation)

    def on_maxpool(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        return self.pooled(name, inputs, own, "max")

    def on_averagepool(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        return self.pooled(name, inputs, own, "add")

    def on_globalaveragepool(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Reduced:
        view = self.view(inputs[0])
        return _Reduced(view, tuple(range(2, len(view.axes))), True, "add", name)

    def on_globalmaxpool(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Reduced:
        view = self.view(inputs[0])
        return _Reduced(view, tuple(range(2, len(view.axes))), True, "max", name)

    def reduce(self, name: str, inputs: list[str], own: Mapping[str, Any], operation: str) -> _Value:
        if isinstance(self.values[inputs[0]], _Reduced):
            return self.values[inputs[0]]
        view = self.view(inputs[0])
        axes = self.axes_of(inputs, own, len(view.axes))
        over = tuple(range(len(view.axes)) if axes is None else axes)
        return _Reduced(view, over, bool(own.get("keepdims", 1)), operation, name)

    def on_reducemean(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Value:
        return self.reduce(name, inputs, own, "add")

    def on_reducesum(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Value:
        return self.reduce(name, inputs, own, "add")

    def on_reducemax(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> _Value:
        return self.reduce(name, inputs, own, "max")

    def on_softmax(self, name: str, inputs: list[str], own: Mapping[str, Any]) -> View:
        self.net.count(self.net.taken, "softmax")
        view = self.view(inputs[0])
        return pointwise(self.net, name, [view], "")


def _gather(own: Mapping[str, Any], data: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.take(data, at, axis=own.get("axis", 0))


def _slice(own: Mapping[str, Any], data: np.ndarray, *given: np.ndarray) -> np.ndarray:
    begins = own.get("starts", given[0] if given else [])
    ends = own.get("ends", given[1] if len(given) > 1 else [])
    axes = own.get("axes", given[2] if len(given) > 2 else range(len(begins)))
    steps = given[3] if len(given) > 3 else [1] * len(begins)
    index = [slice(None)] * data.ndim
    for begin, end, axis, step in zip(begins, ends, axes, steps):
        index[int(axis)] = slice(int(begin), int(end), int(step))
    return data[tuple(index)]


def _axes(own: Mapping[str, Any], given: Sequence[np.ndarray]) -> list[int]:
    return [int(a) for a in (own["axes"] if "axes" in own else given[0].ravel() if given else [])]


def _unsqueeze(own: Mapping[str, Any], data: np.ndarray, *given: np.ndarray) -> np.ndarray:
    for axis in sorted(_axes(own, given)):
        data = np.expand_dims(data, axis)
    return data


def _reshape(own: Mapping[str, Any], data: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return data.reshape([data.shape[d] if n == 0 else int(n) for d, n in enumerate(shape)])


_COMPUTED: dict[str, Callable[..., Any]] = {
    "Gather": _gather,
    "Slice": _slice,
    "Concat": lambda own, *parts: np.concatenate([np.atleast_1d(p) for p in parts], axis=own["axis"]),
    "Unsqueeze": _unsqueeze,
    "Squeeze": lambda own, data, *given: np.squeeze(data, tuple(_axes(own, given)) or None),
    "Cast": lambda own, data: data,
    "Identity": lambda own, data: data,
    "Reshape": _reshape,
    "Transpose": lambda own, data: np.transpose(data, own.get("perm")),
    "Add": lambda own, a, b: a + b,
    "Sub": lambda own, a, b: a - b,
    "Mul": lambda own, a, b: a * b,
    "Div": lambda own, a, b: a // b if a.dtype.kind in "iu" else a / b,
    "Pow": lambda own, a, b: a ** b,
    "Sqrt": lambda own, a: np.sqrt(a),
    "Neg": lambda own, a: -a,
    "Equal": lambda own, a, b: a == b,
    "Greater": lambda own, a, b: a > b,
    "Less": lambda own, a, b: a < b,
    "Not": lambda own, a: ~a,
    "And": lambda own, a, b: a & b,
    "Where": lambda own, c, a, b: np.where(c, a, b),
    "Range": lambda own, a, b, c: np.arange(int(a), int(b), int(c)) if (int(b) - int(a)) <= _MOST_VALUES else a,
    "ConstantOfShape": lambda own, shape: np.zeros([int(n) for n in shape][:4] if np.prod(shape) <= _MOST_VALUES else 0),
    "Expand": lambda own, a, shape: np.broadcast_to(a, np.broadcast_shapes(a.shape, tuple(int(n) for n in shape)))
    if np.prod(shape) <= _MOST_VALUES else a,
    "ReduceProd": lambda own, a, *_: np.prod(a, keepdims=bool(own.get("keepdims", 1))),
    "Min": lambda own, *v: np.minimum.reduce(v),
    "Max": lambda own, *v: np.maximum.reduce(v),
    "Trilu": lambda own, a, *_: a,
    "Tile": lambda own, a, n: np.tile(a, [int(x) for x in n]),
}
