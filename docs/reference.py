"""Docstrings of the reference, for the site.

Signatures are those of the stubs, which `tests/test_stubs.py` compares with
the package. Docstrings of layers and cells are put together when they are
imported, so they are read there.
"""

import functools
import importlib
import inspect
import re
import types

import griffe

DOCUMENTED = (type, types.FunctionType, property, functools.cached_property)


def public_names(module):
    """The public names of a module of the package."""
    return [
        name
        for name in dir(module)
        if name[0] != "_"
        and (
            hasattr(module, "__all__")
            or getattr(vars(module)[name], "__module__", "") == module.__name__
        )
    ]


def markdown(doc):
    """A docstring in Keras' form, in the form that the site shows.

    Examples become code blocks, and call arguments a list.
    """
    doc = inspect.cleandoc(doc or "")
    doc = re.sub(
        r"^( *)>>> (?:.*\n?)+?(?=\n|\Z)",
        lambda found: f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```",
        doc,
        flags=re.M,
    )
    doc = re.sub(r"^(Examples?|Reference):\n+", r"**\1**\n\n", doc, flags=re.M)
    return re.sub(
        r"^Call arguments:\n((?: {4}.*\n?)+)",
        lambda found: (
            "**Call arguments**\n\n"
            + re.sub(r"^ {4}(\w+): ", r"- `\1`: ", found[1], flags=re.M)
        ),
        doc,
        flags=re.M,
    )


class RuntimeDocstrings(griffe.Extension):
    """Gives every public object the docstring that `help()` shows."""

    def on_package(self, *, pkg, loader, **kwargs):
        self.loader = loader
        package = importlib.import_module(pkg.path)
        for module in public_names(package):
            value = getattr(package, module)
            if inspect.ismodule(value):
                for name in public_names(value):
                    found = pkg[module][name]
                    if found.is_module:  # named after what it defines
                        found = found[name]
                        pkg[module].set_member(name, found)
                    self._complete(found, getattr(value, name))

    def _complete(self, found, value):
        if found.is_alias:
            found = found.final_target
        doc = getattr(value, "__doc__", None)
        if doc and isinstance(value, DOCUMENTED):
            found.docstring = griffe.Docstring(
                markdown(doc),
                parent=found,
                parser=self.loader.docstring_parser,
                parser_options=self.loader.docstring_options,
            )
        if found.is_class:
            for name, member in found.members.items():
                inner = inspect.getattr_static(value, name, None)
                self._complete(member, inner)
        elif found.is_function:
            for parameter in found.parameters:
                if str(parameter.annotation) == "Any":
                    parameter.annotation = None
            if str(found.returns) in ("Any", "None"):
                found.returns = None
