"""Networks as ONNX models, layer by layer as exporters write them. Weights have shapes, no values."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Builder:
    def __init__(self, **inputs: list[Any]):
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
        self.n = 0

    def node(self, kind: str, *inputs: str, outputs: int = 1, name: str = "", **attributes: Any) -> Any:
        self.n += 1
        name = name or f"/{kind}_{self.n}"
        outs = [f"{name}_out{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), outs, name=name, **attributes))
        return outs[0] if outputs == 1 else outs

    def weight(self, *shape: int) -> str:
        """Somewhere else: only its shape is in the file."""
        self.n += 1
        tensor = TensorProto(name=f"w{self.n}", data_type=TensorProto.FLOAT, dims=shape,
                             data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        self.constants.append(tensor)
        return tensor.name

    def numbers(self, *values: int) -> str:
        self.n += 1
        self.constants.append(numpy_helper.from_array(np.array(values, np.int64), f"c{self.n}"))
        return self.constants[-1].name

    def number(self, value: float) -> str:
        self.n += 1
        self.constants.append(numpy_helper.from_array(np.array(value, np.float32), f"c{self.n}"))
        return self.constants[-1].name

    def save(self, path: str, output: str) -> str:
        out = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", self.inputs, [out], self.constants)
        with open(path, "wb") as file:
            file.write(helper.make_model(graph).SerializeToString())
        return path

    # ---- layers

    def conv(self, x: str, channels: int, filters: int, kernel: int, stride: int = 1, group: int = 1,
             activation: str = "Relu") -> str:
        y = self.node("Conv", x, self.weight(filters, channels // group, kernel, kernel), self.weight(filters),
                      kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        y = self.node("BatchNormalization", y, *(self.weight(filters) for _ in range(4)))
        return self.node(activation, y) if activation else y

    def linear(self, x: str, rows: int, columns: int) -> str:
        return self.node("Add", self.node("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def layer_norm(self, x: str, width: int) -> str:
        """Written out, as older exporters do."""
        mean = self.node("ReduceMean", x, axes=[-1])
        centred = self.node("Sub", x, mean)
        square = self.node("Pow", centred, self.number(2))
        deviation = self.node("Sqrt", self.node("Add", self.node("ReduceMean", square, axes=[-1]),
                                                self.number(1e-5)))
        y = self.node("Div", centred, deviation)
        return self.node("Add", self.node("Mul", y, self.weight(width)), self.weight(width))

    def gelu(self, x: str) -> str:
        erf = self.node("Erf", self.node("Div", x, self.number(1.4142)))
        y = self.node("Mul", x, self.node("Add", erf, self.number(1)))
        return self.node("Mul", y, self.number(0.5))


def resnet_18(path: str) -> str:
    b = Builder(IMAGE=[1, 3, 224, 224])
    x = b.conv("IMAGE", 3, 64, 7, 2)
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, filters in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            y = b.conv(x, channels, filters, 3, stride)
            y = b.conv(y, filters, filters, 3, activation="")
            short = x if stride == 1 else b.conv(x, channels, filters, 1, stride, activation="")
            x = b.node("Relu", b.node("Add", y, short))
            channels = filters
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.save(path, b.node("Gemm", x, b.weight(1000, 512), b.weight(1000), transB=1))


def resnet_50(path: str) -> str:
    b = Builder(IMAGE=[1, 3, 224, 224])
    x = b.conv("IMAGE", 3, 64, 7, 2)
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, (n, inside) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(n):
            stride = 2 if stage > 0 and block == 0 else 1
            y = b.conv(x, channels, inside, 1, stride)  # as published first
            y = b.conv(y, inside, inside, 3)
            y = b.conv(y, inside, 4 * inside, 1, activation="")
            short = x if channels == 4 * inside else b.conv(x, channels, 4 * inside, 1, stride, activation="")
            x = b.node("Relu", b.node("Add", y, short))
            channels = 4 * inside
    x = b.node("Reshape", b.node("ReduceMean", x, axes=[2, 3]), b.numbers(0, -1))
    return b.save(path, b.node("Gemm", x, b.weight(1000, channels), b.weight(1000), transB=1))


def mobilenet_v2(path: str) -> str:
    b = Builder(IMAGE=["batch", 3, 224, 224])
    x = b.conv("IMAGE", 3, 32, 3, 2, activation="Clip")
    channels = 32
    for factor, filters, n, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                      (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(n):
            stride, inside = first if k == 0 else 1, factor * channels
            y = x if factor == 1 else b.conv(x, channels, inside, 1, activation="Clip")
            y = b.conv(y, inside, inside, 3, stride, group=inside, activation="Clip")
            y = b.conv(y, inside, filters, 1, activation="")
            x = b.node("Add", y, x) if stride == 1 and channels == filters else y
            channels = filters
    x = b.conv(x, 320, 1280, 1, activation="Clip")
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.save(path, b.node("Gemm", x, b.weight(1000, 1280), b.weight(1000), transB=1))


def attention(b: Builder, q: str, k: str, v: str, tokens: int, heads: int, width: int) -> str:
    """Of projections [batch, tokens, heads * width]."""
    shape = b.numbers(0, tokens, heads, width)

    def split(x: str, perm: list[int]) -> str:
        return b.node("Transpose", b.node("Reshape", x, shape), perm=perm)

    scores = b.node("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1]))
    scores = b.node("Add", b.node("Div", scores, b.number(8)), b.weight(1, 1, tokens, tokens))
    mixed = b.node("MatMul", b.node("Softmax", scores, axis=-1), split(v, [0, 2, 1, 3]))
    return b.node("Reshape", b.node("Transpose", mixed, perm=[0, 2, 1, 3]), b.numbers(0, 0, heads * width))


def bert(path: str, layers: int = 2, tokens: int = 512, heads: int = 16, width: int = 64) -> str:
    """BERT-large's layers; it adds before it norms."""
    d = heads * width
    b = Builder(IDS=[1, tokens])
    x = b.layer_norm(b.node("Gather", b.weight(30522, d), "IDS"), d)
    for _ in range(layers):
        q, k, v = (b.linear(x, d, d) for _ in range(3))
        z = b.linear(attention(b, q, k, v, tokens, heads, width), d, d)
        x = b.layer_norm(b.node("Add", z, x), d)
        y = b.linear(b.gelu(b.linear(x, d, 4 * d)), 4 * d, d)
        x = b.layer_norm(b.node("Add", y, x), d)
    return b.save(path, x)


def gpt2(path: str, layers: int = 2, tokens: int = 1024, heads: int = 12, width: int = 64) -> str:
    """Queries, keys and values are made by one product and split; it norms before."""
    d = heads * width
    b = Builder(IDS=[1, tokens])
    x = b.node("Gather", b.weight(50257, d), "IDS")
    for _ in range(layers):
        n = b.node("LayerNormalization", x, b.weight(d), b.weight(d))
        q, k, v = b.node("Split", b.linear(n, d, 3 * d), b.numbers(d, d, d), axis=2, outputs=3)
        x = b.node("Add", b.linear(attention(b, q, k, v, tokens, heads, width), d, d), x)
        n = b.node("LayerNormalization", x, b.weight(d), b.weight(d))
        x = b.node("Add", b.linear(b.gelu(b.linear(n, d, 4 * d)), 4 * d, d), x)
    return b.save(path, x)


def u_net(path: str, size: int = 256, levels: int = 4, channels: int = 64) -> str:
    b = Builder(IMAGE=[1, 1, size, size])
    x, width, skipped = "IMAGE", 1, []
    for level in range(levels + 1):
        inside = channels * 2 ** level
        x = b.conv(b.conv(x, width, inside, 3), inside, inside, 3)
        width = inside
        if level < levels:
            skipped.append(x)
            x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for level in reversed(range(levels)):
        inside = channels * 2 ** level
        x = b.node("ConvTranspose", x, b.weight(width, inside, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
        x = b.conv(b.node("Concat", x, skipped[level], axis=1), 2 * inside, inside, 3)
        x = b.conv(x, inside, inside, 3)
        width = inside
    return b.save(path, b.conv(x, width, 2, 1, activation=""))
