"""Networks of other tools as workloads.

    from tessera import networks
    net = networks.read_onnx("model.onnx", {"batch": 1})
    problem = tessera.Problem.parse(arch, net.to_yaml())

`python3 -m tessera.networks onnx model.onnx -o net.yaml` writes the file. docs/networks.md says what
becomes of which layer.
"""

from ._graph import Network
from ._onnx import read_onnx
from ._scalesim import read_scalesim
from ._zigzag import read_zigzag

__all__ = ["Network", "read_onnx", "read_scalesim", "read_zigzag"]
