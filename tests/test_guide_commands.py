"""The command lines of the guide are ones that the programs take.

Options of recipes are looked for among the strings and the settings of their
sources, as a recipe says them only once it has started a backend.
"""

import ast
import re
import shlex
import tomllib

import pytest

from keras_duspar.cli.main import make_parser
from tests.conftest import ROOT
from tests.helpers import pages

pytestmark = pytest.mark.any_backend


def code_lines(text):
    """The lines of code blocks, fenced or indented, and inline code."""
    text = text.replace("\\\n", " ")
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S):
        yield from block.splitlines()
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    yield from re.findall(r"^ {4,}(\S.*)$", text, re.M)
    yield from re.findall(r"`([^`\n]+)`", text)


def commands(program):
    """Words of every command line of the pages that begins with a pattern."""
    found = []
    for path in pages():
        for line in code_lines(path.read_text()):
            for part in re.split(r"[|&;]", line):
                begun = re.match(
                    rf"(?:[A-Z_]+=\S+ )*(.*? )?({program}.*)", part
                )
                if begun and "`" not in part:
                    words = shlex.split(begun[2], comments=True)
                    found.append((path.name, words))
    return found


def test_commands_of_the_package():
    """Every line is parsed; a bare name in a sentence is passed over."""
    parser, count = make_parser(), 0
    (subparsers,) = parser._subparsers._group_actions
    for page, words in commands("keras-duspar "):
        assert words[1].startswith("-") or words[1] in subparsers.choices, (
            page,
            words,
        )
        if len(words) == 2:
            continue
        words = [{"N": "1", "P": "0.5", "S": "1"}.get(w, w) for w in words]
        try:
            parser.parse_args(words[1:])
        except SystemExit as stopped:
            assert stopped.code == 0, (page, words)
        count += 1
    assert count > 30


def strings(folder):
    """Strings and names of settings in the programs of a folder."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            if isinstance(node, ast.AnnAssign):
                found.add("--" + ast.unparse(node.target).replace("_", "-"))
    return found


@pytest.mark.parametrize("folder", ["recipes", "studies", "benchmarks"])
def test_programs_and_their_options(folder):
    known, count = strings(folder), 0
    for page, words in commands(rf"python {folder}/"):
        assert (ROOT / words[1].rstrip(",")).is_file(), (page, words)
        for word in words[2:]:
            if word.startswith("--"):
                name = word.partition("=")[0]
                assert (
                    name in known
                    or f"--no-{name[2:]}" in known
                    or (f"--{name[5:]}" in known)
                ), (page, words, name)
        count += 1
    assert count > 3


def test_targets_of_make():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for page, words in commands("make "):
        for word in words[1:]:
            if re.fullmatch("[a-z][a-z-]+", word):
                assert word in targets, (page, words)
                break


def test_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for path in pages():
        asked = r"pip install \"?(?:\.|keras-duspar)\[([\w,]+)\]"
        for names in re.findall(asked, path.read_text()):
            assert set(names.split(",")) <= set(extras), path
