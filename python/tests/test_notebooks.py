"""Every notebook of examples/notebooks runs, by nbclient where that is installed."""

import contextlib
import io
import json
import pathlib

import pytest

import tessera

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "notebooks"


def run_cells(notebook):
    """Cell after cell, the value of the last line of each drawn as a notebook would."""
    names = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        code = "".join(cell["source"])
        lines = code.rsplit("\n", 1)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, lines[-1], "exec"), names)
            if lines[-1].isidentifier():
                value = names[lines[-1]]
                drawn = getattr(value, "_repr_html_", getattr(value, "_repr_svg_", None))
                assert (drawn() if drawn else repr(value))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda p: p.stem)
def test_runs(path):
    notebook = json.loads(path.read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs are not kept"
    if path.stem == "accelforge":
        pytest.importorskip("accelforge")
    try:
        import nbclient
        import nbformat
    except ImportError:
        run_cells(notebook)
        return
    nbclient.NotebookClient(nbformat.read(path, 4), kernel_name="python3", timeout=300).execute()


def test_they_are_there():
    assert len(list(FOLDER.glob("*.ipynb"))) >= 4
    assert tessera.__version__
