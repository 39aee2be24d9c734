"""What to say to those who come from `keras.layers.GRU`."""

PAGE = "docs/coming_from_gru.md"

_FIXED = "its activations are fixed; leave it out"
_ONE_FAMILY = "it has no recurrent kernel; `kernel_{}` is for all its kernels"
_HINTS = {
    "activation": _FIXED,
    "recurrent_activation": _FIXED,
    "use_bias": "it always has its biases; leave it out",
    "recurrent_initializer": _ONE_FAMILY.format("initializer"),
    "recurrent_regularizer": _ONE_FAMILY.format("regularizer"),
    "recurrent_constraint": _ONE_FAMILY.format("constraint"),
    "reset_after": "its gates are fixed; leave it out",
    "use_cudnn": "`implementation` says what computes it in training",
}


def check(owner, arguments):
    """Raises for arguments that GRU has and a layer or cell does not.

    Args:
        owner: The layer or cell.
        arguments: Names of arguments that it does not know.
    """
    for name in sorted(arguments):
        if name in _HINTS:
            raise ValueError(
                f"`{name}` is an argument of `keras.layers.GRU` that "
                f"{type(owner).__name__} does not have: {_HINTS[name]}. "
                f"{PAGE} compares the two."
            )
