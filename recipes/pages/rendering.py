"""From a template to a file: everything that is not markup is escaped."""

import functools
import os
import pathlib
import urllib.parse

import jinja2

from keras_duspar.utils import files
from pages import formats
from pages import palette

TEMPLATES = pathlib.Path(__file__).parent / "templates"


@functools.cache
def environment():
    """The templates, with the functions of `formats` as filters."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters |= {
        name: getattr(formats, name) for name in ("count", "is_number", "plain")
    }
    found.globals |= {
        "SPACE": formats.SPACE,
        "light": palette.LIGHT,
        "dark": palette.DARK,
    }
    return found


def save(path, template, **values):
    """Writes a page in one step: readers see the old one or the new one.

    Args:
        path: The file.
        template: String, the name of a template.
        **values: What the template shows.

    Returns:
        The `pathlib.Path` of the page.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = environment().get_template(template).render(**values)
    files.write(path, text + "\n")
    return path


def link(file, page):
    """The address of a file from the folder of a page; `None` for no file."""
    if not file.is_file():
        return None
    base = pathlib.Path(page).resolve().parent
    path = pathlib.Path(os.path.relpath(file.resolve(), base))
    return urllib.parse.quote(path.as_posix())
