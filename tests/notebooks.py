"""Runs the notebooks of the guide, and keeps their outputs.

python -m tests.notebooks
"""

import tempfile

import nbclient
import nbformat

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def run(path, folder):
    """Runs a notebook in a folder; a cell that raises is an error.

    Returns:
        The notebook, with its outputs and without what differs from one
        machine to the next.
    """
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=None,  # a busy machine takes its time
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":  # without warnings and logs of backends
            cell.outputs = [
                output
                for output in cell.outputs
                if output.get("name") != "stderr"
            ]
    return notebook


def main():
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(path, folder)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
