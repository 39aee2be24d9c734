"""Writes the stubs (`.pyi`) that tell editors and type checkers our names.

    python -m tests.stubs

Signatures of layers and cells are put together at run time, where no type
checker sees them. Names and defaults in the stubs are those of the run-time
signatures; types are those that the docstrings begin their descriptions with.
There is one stub per package; `test_stubs.py` fails if one is out of date.
"""

import dataclasses
import functools
import inspect
import re

import keras

import keras_duspar
from tests.conftest import ROOT

FOLDER = ROOT / "keras_duspar"
PACKAGES = sorted(
    path.parent
    for path in FOLDER.rglob("__init__.py")
    if "lazy.attach(" in path.read_text() and path.parent.name != "cli"
)
# How a description begins, and the type that it tells. The first one counts.
TYPES = (
    (r"(An? )?((positive|non-negative) )?integer\b(?! tensor)", "int"),
    (r"(A )?(float|number)\b", "float"),
    (r"(A )?boolean\b(?! tensor)|whether", "bool"),
    (r"names, the|(a )?list of strings", "list[str]"),
    (r"the path, as a string", "str"),
    (r"(A )?string or `?pathlib.Path`?|(the )?path\b", "str | PathLike[str]"),
    (r"the `pathlib.Path`", "Path"),
    (r'(optional )?(a )?string\b|name\b|`"', "str"),
    (r"(a )?list\b", "list[Any]"),
    (r"(a )?tuple\b", "tuple[Any, ...]"),
    (r"(a )?dictionary\b", "dict[str, Any]"),
    (r"random seed", "int"),
    (r"(a )?callable\b", "Callable[..., Any]"),
)
OWN = re.compile(r"(?:An?|The) `(?:keras_duspar\.(?:\w+\.)*)?(\w+)`")
# Arguments that Keras' own classes describe.
KERAS = {"name": "String", "trainable": "Boolean", "autocast": "Boolean"}
HEADER = '''"""Written by `python -m tests.stubs`: do not edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import keras

'''


def section(doc, title):
    """The text of a docstring's section, its indentation removed."""
    found = re.search(
        rf"^{title}:\n((?: {{4}}.*\n?|\n)+)", inspect.cleandoc(doc or ""), re.M
    )
    return inspect.cleandoc("\n" + found[1]) if found else ""


def entries(doc, title):
    """Dictionary of name to description in a section."""
    blocks = re.split(r"^(?=[\w*]+: )", section(doc, title), flags=re.M)
    pairs = (block.split(": ", 1) for block in blocks if ": " in block)
    return {name: " ".join(text.split()) for name, text in pairs}


def type_of(text, classes):
    """The type that a description tells, `Any` if it tells none."""
    text = (text or "").split(". ")[0]
    if re.search(r"\bor (the name|an? |one of)|, and an? ", text):
        return "Any"
    or_none = " | None" if re.search(r"(or|else) `None`", text) else ""
    own = OWN.match(text)
    if own and own[1] in classes:
        return own[1] + or_none
    for pattern, name in TYPES:
        if re.match(pattern, text, re.I):
            return name + or_none
    return "Any"


def all_parameters(value):
    """The parameters of a function or class, in their order.

    What a class hands on to Keras as `**kwargs` is there by its name: a type
    checker could find no misspelled argument otherwise.
    """
    found = dict(inspect.signature(value).parameters)
    keras_class = keras_base(value)
    if keras_class is not None and "kwargs" in found:
        del found["kwargs"]
        if issubclass(keras_class, keras.layers.Layer):
            keras_class = keras.layers.Layer
        inherited = inspect.signature(keras_class.__init__).parameters
        for name, p in inherited.items():
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                found.setdefault(name, p.replace(kind=p.KEYWORD_ONLY))
    found.pop("self", None)
    return found.values()


def keras_base(value):
    """The first class of Keras that a class inherits from, or `None`."""
    for base in value.__mro__ if inspect.isclass(value) else ():
        if base.__module__.startswith("keras.src"):
            return base
    return None


def parameters(value, doc, classes, method):
    """The parameters of a stub's function."""
    described = {**KERAS, **entries(doc, "Attributes"), **entries(doc, "Args")}
    listed, named = ["self"] if method else [], False
    for p in all_parameters(value):
        if p.kind is p.VAR_KEYWORD or p.kind is p.VAR_POSITIONAL:
            stars = "**" if p.kind is p.VAR_KEYWORD else "*"
            named |= stars == "*"
            listed.append(f"{stars}{p.name}: Any")
            continue
        if p.kind is p.KEYWORD_ONLY and not named:
            listed.append("*")
            named = True
        kind = type_of(described.get(p.name), classes)
        kind = kind.replace("list[", "Sequence[")  # tuples will do
        default = ""
        if p.default is not p.empty:
            plain = isinstance(p.default, (str, int, float, type(None)))
            default = f" = {p.default!r}" if plain else " = ..."
            if p.default is None and kind != "Any" and "None" not in kind:
                kind = f"{kind} | None"
        listed.append(f"{p.name}: {kind}{default}")
    return ", ".join(listed)


def function(name, value, classes, doc=None, method=False, result=None):
    """A function of a stub."""
    doc = inspect.getdoc(value) if doc is None else doc
    if result is None:
        result = type_of(" ".join(section(doc, "Returns").split()), classes)
        if section(doc, "Yields"):
            result = "Iterator[Any]"
    listed = parameters(value, doc, classes, method)
    return f"def {name}({listed}) -> {result}: ..."


def base_of(value, classes):
    """The base class that a stub names: ours if it is there, or Keras'."""
    for base in value.__mro__[1:]:
        if base.__name__ in classes:
            return f"({base.__name__})"
        for module in (keras.layers, keras.losses, keras.callbacks):
            if getattr(module, base.__name__, None) is base:
                return f"({module.__name__}.{base.__name__})"
    return ""


def class_stub(name, value, classes):
    """A class of a stub: constructor, attributes, properties, methods."""
    doc = inspect.getdoc(value)
    attributes = entries(doc, "Attributes")
    if dataclasses.is_dataclass(value):
        attributes = attributes or entries(doc, "Args")
    lines = [f"{a}: {type_of(d, classes)}" for a, d in attributes.items()]
    known = {p.name for p in all_parameters(value)} | set(attributes)
    for base in value.__mro__[1:]:  # what is described there
        known |= set(vars(base)) - {"__call__"}
    if not issubclass(value, Exception):
        lines.append(function("__init__", value, classes, doc, True, "None"))
    for member, found in vars(value).items():
        if member in known or (member[0] == "_" and member != "__call__"):
            continue
        if isinstance(found, (property, functools.cached_property)):
            lines += ["@property", f"def {member}(self) -> Any: ..."]
        elif inspect.isfunction(found):
            lines.append(function(member, found, classes, method=True))
    body = "".join(f"    {line}\n" for line in lines) or "    ...\n"
    return f"class {name}{base_of(value, classes)}:\n{body}"


def make(folder):
    """The text of a package's stub."""
    parts = folder.relative_to(ROOT).parts
    module = functools.reduce(getattr, parts[1:], keras_duspar)
    public = {name: getattr(module, name) for name in dir(module)}
    classes = {n for n, v in public.items() if inspect.isclass(v)}
    imports, body = [], []
    for name, value in public.items():
        if inspect.ismodule(value):
            imports.append(f"from keras_duspar import {name} as {name}")
        elif len(parts) == 1 or not _at_home(value, parts):
            home = _public_home(name, value)
            imports.append(f"from {home} import {name} as {name}")
        elif inspect.isclass(value):
            body.append(
                ((len(value.__mro__), name), class_stub(name, value, classes))
            )
        else:
            body.append(((99, name), function(name, value, classes)))
    text = "\n".join(sorted(imports)) + "\n\n" if imports else ""
    if len(parts) == 1:
        text += "__version__: str\n"
    text += "\n".join(stub for _, stub in sorted(body))
    header = HEADER
    for line in HEADER.splitlines()[4:]:  # those names that are used
        if "import" in line:
            module, _, names = line.partition("import ")
            used = [
                n for n in names.split(", ") if re.search(rf"\b{n}\b", text)
            ]
            new = f"{module}import {', '.join(used)}\n" if used else ""
            header = header.replace(f"{line}\n", new)
    return re.sub(r"\n{3,}", "\n\n", f"{header}{text.rstrip()}\n")


def _at_home(value, parts):
    return value.__module__.startswith(".".join(parts) + ".")


def _public_home(name, value):
    """The package, or else the module, that a stub imports a name from."""
    home = ".".join(value.__module__.split(".")[:2])
    return (
        home
        if name in dir(__import__(home, fromlist=["x"]))
        else (value.__module__)
    )


def main():
    for folder in PACKAGES:
        (folder / "__init__.pyi").write_text(make(folder))


if __name__ == "__main__":
    main()
