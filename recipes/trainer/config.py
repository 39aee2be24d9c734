"""The settings of a run: each is a flag and an entry of a file."""

import argparse
import dataclasses
import json
import pathlib
import typing

import numpy as np
import yaml

import keras_duspar
from keras_duspar.models import stack
from keras_duspar.utils import checks
from trainer import budgeted_training
from trainer import quantized_training
from trainer.errors import TrainingError


def setting(default, help, **metadata):
    """A field of a `Config`.

    Args:
        default: The value if nothing is said.
        help: String, shown by `--help`.
        **metadata: Further arguments of `argparse`'s `add_argument()`.
    """
    metadata = {"help": help, **metadata}
    if isinstance(default, (dict, list)):
        return dataclasses.field(
            default_factory=lambda: type(default)(default), metadata=metadata
        )
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(kw_only=True)
class Config:
    """Settings that every recipe has. A recipe adds its own.

    The attributes are described by the recipes' `--help`.
    """

    task: typing.ClassVar[str]
    # What `--preset` may be: its name to the settings that it changes.
    presets: typing.ClassVar[dict] = {}

    preset: str = setting("demo", "the settings to start from")
    model: str = setting("duspar", "recurrent layer, by its registered name")
    units: int = setting(128, "width of the recurrent layers")
    num_layers: int = setting(2, "number of recurrent layers")
    options: dict = setting(
        {}, """further arguments of the layer, as JSON: '{"theta": 0.02}'"""
    )
    data: str | None = setting(None, "folder of the data; synthetic if absent")
    sizes: list | None = setting(
        None,
        "utterances for training, validation and test: made if synthetic, "
        "else the most that are used",
        nargs=3,
        type=int,
    )
    data_seed: int = setting(
        0, "seed of synthetic speech and composed commands"
    )
    gate_biases: list | None = setting(
        None,
        "range of the gates' biases at the start, for layers that take "
        "`gate_bias_initializer`: how long they remember",
        nargs=2,
        type=float,
    )
    cache: str | None = setting(None, "folder of decoded and synthetic speech")
    seed: int = setting(0, "seed of weights, order and augmentation")
    epochs: int = setting(10, "passes over the training data")
    batch_size: int = setting(64, "utterances per step")
    learning_rate: float = setting(2e-3, "of AdamW, at the start")
    schedule: str = setting(
        "cosine",
        "how the learning rate goes on: to zero, or not at all",
        choices=("cosine", "constant"),
    )
    weight_decay: float = setting(1e-2, "of AdamW")
    clipnorm: float = setting(1.0, "largest norm of the gradient; 0 for any")
    checkpoint_steps: int = setting(
        50, "steps between checkpoints within an epoch"
    )
    quantize: str | None = setting(
        None,
        "scheme of quantization-aware training",
        choices=("int8", "int4w", "bfloat16"),
    )
    quantize_from: int | None = setting(
        None,
        "epochs before it, in float (default: 0 with --start, else 80 %)",
    )
    budget: str | None = setting(
        None,
        "what the model may cost: an occupancy such as 0.28, MACs per second "
        "such as 1.2M, or time of recurrent layers per frame such as 3us",
    )
    budget_table: str | None = setting(
        None, "times by `keras-duspar benchmark --table` of another machine"
    )
    budget_width: float = setting(
        0.3, "how near to zero an entry must be for the budget to move it"
    )
    start: str | None = setting(
        None, "run or .keras file with the weights to start from"
    )
    backend: str | None = setting(
        None,
        "Keras backend; the one that Keras is set to if absent",
        choices=("tensorflow", "jax", "torch"),
    )

    def __post_init__(self):
        for name in (
            "units",
            "num_layers",
            "epochs",
            "batch_size",
            "checkpoint_steps",
        ):
            checks.positive_integer(name, getattr(self, name))
        for name in ("learning_rate", "weight_decay", "clipnorm"):
            interval = "(0, inf)" if name == "learning_rate" else "[0, inf)"
            checks.number(name, getattr(self, name), interval)
        checks.choice("preset", self.preset, tuple(self.presets))
        checks.choice("model", self.model, keras_duspar.layers.names())
        if not isinstance(self.options, dict):
            raise checks.bad_value("options", "a dictionary", self.options)
        self._check_options()
        if self.gate_biases is not None:
            check_range("gate_biases", self.gate_biases)
        quantized_training.check(self)
        budgeted_training.check(self)

    def _check_options(self):
        # Now rather than after the data is made.
        try:
            stack.recurrent_layer(self.model, self.units, self.options, "layer")
        except (TypeError, ValueError) as error:
            raise TrainingError(
                f"`--options` must be arguments of the layer {self.model!r}. "
                f"Received: {json.dumps(self.options)}. {error}"
            ) from error

    def to_dict(self):
        """All settings, for `config.json`."""
        return {"task": self.task, **dataclasses.asdict(self)}

    @property
    def name(self):
        """A short name that tells runs of one recipe apart."""
        data = "synthetic" if self.data is None else pathlib.Path(self.data)
        data = getattr(data, "name", data)
        name = f"{self.task}-{data}-{self.model}-{self.units}-seed{self.seed}"
        name = f"{name}-{self.quantize}" if self.quantize else name
        return f"{name}-budget{self.budget}" if self.budget else name


def check_range(name, given):
    """Raises unless a setting is two numbers, the smaller one first."""
    expected = "two numbers, the least and the largest"
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise checks.bad_value(name, expected, given)
    least, largest = (checks.number(name, end) for end in given)
    if least > largest or not np.isfinite([least, largest]).all():
        raise checks.bad_value(name, expected, given)


def add_arguments(parser, config_class, without=()):
    """Adds a flag for every setting to an `argparse` parser.

    Args:
        parser: The parser, or a group of its arguments.
        config_class: The recipe's subclass of `Config`.
        without: Names of settings that get none.
    """
    for field in dataclasses.fields(config_class):
        if field.name in without:
            continue
        options = dict(field.metadata)
        if field.name == "preset":
            options["choices"] = tuple(config_class.presets)
        if field.name == "model":
            options["metavar"] = "NAME"
            names = ", ".join(keras_duspar.layers.names())
            options["help"] += f": {names}"
        if field.type is dict:
            options["type"] = _json_object
        elif "type" not in options:
            types = typing.get_args(field.type) or (field.type,)
            options["type"] = types[0]
        if field.default not in (None, dataclasses.MISSING):
            options["help"] += f" (default: {field.default})"
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            default=argparse.SUPPRESS,
            **{
                key: value.replace("%", "%%") if key == "help" else value
                for key, value in options.items()
            },
        )


def _json_object(text):
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


_json_object.__name__ = "JSON object"  # named in argparse's message


def make(config_class, given, file=None):
    """The settings of a run.

    What is given comes first, then what the file says, then the preset, then
    the recipe's defaults.

    Args:
        config_class: The recipe's subclass of `Config`.
        given: Dictionary of settings.
        file: Path of a JSON or YAML file of settings, or `None`.
    """
    settings = {**(read(file) if file else {}), **given}
    task = settings.pop("task", config_class.task)
    if task != config_class.task:
        raise TrainingError(
            f"`config` must hold settings for {config_class.task!r}. "
            f"Received: {file} for {task!r}."
        )
    known = {field.name for field in dataclasses.fields(config_class)}
    settings.pop("labels", None)  # a run's own config.json has them
    unknown = sorted(map(str, set(settings) - known))
    if unknown:
        raise TrainingError(
            f"`config` must hold settings out of {', '.join(sorted(known))}. "
            f"Received: {', '.join(unknown)}."
        )
    preset = settings.get("preset", "demo")
    if not isinstance(preset, str):
        raise TrainingError(
            f"`preset` must be a name. Received: preset={preset!r}."
        )
    return config_class(**{**config_class.presets.get(preset, {}), **settings})


def read(path):
    """The dictionary in a JSON or YAML file."""
    try:
        # JSON is YAML, too.
        settings = yaml.safe_load(pathlib.Path(path).read_text())
    except OSError as error:
        raise TrainingError(
            f"`config` must be a file that can be read. Received: {path} "
            f"({error.strerror})."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TrainingError(
            f"`config` must be JSON or YAML. Received: {path}: {error}"
        ) from error
    if not isinstance(settings, dict):
        raise TrainingError(
            "`config` must hold names and values of settings. Received: "
            f"{path}, which holds {type(settings).__name__}."
        )
    return settings
