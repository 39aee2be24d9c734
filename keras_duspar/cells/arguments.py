"""Arguments of cells: which there are, and what their values become."""

import inspect

import keras

from keras_duspar.cells import gru_arguments
from keras_duspar.rounding import scheme
from keras_duspar.utils import checks
from keras_duspar.utils import docstrings


def _initializer(name, value):
    try:
        return keras.initializers.get(value)
    except ValueError as e:
        hint = f"GRU's second argument is not ours: see {gru_arguments.PAGE}."
        raise checks.bad_value(name, "an initializer", value, hint) from e


# What an argument becomes, by the last word of its name.
_CANONICAL = {
    "units": checks.positive_integer,
    "initializer": _initializer,
    "regularizer": lambda name, value: keras.regularizers.get(value),
    "constraint": lambda name, value: keras.constraints.get(value),
    "dropout": lambda name, value: checks.number(name, value, "[0, 1)"),
    "seed": lambda name, value: value,
    "quantization": lambda name, value: scheme.get(value),
}
_DECLARATIONS = {"initializers", "families", "dropouts"}


def canonical(name, value):
    """The value of an argument as a cell keeps it."""
    return _CANONICAL[name.split("_")[-1]](name, value)


def declared(cls):
    """The signature that the class's attributes declare."""
    defaults = {"units": inspect.Parameter.empty}
    for name, default in cls.initializers.items():
        defaults[f"{name}_initializer"] = default
    for kind in ("regularizer", "constraint"):
        defaults |= dict.fromkeys(f"{f}_{kind}" for f in cls.families)
    defaults |= dict.fromkeys(cls.dropouts, 0.0) | {"seed": None}
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            *(
                inspect.Parameter(n, kinds.POSITIONAL_OR_KEYWORD, default=d)
                for n, d in defaults.items()
            ),
            inspect.Parameter("quantization", kinds.KEYWORD_ONLY, default=None),
            inspect.Parameter("kwargs", kinds.VAR_KEYWORD),
        ]
    )


def describe(cls, base):
    """Sets `arguments`, the signature and the docstring of a class."""
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]
    kinds = {p.kind for p in own}
    named = {p.name for p in own}
    inherited = getattr(base, "arguments", None)
    if inherited is None or vars(cls).keys() & _DECLARATIONS:
        inherited = list(declared(cls).parameters.values())[:-1]
    cls.arguments = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
    cls.arguments += [
        p
        for p in inherited
        if p.name not in named
        and (
            p.VAR_POSITIONAL in kinds
            or (p.kind is p.KEYWORD_ONLY and p.VAR_KEYWORD in kinds)
        )
    ]
    cls.arguments += [p for p in own if p.kind is p.KEYWORD_ONLY]
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
    cls.__signature__ = inspect.Signature([*cls.arguments, rest])
    names = [p.name for p in cls.arguments] + ["**kwargs"]
    cls.__doc__ = docstrings.compose(cls.__doc__, [base.__doc__], names)
