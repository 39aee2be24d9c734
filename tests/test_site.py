"""The site: built strictly, whole, and without a network."""

import html
import inspect
import os
import re
import subprocess
import sys
import tomllib

import pytest

import keras_duspar
from docs.reference import public_names
from tests.conftest import ROOT

pytestmark = pytest.mark.any_backend


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What `make docs` builds: a page or link that is missing is an error."""
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_needs_no_network(site):
    tags = r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(\w+:)"
    for page in site.rglob("*.html"):
        found = set(re.findall(tags, page.read_text()))
        assert found <= {"data:"}, f"{page.name}: {found}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?http", sheet.read_text())


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in dir(keras_duspar)
        if inspect.ismodule(getattr(keras_duspar, n))
    ],
)
def test_reference_has_every_name_and_argument(site, name):
    module = getattr(keras_duspar, name)
    page = (site / f"reference/{name}.html").read_text()
    for public in public_names(module):
        value = getattr(module, public)
        _, found, rest = page.partition(f'id="keras_duspar.{name}.{public}"')
        assert found, public
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        signature = re.search(r"<code>(.*?)</code></pre>", rest, re.S)[1]
        text = html.unescape(re.sub("<.*?>", "", signature))
        for parameter in inspect.signature(value).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                assert re.search(rf"\b{parameter.name}\b", text), public


def test_markdown_became_lists_and_figures(site):
    """No list lies within a paragraph, and every picture has a text."""
    hidden = re.compile(r"<(p|li)>(?:(?!</?(?:p|li|ul|ol)\b).)*\n- ", re.S)
    for page in site.rglob("*.html"):
        content = page.read_text()
        found = hidden.search(content)
        assert not found, f"{page.name}: {found and found[0][-99:]}"
        for image in re.findall(r"<img\b[^>]*>", content):
            assert re.search(r'alt="?[^"\s]', image), (
                f"{page.name}: {image[:99]}"
            )
    losses = (site / "reference/losses.html").read_text()
    assert not re.search(r"<li[^>]*>\s*–", losses)


def test_code_became_code(site):
    """No command line lies within a sentence, its lines run together."""
    for page in site.rglob("*.html"):
        text = re.sub(
            r"<(code|pre|script)\b.*?</\1>", "", page.read_text(), flags=re.S
        )
        found = re.search(r"(python \w+/\w+\.py|keras-duspar \w+ )-?.*", text)
        assert not found, f"{page.name}: {found and found[0]}"


def test_page_for_missing_pages_needs_no_folder(site):
    """It is shown at any address, so it must not load or link by its own."""
    page = (site / "404.html").read_text()
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["/"]
    assert "<link" not in page and "Page not found - keras_duspar" in page


def test_every_page_has_a_title_of_its_own(site):
    titles = {}
    for page in site.rglob("*.html"):
        title = re.search("<title>(.*?)</title>", page.read_text())[1]
        titles.setdefault(title, []).append(page.relative_to(site).as_posix())
    for title, found in titles.items():
        assert len(found) == 1, (title, found)


def test_search_finds_guide_and_reference(site):
    index = (site / "search/search_index.js").read_text()
    for words in ("quantization.html", "reference/layers.html#keras_duspar"):
        assert words in index


def test_address_is_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    address = project["urls"]["Repository"]
    for name in ("README.md", "CITATION.cff", "DuSpaR.podspec", "mkdocs.yml"):
        assert address not in (ROOT / name).read_text(), name
