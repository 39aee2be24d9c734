"""Maps of folders in the documentation, against the tree.

A map is the indented block after "Where things live". Its lines are one or
more paths, two spaces or more, and what is found there.
"""

import re
import subprocess

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend

# The document, the folder that its paths begin in, and the folders of which
# the map must name every sub-folder.
MAPS = [
    ("tflite/README.md", "tflite", ("", "src", "include")),
    ("CONTRIBUTING.md", "", ("", "tflite")),
]


def read_map(text):
    """The paths of a document's map."""
    _, _, rest = text.partition("Where things live")
    block = re.search(r"(?:^    .*\n)+", rest, re.M)[0]
    lines = re.findall(r"^    (\S+(?: \S+)*?)  +\S", block, re.M)
    return [path for line in lines for path in line.split()]


def tracked_files(folder):
    """Files that belong to the repository, as paths from `folder`."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT / folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip("not a clone")
    files = done.stdout.splitlines()
    return [name for name in files if (ROOT / folder / name).exists()]


@pytest.mark.parametrize("document, base, whole", MAPS)
def test_map_is_like_the_tree(document, base, whole):
    paths = read_map((ROOT / document).read_text())
    assert len(paths) == len(set(paths))
    missing = [p for p in paths if not any((ROOT / base).glob(p))]
    assert not missing, f"{document} names what is not there: {missing}"
    files = tracked_files(base)
    for folder in whole:
        prefix = f"{folder}/" if folder else ""
        inside = (
            name[len(prefix) :] for name in files if name.startswith(prefix)
        )
        folders = {
            f"{prefix}{name.split('/')[0]}/" for name in inside if "/" in name
        }
        unnamed = [
            f
            for f in sorted(folders)
            if not f.startswith(".") and not any(p.startswith(f) for p in paths)
        ]
        assert not unnamed, f"{document} does not name {unnamed}"
