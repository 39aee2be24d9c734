"""What the site needs beside its pages.

The guide's links lead to files, as they do in a clone. Here they lead to the
pages made of those files, or to the repository, whose address is that of
`pyproject.toml`.
"""

import inspect
import json
import logging
import os
import pathlib
import re
import tomllib

from mkdocs.structure.files import File

import keras_duspar
from docs.reference import public_names

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
# In the results of a search, behind the guide.
BEHIND = "---\nsearch:\n  boost: 0.5\n---\n\n"
log = logging.getLogger("mkdocs.site")


def on_config(config):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    address = project["urls"]["Repository"]
    if ".invalid/" not in address:  # until the repository is published
        config.repo_url = address
    reference = [{name: f"reference/{name}.md"} for name in modules()]
    for part in config.nav:
        if "Reference" in part:
            part["Reference"] = ["reference/index.md", *reference]
    return config


def modules():
    """The public modules of the package."""
    return [
        name
        for name in keras_duspar.__all__
        if inspect.ismodule(getattr(keras_duspar, name))
    ]


def on_files(files, config):
    """Adds the reference, notebooks and pages that lie elsewhere."""
    pages = {
        name: (ROOT / path).read_text()
        for name, path in config.extra["pages"].items()
    }
    for name in modules():
        members = public_names(getattr(keras_duspar, name))
        pages[f"reference/{name}.md"] = (
            f"{BEHIND}# keras_duspar.{name}\n\n::: keras_duspar.{name}\n"
            f"    options: {{members: {members}}}\n"
        )
    pages["reference/index.md"] = index()
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            text = pathlib.Path(file.abs_src_path).read_text()
            pages[file.src_uri.replace(".ipynb", ".md")] = notebook(text)
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def index():
    """The page on top of the reference."""
    lines = ["# Reference", "", "| module | |", "|---|---|"]
    for name in modules():
        doc = inspect.getdoc(getattr(keras_duspar, name)).splitlines()[0]
        lines.append(f"| [`keras_duspar.{name}`]({name}.md) | {doc} |")
    lines += ["", "In `keras_duspar` itself:", ""]
    for name in keras_duspar.__all__:
        value = getattr(keras_duspar, name)
        if not inspect.ismodule(value):
            home = value.__module__.split(".")[1]
            home = {"rounding": "quantization"}.get(home, home)
            anchor = f"keras_duspar.{home}.{name}"
            lines.append(f"- [`{name}`]({home}.md#{anchor})")
    return "\n".join(lines)


def notebook(text):
    """A notebook as Markdown, with its outputs."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            plain = output.get("text") or data.get("text/plain", [])
            if "image/png" in data:
                image = "".join(data["image/png"].split())
                parts.append(f"![Output](data:image/png;base64,{image})")
            elif plain:
                parts.append(f"```text\n{''.join(plain).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown, page, config, files):
    """Links to files lead to pages, or to the repository."""
    elsewhere = config.extra["pages"]
    names = {path: name for name, path in elsewhere.items()}
    uri = page.file.src_uri
    if uri.startswith("reference/"):
        return markdown
    folder = (ROOT / elsewhere.get(uri, f"docs/{uri}")).parent

    def replace(found):
        text, link, anchor = found[1], found[2], found[3] or ""
        target = (folder / link).resolve()
        if not target.exists() or ROOT not in target.parents:
            log.warning(f"{uri}: {link} leads nowhere")
            return found[0]
        if text.endswith(".md"):  # a reader of the site knows no files
            text = re.search("^# (.*)", target.read_text(), re.M)[1]
        path = target.relative_to(ROOT).as_posix()
        name = names.get(path, path.removeprefix("docs/"))
        name = name.replace(".ipynb", ".md")
        address = os.path.relpath(name, os.path.dirname(uri) or ".")
        if name == path:
            if not config.repo_url:
                return text
            address = f"{config.repo_url}/blob/main/{path}"
        return f"[{text}]({address}{anchor})"

    return LINK.sub(replace, markdown)


def on_page_content(html, page, config, files):
    """What a function returns has no name: no dash goes before it."""
    return re.sub(r'(<li class="doc-section-item[^>]*>)\s*–', r"\1", html)


def on_post_build(config):
    """The page for addresses that do not exist, in any folder of a server.

    It is shown at whatever address was asked for, so it can neither link nor
    load anything by a relative path. Its script looks for the site's start
    page in the folders above.
    """
    page = (ROOT / "docs" / "missing.html").read_text()
    target = pathlib.Path(config.site_dir, "404.html")
    target.write_text(page.replace("SITE_NAME", config.site_name))
