"""Docstrings composed of parts, so that an argument is described once.

A class describes the arguments that it adds; inherited ones are described by
the class that they come from. `compose()` joins the two, so that `help()` shows
every argument in the order of the signature.
"""

import inspect
import re

_SHARED = ("Call arguments", "Returns", "Reference", "Example")
_HEADING = re.compile(rf"^(Args|{'|'.join(_SHARED)}):$", re.M)
_ENTRY = re.compile(r"^ {4}(?=[\w*]+:)", re.M)


def _sections(doc):
    """Splits a docstring into a dictionary of heading to text."""
    parts = _HEADING.split(inspect.cleandoc(doc or ""))
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2]))


def _entries(text):
    """Splits the text of an `Args:` section into name to description."""
    blocks = _ENTRY.split(text)[1:]
    return {block.split(":", 1)[0]: block.rstrip() for block in blocks}


def compose(doc, sources, names):
    """Completes a docstring with what `sources` say.

    Args:
        doc: String, the docstring to complete.
        sources: List of docstrings in which an argument or a section that
            `doc` lacks is looked up, in this order.
        names: List of the names of all arguments, in their order.

    Returns:
        The docstring, its `Args:` in the order of `names`.
    """
    own = _sections(doc)
    all_sections = [own] + [_sections(source) for source in sources]
    described = {}
    for section in reversed(all_sections):
        described.update(_entries(section.get("Args", "")))
    args = "".join(
        f"    {described[name]}\n" for name in names if name in described
    )
    parts = [own[""].rstrip(), f"Args:\n{args}".rstrip()]
    for heading in _SHARED:
        for section in all_sections:
            if heading in section and (section is own or heading[0] != "E"):
                text = section[heading].strip("\n").rstrip()
                parts.append(f"{heading}:\n{text}")
                break
    return "\n\n".join(parts) + "\n"
