"""Writes into wheels what is inside: a bill of materials, in CycloneDX 1.6.

    python .ci/sbom.py WHEEL ...

It is made of the wheel's own content: its metadata, the native library and
every preset with the license and the authors of the data that it learned
from. It lies in `*.dist-info/sboms`, where PEP 770 wants it.
Needs `pip install wheel`.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
from email import parser

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARIES = ("libduspar.so", "libduspar.dylib", "duspar.dll")
# What zig adds to every file that it links, and to those for Windows.
RUNTIMES = {
    "*": ("compiler-rt of zig", "MIT"),
    "duspar.dll": ("startup code of mingw-w64, from zig", "ZPL-2.1"),
}


def licensed(name):
    """A license of CycloneDX, by the identifier of SPDX."""
    return [{"license": {"id": name.replace("CC BY ", "CC-BY-")}}]


def file_component(folder, path, **more):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = path.relative_to(folder).as_posix()
    return {
        "type": "file",
        "bom-ref": name,
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
        **more,
    }


def library_components(folder, package):
    """The native library, and what the compiler put into it."""
    for path in sorted(folder.glob("keras_duspar/native/*")):
        if path.name not in LIBRARIES:
            continue
        runtimes = [RUNTIMES["*"]]
        if path.name in RUNTIMES:
            runtimes.append(RUNTIMES[path.name])
        yield file_component(
            folder,
            path,
            licenses=licensed(package["License-Expression"]),
            components=[
                {
                    "type": "library",
                    "bom-ref": name,
                    "name": name,
                    "licenses": licensed(spdx),
                }
                for name, spdx in runtimes
            ],
        )


def preset_component(folder, card, package):
    """A pretrained model: its files, and whose data it learned from."""
    content = json.loads(card.read_text(encoding="utf-8"))
    data = content["data"]
    return {
        "type": "machine-learning-model",
        "bom-ref": f"preset:{content['name']}",
        "name": content["name"],
        "version": package["Version"],
        "description": content["description"],
        "licenses": licensed(package["License-Expression"]),
        "components": [
            file_component(folder, path)
            for path in sorted(card.parent.iterdir())
        ]
        + [
            {
                "type": "data",
                "bom-ref": f"data:{content['name']}",
                "name": data["name"],
                "copyright": data["attribution"],
                "licenses": licensed(data["license"]),
                "scope": "excluded",  # learned from, not inside
            }
        ],
    }


def requirement(line):
    """A dependency that pip installs; not inside the wheel."""
    name, rest = re.match(r"([\w.-]+)(.*)", line).groups()
    _, _, marker = rest.partition(";")
    optional = "extra ==" in marker
    return {
        "type": "library",
        "bom-ref": f"requires:{line}",
        "name": name,
        "purl": f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}",
        "scope": "optional" if optional else "required",
        "properties": [{"name": "requires-dist", "value": line}],
    }


def describe(folder):
    """The bill of materials of an unpacked wheel, as a dictionary."""
    (metadata,) = folder.glob("*.dist-info/METADATA")
    package = parser.Parser().parsestr(metadata.read_text(encoding="utf-8"))
    version = package["Version"]
    ours = f"pkg:pypi/{package['Name']}@{version}"
    required = [
        requirement(line)
        for line in package.get_all("Requires-Dist", [])
        if not line.startswith(package["Name"])
    ]
    cards = sorted(folder.glob("keras_duspar/presets/*/card.json"))
    inside = [
        *library_components(folder, package),
        *(preset_component(folder, card, package) for card in cards),
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": tools()},
            "component": {
                "type": "library",
                "bom-ref": ours,
                "purl": ours,
                "name": package["Name"],
                "version": version,
                "description": package["Summary"],
                "licenses": licensed(package["License-Expression"]),
            },
        },
        "components": inside + required,
        "dependencies": [
            {
                "ref": ours,
                "dependsOn": [part["bom-ref"] for part in inside + required],
            }
        ],
    }


def tools():
    """What made the wheel: the build's backend and the compiler."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (backend,) = project["build-system"]["requires"]
    found = [{"type": "application", "name": re.match("[\\w-]+", backend)[0]}]
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        return found
    return [
        *found,
        {"type": "application", "name": "ziglang", "version": version},
    ]


def add(wheel):
    """Puts the bill into a wheel, in place."""
    run = [sys.executable, "-m", "wheel"]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        subprocess.run([*run, "unpack", "-d", work, wheel], check=True)
        (folder,) = work.iterdir()
        (info,) = folder.glob("*.dist-info")
        (info / "sboms").mkdir(exist_ok=True)
        bill = json.dumps(describe(folder), indent=1, ensure_ascii=False)
        path = info / "sboms" / "keras_duspar.cdx.json"
        path.write_text(bill + "\n", encoding="utf-8")
        subprocess.run([*run, "pack", "-d", wheel.parent, folder], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        add(pathlib.Path(name).resolve())
