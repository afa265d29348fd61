"""Every notebook runs, and is stored without output."""
import nbclient
import nbformat
import pytest
from conftest import ROOT

FOLDER = ROOT / "validate/python/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file, monkeypatch):
    monkeypatch.delenv("MPLBACKEND")  # the kernel's own shows plots
    notebook = nbformat.read(file, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(FOLDER)}}).execute()
    shown = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= shown
