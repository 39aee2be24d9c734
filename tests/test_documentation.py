"""What the documentation says is true: its examples run, nothing is missing."""

import ast
import doctest
import inspect
import re
import shutil

import keras
import numpy as np
import pytest

import keras_duspar
from keras_duspar.models import preset_files
from keras_duspar.tflite import runtime
from tests.conftest import ROOT
from tests.helpers import pages


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
    """Python code blocks of every page."""
    blocks = []
    for path in pages():
        text, name = path.read_text(), path.relative_to(ROOT).as_posix()
        found = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        if name == "README.md":
            found = ["\n".join(found)]  # one goes on with the other's model
        for i, code in enumerate(found):
            blocks.append(pytest.param(code, id=f"{name}-{i}"))
    return blocks


@pytest.mark.parametrize("code", python_blocks())
def test_guide_example(code, tmp_path, monkeypatch):
    """Runs as written, in a folder with a model."""
    monkeypatch.chdir(tmp_path)
    if "load_tfmot" in code:
        pytest.importorskip("tensorflow_model_optimization")
        if keras.backend.backend() != "tensorflow":
            pytest.skip("its quantizers are TensorFlow's")
    if '"model.tflite"' in code and "convert(" not in code:
        runtime.find_runtime()
        preset = preset_files.FOLDER / "kws_duspar_128_words30"
        shutil.copy(preset / preset_files.WHOLE, "model.tflite")
    if ">>>" in code:
        assert run_examples(code, "guide") > 0
    elif "folder)" in code:  # of the user
        monkeypatch.syspath_prepend(ROOT / "recipes")
        assert resolve_names(code) > 2
    else:
        exec(compile(code, "guide", "exec"), {"__name__": "guide"})


def resolve_names(code):
    """Imports what a block imports, and counts what it takes from there."""
    tree, scope, found = ast.parse(code), {}, 0
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            exec(ast.unparse(node), scope)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in scope:
            eval(ast.unparse(node), scope)
            found += 1
    return found


@pytest.mark.any_backend
def test_python_is_marked_as_such():
    """Blocks that are not would not be run."""
    for path in pages():
        text = path.read_text()
        assert not re.search(r"^ *```(py|python3)$", text, re.M), path
        text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.M | re.S)
        begins = r"^    (from \w+ import|import \w+$|\w+ = keras)"
        assert not re.search(begins, text, re.M), path


@pytest.mark.any_backend
def test_links_lead_somewhere():
    for path in pages():
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path.name}: {link}"
