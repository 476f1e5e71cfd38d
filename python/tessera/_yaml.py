"""Writes dictionaries as the YAML that Tessera reads: block style, tags from the key "!"."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# A quoted text is a literal for the reader of expressions: it is quoted only where YAML would
# misread it.
_MISREAD = re.compile(r"""^$|^[\s,\[\]{}#&*!|>'"%@`]|^[-?:](\s|$)|:(\s|$)|\s#|\s$""")


def scalar(value: Any) -> str:
    """A number, truth value or text as it would stand in a file; texts may be expressions."""
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):  # of numpy
        value = value.item()
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, float):
        return "inf" if value == math.inf else "-inf" if value == -math.inf else repr(value)
    return str(value)


class Literal(str):
    """A text that is no expression."""


def _text(value: str) -> str:
    quoted = isinstance(value, Literal) or _MISREAD.search(value)
    value = " ".join(value.split("\n"))
    return json.dumps(value, ensure_ascii=False) if quoted else value


def _key(key: Any) -> str:
    key = scalar(key)
    return key if _PLAIN_KEY.match(key) else json.dumps(key, ensure_ascii=False)


def _entry(head: str, value: Any, depth: int) -> list[str]:
    """``head`` and the value behind it, or below it."""
    if isinstance(value, dict):
        value = dict(value)
        tag = value.pop("!", None)
        head += f" !{tag}" if tag else ""
        if value:
            return [head] + _map(value, depth + 1)
        return [head + " {}"]
    if isinstance(value, (list, tuple)) and value:
        return [head] + _items(value, depth + 1)
    return [f"{head} {_leaf(value)}"]


def _leaf(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return "[]"
    return _text(value) if isinstance(value, str) else scalar(value)


def _map(value: dict, depth: int) -> list[str]:
    blanks = "  " * depth
    return [line for k, v in value.items() for line in _entry(f"{blanks}{_key(k)}:", v, depth)]


def _items(value: Any, depth: int) -> list[str]:
    blanks = "  " * depth
    return [line for v in value for line in _entry(f"{blanks}-", v, depth)]


def dump(value: dict) -> str:
    return "\n".join(_map(dict(value), 0)) + "\n"
