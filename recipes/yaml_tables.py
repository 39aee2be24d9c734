"""Tables that are data: YAML files beside the modules that use them."""

import pathlib

import yaml


def beside(file):
    """The content of the YAML file beside a module.

    Args:
        file: String, the `__file__` of the module.
    """
    path = pathlib.Path(file).with_suffix(".yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))
