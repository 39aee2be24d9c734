"""What the documentation says is true: its examples run, nothing is missing."""

import doctest
import inspect
import re

import keras
import numpy as np
import pytest

import keras_duspar
from tests.conftest import ROOT


def public_objects():
    """Every public class and function, by its qualified name."""
    modules = [keras_duspar]
    for name in dir(keras_duspar):
        value = getattr(keras_duspar, name)
        if inspect.ismodule(value):
            modules.append(value)
    found = {}
    for module in modules:
        for name in dir(module):
            value = getattr(module, name)
            ours = getattr(value, "__module__", "") or ""
            if name.startswith("_") or not ours.startswith("keras_duspar"):
                continue
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{value.__module__}.{name}"] = value
    return found


OBJECTS = public_objects()


@pytest.mark.any_backend
@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_docstring(name):
    """In Keras' form: one line, then every argument by its name."""
    value = OBJECTS[name]
    doc = inspect.getdoc(value)
    assert doc and doc.splitlines()[0].rstrip().endswith((".", "?"))
    if inspect.isclass(value) and issubclass(value, Exception):
        return
    parameters = inspect.signature(value).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        described = rf"^ +`?{parameter.name}`?: "
        assert re.search(described, doc, re.M), parameter.name


def run_examples(text, name):
    test = doctest.DocTestParser().get_doctest(
        text,
        {"np": np, "keras": keras, "keras_duspar": keras_duspar},
        name,
        name,
        0,
    )
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    output = []
    runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)
    return runner.tries


@pytest.mark.parametrize(
    "name", sorted(n for n, v in OBJECTS.items() if ">>>" in (v.__doc__ or ""))
)
def test_docstring_example(name, monkeypatch):
    from keras_duspar.layers import registry
    from keras_duspar.profiling import costs
    from keras_duspar.streaming import rules

    monkeypatch.setattr(registry, "_LAYERS", dict(registry._LAYERS))
    monkeypatch.setattr(costs, "_COSTS", dict(costs._COSTS))
    monkeypatch.setattr(rules, "_RULES", dict(rules._RULES))
    assert run_examples(inspect.getdoc(OBJECTS[name]), name) > 0


def python_blocks():
    """Python code blocks of the README and of the guide."""
    blocks = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text()
        found = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        if path.name == "README.md":
            found = ["\n".join(found)]  # one goes on with the other's model
        for i, code in enumerate(found):
            blocks.append(pytest.param(code, id=f"{path.name}-{i}"))
    return blocks


@pytest.mark.parametrize("code", python_blocks())
def test_guide_example(code, tmp_path, monkeypatch):
    """Runs as written, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    if ">>>" in code:
        assert run_examples(code, "guide") > 0
    else:
        exec(compile(code, "guide", "exec"), {"__name__": "guide"})


@pytest.mark.any_backend
def test_links_lead_somewhere():
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path.name}: {link}"
