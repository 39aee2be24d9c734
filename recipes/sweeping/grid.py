"""The grid of a sweep: every model, width, option and seed, as trials."""

import dataclasses
import itertools
import pathlib

import yaml

import keras_duspar
from keras_duspar.utils import checks
from trainer import config as configs
from trainer.errors import TrainingError

FOLDER = pathlib.Path(__file__).parent.parent / "grids"
KEYS = ("models", "seeds", "settings")
# Settings that the grid itself says, and no one else.
SWEPT = ("model", "units", "options", "seed")
# Settings that are swept like options of the layer.
AXES = ("budget",)


@dataclasses.dataclass(frozen=True)
class Trial:
    """One training of a sweep.

    Attributes:
        name: String that tells the trials of a sweep apart, and names the
            run folder.
        config: The recipe's `Config`.
    """

    name: str
    config: configs.Config


def find(task, grid):
    """The file of a grid: one that comes with the recipes, or a path.

    Args:
        task: String, `"kws"`, `"slu"` or `"se"`.
        grid: String, `"paper"`, `"quick"` or the path of a YAML file.

    Returns:
        A `pathlib.Path`.
    """
    own = FOLDER / f"{task}-{grid}.yaml"
    path = own if own.is_file() else pathlib.Path(grid)
    if not path.is_file():
        names = sorted(
            file.stem.removeprefix(f"{task}-")
            for file in FOLDER.glob(f"{task}-*.yaml")
        )
        raise TrainingError(
            f"`--grid` must be one of {', '.join(names)} or a YAML file. "
            f"Received: {grid}."
        )
    return path


def trials(config_class, path, given=None):
    """The trials of a grid, in its order, all of them checked.

    Args:
        config_class: The recipe's subclass of `Config`.
        path: Path of the YAML file.
        given: Dictionary of settings that go before those of the file.
            Default: `None`.

    Returns:
        A list of `Trial`.
    """
    grid = read(path)
    settings = {**grid.get("settings", {}), **(given or {})}
    swept = sorted(set(settings) & set(SWEPT))
    if swept:
        raise bad_grid(
            path,
            f"`settings` must leave {', '.join(SWEPT)} to `models` and "
            f"`seeds`. Received: {', '.join(swept)}",
        )
    found = {}
    points = itertools.chain.from_iterable(
        _points(path, model, axes) for model, axes in grid["models"].items()
    )
    # Seed by seed, so that a whole curve is there early.
    for seed, (model, units, options, others) in itertools.product(
        grid["seeds"], points
    ):
        given = {k: v for k, v in others.items() if v is not None}
        name = "-".join(
            [model, str(units)]
            + [f"{k}{_text(v)}" for k, v in [*options.items(), *given.items()]]
            + [f"seed{seed}"]
        )
        if name in found:
            raise bad_grid(path, f"{name} must be there once, not twice")
        swept = {
            "model": model,
            "units": units,
            "options": options,
            "seed": seed,
        }
        if settings.get("start"):  # each trial may have its own
            others["start"] = str(settings["start"]).format(**swept)
        config = configs.make(config_class, {**settings, **swept, **others})
        found[name] = Trial(name, config)
    return list(found.values())


def read(path):
    """The dictionary of a grid file, its parts of the right kind."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        grid = yaml.load(text, Loader=_Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise bad_grid(path, f"it cannot be read: {error}") from error
    if not isinstance(grid, dict):
        raise bad_grid(path, f"it must hold {', '.join(KEYS)}")
    unknown = sorted(set(map(str, grid)) - set(KEYS))
    if unknown:
        raise bad_grid(
            path,
            f"it must hold nothing but {', '.join(KEYS)}. Received: "
            f"{', '.join(unknown)}",
        )
    grid.setdefault("settings", {})
    for key, kind, words in (
        ("models", dict, "names of models, each with its `units`"),
        ("seeds", list, "a list of seeds"),
        ("settings", dict, "names and values of settings"),
    ):
        empty = key != "settings" and not grid.get(key)
        if empty or not isinstance(grid[key], kind):
            raise bad_grid(
                path, f"`{key}` must be {words}. Received: {grid.get(key)!r}"
            )
    for seed in grid["seeds"]:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise bad_grid(
                path,
                f"`seeds` must be integers of at least 0. Received: {seed!r}",
            )
    return grid


def bad_grid(path, problem):
    """The error of a grid that cannot be run."""
    return TrainingError(f"The grid {path} is not usable: {problem}.")


def _points(path, model, axes):
    """Every `(model, units, options, settings)` of a model, each once."""
    names = keras_duspar.layers.names()
    if model not in names:
        raise bad_grid(
            path,
            f"`models` must be out of {', '.join(names)}. Received: {model!r}",
        )
    if not isinstance(axes, dict) or "units" not in axes:
        raise bad_grid(
            path,
            f"`{model}` must have `units`, a list of widths. Received: "
            f"{axes!r}",
        )
    lists = {
        key: values if isinstance(values, list) else [values]
        for key, values in axes.items()
    }
    empty = [key for key, values in lists.items() if not values]
    if empty:
        raise bad_grid(path, f"`{model}` has no value for `{empty[0]}`")
    options = [key for key in lists if key != "units"]
    # All widths of one option make a curve: they stay together.
    for values in itertools.product(*(lists[key] for key in options)):
        for units in lists["units"]:
            chosen = dict(zip(options, values))
            others = {k: chosen.pop(k) for k in AXES if k in chosen}
            try:
                checks.positive_integer("units", units)
                keras_duspar.layers.get(model)(units, **chosen)
            except (TypeError, ValueError) as error:
                raise bad_grid(path, f"`{model}`: {error}") from error
            yield model, units, chosen, others


def _text(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Loader(yaml.SafeLoader):
    """YAML in which a name may stand once: the last would win silently."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} stands there twice", node.start_mark
                )
        return super().construct_mapping(node, deep)
