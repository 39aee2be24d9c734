"""The rooms of the package: which may import which, and who knows whom.

Everything is read from the sources, imports within functions included.
"""

import ast
import collections
import pathlib
import subprocess
import sys
import textwrap

import pytest

import keras_duspar

PACKAGE = pathlib.Path(keras_duspar.__file__).parent

# A room imports those before it, never those behind it.
ROOMS = (
    "utils",
    "startup",
    "rounding",
    "operators",
    "cells",
    "native",
    "layers",
    "audio",
    "losses",
    "metrics",
    "pruning",
    "profiling",
    "budgets",
    "quantization",
    "callbacks",
    "models",
    "streaming",
    "tflite",
    "micro",
    "registration",
    "cli",
)

# Running a file or reading a profile must not need Keras.
LIGHT = (
    "cells.cost",
    "profiling.plotting",
    "profiling.profile_table",
    "profiling.report",
    "streaming.detector",
    "streaming.evaluation",
    "utils.audio_files",
    "utils.checks",
    "utils.files",
    "utils.incoming",
    "utils.optional",
    "utils.tables",
)

# Base classes, and measures that are losses and metrics.
TWICE = {"__init__", "base", "enhancement", "stoi"}

BACKENDS = {"jax", "tensorflow", "torch"}
# Where backends may be named, and TensorFlow's own tools.
KNOW_BACKENDS = ("native/bridge_", "utils/backends.py", "startup.py")
KNOW_TENSORFLOW = ("tflite/", "rounding/tfmot.py")


def sources(folder=PACKAGE):
    """Yields the path within the package and the tree of every module."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield path.relative_to(folder).as_posix(), tree


def imported(tree):
    """Yields the line and the full name of everything that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def wrong_edges(modules, rooms=ROOMS):
    """Imports against the order, as `file:line: from -> to`.

    Args:
        modules: Iterable of a path within the package and a tree.
        rooms: Sequence of names, lowest first.
    """
    order = {room: i for i, room in enumerate(rooms)}
    found = []
    for path, tree in modules:
        room = path.partition("/")[0].removesuffix(".py")
        if room == "__init__":  # the front door
            continue
        for line, name in imported(tree):
            package, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if package != "keras_duspar" or target not in order:
                continue
            if order.get(room, -1) < order[target]:
                found.append(f"{path}:{line}: {room} -> {target}")
    return found


def test_imports_go_one_way():
    assert wrong_edges(sources()) == []


def test_every_room_has_its_place():
    found = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py"}
    found |= {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert found - {"__init__", *ROOMS} == set()


@pytest.mark.parametrize(
    "line",
    [
        "from keras_duspar.profiling import probe",
        "from keras_duspar import profiling",
        "import keras_duspar.profiling.probe as p",
        "def f():\n    from keras_duspar.profiling.probe import Tap",
    ],
)
def test_a_wrong_import_is_named(line):
    modules = [
        ("cells/base.py", ast.parse("import keras\n" + line)),
        ("tflite/export.py", ast.parse(line)),
    ]
    number = 2 + line.count("\n")
    expected = f"cells/base.py:{number}: cells -> profiling"
    assert wrong_edges(modules) == [expected]


def test_module_names_are_used_once():
    # A subcommand is named as what it calls.
    names = collections.Counter(
        pathlib.PurePath(path).stem
        for path, _ in sources()
        if not path.startswith("cli/")
    )
    assert {n for n, count in names.items() if count > 1} - TWICE == set()


def test_the_sample_rate_is_written_once():
    found = [
        f"{path}:{node.lineno}"
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value == 16000
    ]
    assert [f.partition(":")[0] for f in found] == ["utils/audio_files.py"]


def strings(tree):
    """Yields the line and the value of every string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named_backends(modules):
    """Places that name a backend and should not."""
    found = []
    for path, tree in modules:
        names = [*imported(tree), *strings(tree)]
        for line, name in names:
            name = name.partition(".")[0]
            if name not in BACKENDS or path.startswith(KNOW_BACKENDS):
                continue
            if name == "tensorflow" and path.startswith(KNOW_TENSORFLOW):
                continue
            found.append(f"{path}:{line}: {name}")
    return found


def test_backends_are_known_in_one_place():
    assert named_backends(sources()) == []


def test_a_named_backend_is_found():
    tree = ast.parse('if backend() == "jax":\n    import torch.nn\n')
    expected = ["layers/x.py:2: torch", "layers/x.py:1: jax"]
    assert named_backends([("layers/x.py", tree)]) == expected


def compared_cells(modules):
    """Places that compare something with the name of a cell or layer."""
    names = {name.lower() for name in keras_duspar.layers.names()}
    names |= {f"{name}cell" for name in names}
    found = []
    for path, tree in modules:
        if path.startswith("native/"):  # the kinds of its C interface
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Compare, ast.MatchValue)):
                found += [
                    f"{path}:{line}: {text}"
                    for line, text in strings(node)
                    if text.lower() in names
                ]
    return found


def test_nothing_branches_on_the_name_of_a_cell():
    assert compared_cells(sources()) == []


def test_a_branch_on_a_name_is_found():
    tree = ast.parse('states = 2 if kind == "duspar" else 1')
    assert compared_cells([("a.py", tree)]) == ["a.py:1: duspar"]


def test_light_modules_need_no_keras():
    """With packages around them that import nothing, as lazy ones do."""
    code = f"""
        import importlib, sys, types
        for name in ("", ".cells", ".profiling", ".utils"):
            package = types.ModuleType("keras_duspar" + name)
            package.__path__ = [{str(PACKAGE)!r} + name.replace(".", "/")]
            sys.modules[package.__name__] = package
        for name in {LIGHT!r}:
            importlib.import_module("keras_duspar." + name)
        for name in ("keras", "matplotlib", "soundfile", "soxr"):
            assert name not in sys.modules, name
        from keras_duspar.cells.cost import Cost, Operand
        from keras_duspar.profiling.report import LayerProfile, Profile
        cost = Cost((Operand("e", 4, 10, True), Operand("y", 5, 8, True)))
        layer = LayerProfile("a", "DuSpaR", 80, 100.0, cost, {{"e": 1, "y": 2}})
        assert layer.dense_macs == 8000 and layer.effective_macs == 2600
        assert Profile([layer], 100.0, 7).occupancy == 2600 / 8000
        assert "2.600 k" in str(Profile([layer], 100.0, 7))
        assert "keras" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
