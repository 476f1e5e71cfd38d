"""Networks of other tools: the Einsums that they become, and what they cost."""

import subprocess
import sys

import numpy as np
import pytest

import tessera
from tessera import Limits, Problem, networks
from tessera.networks._graph import Atom, NotSupported, Tensor, View, leaves, regroup, size_of

onnx = pytest.importorskip("onnx")
import onnx_models as models  # noqa: E402  (needs onnx)


def arch_text(name):
    import pathlib
    for folder in pathlib.Path(__file__).parents:
        if (folder / "arch-specs" / f"{name}.yaml").exists():
            return (folder / "arch-specs" / f"{name}.yaml").read_text()
    raise AssertionError(name)


def edp(problem, **options):
    result = tessera.map(problem, limits=Limits(max_cpu_time=60), threads=1, **options)
    assert result.status == "optimal"
    return result.edp


def equations(net):
    return [line.split('"')[1] for line in net.to_yaml().splitlines() if "einsum: \"" in line]


@pytest.mark.parametrize("model, layers, by_hand, defines", [
    (models.bert, {"layers": 1}, "bert-large", {"LAYERS": 1, "BITS": 8}),
    (models.gpt2, {"layers": 1}, "gpt2", {"LAYERS": 1, "BITS": 8}),
])
@pytest.mark.parametrize("arch", ["edge", "tpu-v4i", "simba"])
def test_a_model_costs_what_the_cascade_written_by_hand_costs(tmp_path, model, layers, by_hand, defines, arch):
    net = networks.read_onnx(model(str(tmp_path / "m.onnx"), **layers))
    found = edp(Problem.parse(arch_text(arch), net.to_yaml()))
    assert found == pytest.approx(edp(Problem.load(arch, by_hand, defines)), rel=1e-12)


@pytest.mark.parametrize("model, by_hand", [
    (models.resnet_18, "resnet-18"), (models.resnet_50, "resnet-50-network"),
    (models.mobilenet_v2, "mobilenet-v2"), (models.u_net, "u-net")])
def test_image_networks_move_as_many_words_as_those_written_by_hand(tmp_path, model, by_hand):
    """Each Einsum by itself: one buffer that holds everything."""
    net = networks.read_onnx(model(str(tmp_path / "m.onnx")), {"batch": 1})
    space = tessera.MapSpace(unfused=True)
    own, other = (tessera.map(p, metric="traffic", mapspace=space, threads=1, limits=Limits(max_cpu_time=60))
                  for p in (Problem.parse(arch_text("one-buffer"), net.to_yaml(), {"BUFFER": 10 ** 12}),
                            Problem.load("one-buffer", by_hand, {"BUFFER": 10 ** 12})))
    assert own.status == other.status == "optimal"
    assert own.energy == pytest.approx(other.energy, rel=1e-12)


def test_what_follows_point_by_point_is_folded(tmp_path):
    net = networks.read_onnx(models.bert(str(tmp_path / "m.onnx"), layers=1))
    assert len(net.ops) == 11  # four projections, two products, softmax, two sums, two more products
    assert net.taken == {"matrix products": 8, "softmax": 1, "sums and products of two tensors": 2}
    assert net.ignored == {"lookups in a table": 1}
    assert "11 Einsums" in net.describe()


def one(tmp_path, build, **inputs):
    b = models.Builder(**inputs)
    return networks.read_onnx(b.save(str(tmp_path / "m.onnx"), build(b)), {"n": 4})


def test_heads_that_share_keys(tmp_path):
    """Keys of two heads, each repeated for three queries."""
    def build(b):
        k = b.node("Reshape", "K", b.numbers(1, 2, 1, 16, 8))
        k = b.node("Reshape", b.node("Expand", k, b.numbers(1, 2, 3, 16, 8)), b.numbers(1, 6, 16, 8))
        return b.node("MatMul", "Q", b.node("Transpose", k, perm=[0, 1, 3, 2]))
    net = one(tmp_path, build, Q=[1, 6, 16, 8], K=[1, 2, 16, 8])
    [equation] = equations(net)
    left, right = equation.split(" = ")
    q, k = right.split(" * ")
    assert len(left.split(",")) == 4  # two factors of the heads, queries, keys
    assert (len(q.split(",")), len(k.split(","))) == (4, 3)
    assert edp(Problem.parse(arch_text("edge"), net.to_yaml())) > 0


@pytest.mark.parametrize("build, inputs, expected", [
    (lambda b: b.node("Conv", "X", b.weight(8, 2, 3, 3), group=4, kernel_shape=[3, 3], pads=[1] * 4),
     {"X": [1, 8, 9, 9]}, ["Conv_2[g, m, p, q] = X[G: g, C1: c1, P1: p + r, Q1: q + s] * W_Conv_2[g, r, s, c1, m]"]),
    (lambda b: b.node("Conv", "X", b.weight(8, 8, 3, 3), kernel_shape=[3, 3], strides=[2, 2], dilations=[2, 2]),
     {"X": [1, 8, 9, 9]}, None),
    (lambda b: b.node("Gemm", b.node("Flatten", "X"), b.weight(5, 32), transB=1),
     {"X": [2, 2, 4, 4]}, None),
    (lambda b: b.node("MatMul", b.node("Slice", b.linear("X", 8, 12), b.numbers(4), b.numbers(12), b.numbers(1)),
                      b.weight(8, 3)), {"X": [4, 8]}, None),
    (lambda b: b.node("Mul", "X", b.node("Sigmoid", b.node("Conv", b.node("GlobalAveragePool", "X"),
                                                           b.weight(8, 8, 1, 1)))), {"X": [1, 8, 9, 9]}, None),
    (lambda b: b.node("Conv", b.node("Concat", "X", "Y", axis=1), b.weight(4, 10, 1, 1)),
     {"X": [1, 8, 9, 9], "Y": [1, 2, 9, 9]}, None),
    (lambda b: b.node("Reshape", b.linear("X", 8, 12), b.node("Concat", b.node("Slice", b.node("Shape", "X"),
                                                                               b.numbers(0), b.numbers(1)),
                                                              b.numbers(3, 4), axis=0)), {"X": ["n", 8]}, None),
    (lambda b: b.node("AveragePool", "X", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {"X": [1, 8, 8, 8]}, None),
])
def test_layers(tmp_path, build, inputs, expected):
    net = one(tmp_path, build, **inputs)
    assert expected is None or [e.count(",") for e in equations(net)] == [e.count(",") for e in expected]
    result = tessera.map(Problem.parse(arch_text("simple"), net.to_yaml()), metric="energy", threads=1,
                         limits=Limits(max_cpu_time=20))
    assert result.solutions


def stored(view):
    """The values of a view whose tensor holds 0, 1, 2, ..."""
    own = leaves(view.tensor.atoms)
    values = np.arange(size_of(own)).reshape([a.size for a in own])
    order = [own.index(a) for axis in view.axes for a in leaves(axis)]
    return values.transpose(order).reshape(view.shape)


@pytest.mark.parametrize("seed", range(60))
def test_reshapes_and_transposes_move_values_as_numpy_does(seed):
    """Whatever was split before is split for all views of the tensor."""
    random = np.random.default_rng(seed)
    shape = [int(n) for n in random.choice([1, 2, 3, 4, 6, 8, 12], size=random.integers(1, 5))]
    axes = [[Atom(n, "X")] if n > 1 else [] for n in shape]
    view = View(Tensor("T", [a for axis in axes for a in axis]), axes)
    values = stored(view)
    views = [(view, values)]
    for _ in range(6):
        view, values = views[random.integers(len(views))]
        if random.integers(2):
            order = [int(d) for d in random.permutation(len(view.axes))]
            views.append((View(view.tensor, [view.axes[d] for d in order]), values.transpose(order)))
            continue
        left, sizes = values.size, []
        while left > 1 and random.integers(4):
            sizes.append(int(random.choice([d for d in range(1, left + 1) if left % d == 0])))
            left //= sizes[-1]
        sizes.append(left)
        try:
            views.append((View(view.tensor, regroup(view.axes, sizes)), values.reshape(sizes)))
        except NotSupported:
            continue
    for view, values in views:
        assert view.shape == list(values.shape)
        assert (stored(view) == values).all()


def test_a_convolution_in_groups_has_as_many_points_as_it_says(tmp_path):
    net = one(tmp_path, lambda b: b.node("Conv", "X", b.weight(8, 2, 3, 3), group=4, kernel_shape=[3, 3],
                                         strides=[2, 2], pads=[1] * 4), X=[3, 8, 9, 9])
    sizes = {line.split(":")[0].strip(): int(line.split(":")[1]) for line in net.to_yaml().splitlines()
             if line.startswith("    ") and line.split(":")[-1].strip().isdigit()}
    [equation] = equations(net)
    import re
    variables = set(re.findall(r"\b[a-z]\w*\b", equation.replace("Conv", "")))
    n = 1
    for v in variables:
        n *= sizes[v.upper()]
    assert n == 3 * 8 * 2 * 5 * 5 * 3 * 3


@pytest.mark.parametrize("build, inputs, says", [
    (lambda b: b.node("LSTM", "X", name="rnn"), {"X": [1, 8]}, r"node 'rnn' \(LSTM\): no Einsum"),
    (lambda b: b.node("Relu", "X"), {"X": ["batch", 8]}, "axis 0 of input 'X' is called 'batch'.*-D batch=SIZE"),
    (lambda b: b.node("Relu", "X"), {"X": [1, 8]}, "nothing that an Einsum computes"),
    (lambda b: b.node("Conv", b.node("Reshape", b.node("Conv", "X", b.weight(4, 4, 3, 3)), b.numbers(1, 4, 6, 24)),
                      b.weight(4, 4, 3, 3)), {"X": [1, 4, 14, 14]}, "a window moves is split|reshape cuts"),
    (lambda b: b.node("ConvTranspose", "X", b.weight(4, 4, 3, 3), strides=[2, 2]), {"X": [1, 4, 6, 6]}, "overlap"),
    (lambda b: b.node("MatMul", "X", "nowhere"), {"X": [4, 4]}, "its input 'nowhere' is not computed"),
])
def test_what_no_einsum_says_is_refused_by_name(tmp_path, build, inputs, says):
    b = models.Builder(**inputs)
    path = b.save(str(tmp_path / "m.onnx"), build(b))
    with pytest.raises(tessera.UserError, match=says):
        networks.read_onnx(path).to_yaml()


@pytest.mark.parametrize("name", ["a\"b\n  evil: 1", "All", "", "7up", "x" * 200, "é/ü"])
def test_names_are_made_fit(tmp_path, name):
    b = models.Builder(X=[4, 8])
    out = b.node("MatMul", "X", b.weight(8, 8), name=name or "/")
    out = b.node("MatMul", out, b.weight(8, 8), name=(name or "/") + "!")
    net = networks.read_onnx(b.save(str(tmp_path / "m.onnx"), out))
    assert edp(Problem.parse(arch_text("simple"), net.to_yaml())) > 0


@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused_or_read(tmp_path):
    """A bit, a byte or a few that are wrong: one error that says so, or another network."""
    whole = open(models.gpt2(str(tmp_path / "m.onnx"), layers=1), "rb").read()
    path = tmp_path / "damaged.onnx"
    refused = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        data = bytearray(whole)
        for _ in range(random.choice([1, 2, 8])):
            at = int(random.integers(len(data)))
            data[at:at + int(random.integers(3))] = random.bytes(int(random.integers(3)))
        path.write_bytes(data)
        try:
            networks.read_onnx(path).to_yaml()
        except tessera.UserError:
            refused += 1
    assert refused > 100


@pytest.mark.filterwarnings("ignore")
def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "no.onnx"
    path.write_bytes(b"\x00garbage\xff" * 10)
    with pytest.raises(tessera.UserError, match="no ONNX model"):
        networks.read_onnx(path)
    with pytest.raises(tessera.UserError, match="No such file"):
        networks.read_onnx(tmp_path / "none.onnx")


ZIGZAG = """
- id: 0
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 16, 8, 14, 14, 3, 3]
  operand_precision: {O: 16, O_final: 8, W: 4, I: 8}
  operand_source: {I: 0, W: 0}
- id: 1
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=2*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 32, 16, 7, 7, 1, 1]
  operand_precision: {O: 16, O_final: 8, W: 4, I: 8}
  operand_source: {I: 0, W: 1}
"""


def test_a_workload_of_zigzag(tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text(ZIGZAG)
    net = networks.read_zigzag(path)
    first, second = equations(net)
    assert "2 * " in second and first.split("[")[0] in second  # it reads what the first one makes
    text = net.to_yaml()
    assert "Conv_0_W: 4" in text
    assert edp(Problem.parse(arch_text("edge"), text)) > 0
    path.write_text(ZIGZAG.replace("ix=2*ox+1*fx", "ix=ox/2"))
    with pytest.raises(tessera.UserError, match="layer 1: .*no sum of multiples"):
        networks.read_zigzag(path)
    path.write_text(ZIGZAG.replace("loop_sizes: [1, 32, 16, 7, 7, 1, 1]", ""))
    with pytest.raises(tessera.UserError, match="layer 1: 'loop_sizes' is missing"):
        networks.read_zigzag(path)


def test_topologies_of_scalesim(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
                    "Strides,\nConv1, 16, 16, 3, 3, 8, 4, 1,\nFC, 1, 1, 1, 1, 64, 10, 1,\n")
    net = networks.read_scalesim(path)
    assert len(net.ops) == 2 and "P: 14" in net.to_yaml()
    assert edp(Problem.parse(arch_text("edge"), net.to_yaml())) > 0
    path.write_text("Layer, M, N, K,\nG, 128, 256, 64,\n")
    assert "K: 64" in networks.read_scalesim(path).to_yaml()
    path.write_text("Layer, M, N, K,\nG, 128, much, 64,\n")
    with pytest.raises(tessera.UserError, match="line 2: .*whole numbers"):
        networks.read_scalesim(path)


def test_the_command_writes_all_or_nothing(tmp_path):
    model = models.gpt2(str(tmp_path / "m.onnx"), layers=1)
    out = tmp_path / "net.yaml"

    def run(*words):
        return subprocess.run([sys.executable, "-m", "tessera.networks", *words], capture_output=True, text=True)
    done = run("onnx", model, "-o", str(out))
    assert done.returncode == 0 and "11 Einsums" in done.stderr
    written = out.read_text()
    again = run("onnx", model, "-o", str(out))
    assert again.returncode == 2 and "exists; --force" in again.stderr and out.read_text() == written
    assert run("onnx", str(tmp_path / "none"), "-o", str(tmp_path / "b.yaml")).returncode == 2
    assert not (tmp_path / "b.yaml").exists()
    assert run("scalesim", model).returncode == 2
    assert run("onnx", model, "--bits", "0").returncode == 2
