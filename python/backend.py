"""The build backend: that of scikit-build-core, whose source archives hold the C++ sources, too."""

import shutil
import subprocess
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import (build_editable, build_wheel, get_requires_for_build_editable,
                                     get_requires_for_build_wheel, prepare_metadata_for_build_editable,
                                     prepare_metadata_for_build_wheel)

__all__ = ["build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
           "get_requires_for_build_sdist", "get_requires_for_build_wheel",
           "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel"]

get_requires_for_build_sdist = _build.get_requires_for_build_sdist

_HERE = Path(__file__).resolve().parent
# What SConstruct reads to build libtessera.a, and the data of the package.
_ENGINE = ["SConstruct", "include", "src", "plugins", "tools", "arch-specs", "problem-shapes",
           "packages.txt"]


def build_sdist(sdist_directory, config_settings=None):
    """Copies the sources of the engine to ./engine first; a source archive has them already."""
    root, engine = _HERE.parent, _HERE / "engine"
    if not (root / "SConstruct").exists():
        return _build.build_sdist(sdist_directory, config_settings)
    listed = subprocess.run(["git", "ls-files", "-z", "--", *_ENGINE], cwd=root, check=True,
                            capture_output=True, text=True).stdout
    try:
        for name in filter(None, listed.split("\0")):
            (engine / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, engine / name)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(engine, ignore_errors=True)
