"""Fixtures, and the protocol by which tools/run-tests counts: see test/main.cpp."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

import tessera


class _Protocol:
    """`plan N`, then `pass NAME` or `fail NAME` for each test; what is skipped is no part of it."""

    def __init__(self, path: str):
        self.file = open(path, "w", encoding="utf-8")

    def pytest_collection_finish(self, session: Any) -> None:
        self.planned = len(session.items)
        self.write(f"plan {self.planned}")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.write(f"fail {report.nodeid}")
        elif report.skipped:
            self.planned -= 1
            self.write(f"plan {self.planned}")  # the last one counts
        elif report.when == "call":
            self.write(f"pass {report.nodeid}")

    def write(self, line: str) -> None:
        self.file.write(line + "\n")
        self.file.flush()


def pytest_configure(config: Any) -> None:
    path = os.environ.get("TESSERA_TEST_PROTOCOL")
    if path:
        config.pluginmanager.register(_Protocol(path))


@pytest.fixture(scope="session")
def program() -> Any:
    """Runs the command line, gives its JSON document."""
    path = os.environ.get("TESSERA_PROGRAM", "")
    if not os.path.exists(path):
        pytest.skip("TESSERA_PROGRAM names no program")

    def run(*arguments: str) -> dict[str, Any]:
        done = subprocess.run([path, *arguments, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def small() -> tessera.Problem:
    return tessera.Problem.load("simba", "matmuls", {"N_EINSUMS": 2})


@pytest.fixture(scope="session")
def conv() -> tessera.Problem:
    return tessera.Problem.load("eyeriss", "mobilenet-28").only("PiecewiseA0")
