"""python3 -m tessera.networks: see --help."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from .._errors import UserError
from . import read_onnx, read_scalesim, read_zigzag


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdigit() or int(value) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=SIZE")
    return name, int(value)


def _write(path: str, text: str, force: bool) -> None:
    """All or nothing."""
    if os.path.lexists(path) and not force:
        raise UserError(f"{path} exists; --force replaces it")
    folder = os.path.dirname(path) or "."
    with tempfile.NamedTemporaryFile("w", dir=folder, encoding="utf-8", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tessera.networks", description="Write a network of another tool as a workload file.",
        epilog="example: python3 -m tessera.networks onnx model.onnx -D batch=1 -o net.yaml")
    parser.add_argument("format", choices=["onnx", "zigzag", "scalesim"])
    parser.add_argument("file", help="a model (onnx), a workload (zigzag), a topology (scalesim)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; default: standard output")
    parser.add_argument("-f", "--force", action="store_true", help="replace FILE")
    parser.add_argument("-D", "--define", metavar="NAME=SIZE", action="append", type=_size, default=[],
                        help="size of an axis that an ONNX model only names; may be repeated")
    parser.add_argument("--bits", type=int, metavar="N", help="of each value; default: 8, or what the file says")
    given = parser.parse_args(words)
    try:
        if given.bits is not None and not 1 <= given.bits <= 1024:
            raise UserError(f"--bits {given.bits}: expected 1 to 1024")
        if given.format == "onnx":
            net = read_onnx(given.file, dict(given.define), given.bits or 8)
        elif given.define:
            raise UserError("-D is for ONNX models")
        elif given.format == "zigzag":
            net = read_zigzag(given.file, given.bits)
        else:
            net = read_scalesim(given.file, given.bits or 8)
        text = net.to_yaml()
        if given.output:
            _write(given.output, text, given.force)
        else:
            sys.stdout.write(text)
    except (UserError, OSError) as error:
        print(f"tessera.networks: {error}", file=sys.stderr)
        return 2
    print(net.describe(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
