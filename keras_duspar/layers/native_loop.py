"""The loop over time in the native library, where that is possible."""

import functools
import importlib
import os

import keras
from keras import ops

from keras_duspar import operators
from keras_duspar.layers import loop
from keras_duspar.native import library
from keras_duspar.native import sparse_ops
from keras_duspar.native import training as passes
from keras_duspar.utils import backends
from keras_duspar.utils import checks

IMPLEMENTATIONS = ("auto", "keras", "native")
VARIABLE = "KERAS_DUSPAR_IMPLEMENTATION"


def chosen(layer):
    """The implementation that a layer is to use, one of `IMPLEMENTATIONS`.

    The environment variable `KERAS_DUSPAR_IMPLEMENTATION` says what `"auto"`
    means.
    """
    if layer.implementation != "auto":
        return layer.implementation
    value = os.environ.get(VARIABLE) or "auto"
    return checks.choice(VARIABLE, value, IMPLEMENTATIONS)


def is_used(layer, sequences, mask=None):
    """Whether a layer in training is to run in the native library.

    What was decided, and why, is noted for `used_by()`. Raises `ValueError`
    if the layer asks for the library and cannot use it.
    """
    implementation = chosen(layer)
    reason = f"`implementation` is {implementation!r}"
    if implementation != "keras":
        reason = obstacle(layer, sequences, mask)
    if reason is not None and implementation == "native":
        raise ValueError(
            f"`implementation='native'` of layer {layer.name!r} must be "
            f"possible, but {reason}. Use `implementation='auto'`, which "
            "then computes with Keras."
        )
    # Past Keras' own way to set an attribute, which would track it.
    vars(layer)["_trained_by"] = reason
    return reason is None


def used_by(layers):
    """What computed the last training step of recurrent layers.

    Args:
        layers: The layers, of which those of other kinds are left out.

    Returns:
        A string such as `"native (avx512): duspar, duspar_1"`.
    """
    found = {}
    for layer in layers:
        if "_trained_by" not in vars(layer):
            continue
        reason = vars(layer)["_trained_by"]
        kernel = library.load().duspar_train_kernel(0) if not reason else b""
        path = f"Keras ({reason})" if reason else f"native ({kernel.decode()})"
        found.setdefault(path, []).append(layer.name)
    return "; ".join(f"{k}: {', '.join(v)}" for k, v in found.items())


def obstacle(layer, sequences=None, mask=None):
    """Why this layer cannot train natively, or `None`.

    Args:
        layer: A `RecurrentLayer`.
        sequences: The input, or `None` to ask about the layer alone.
        mask: The mask of the input.

    Returns:
        A string, part of a sentence, or `None` if it can.
    """
    cell = layer.cell
    if not sparse_ops.has_sparse_op(cell):
        return f"the library has no operator for {type(cell).__name__}"
    if cell.built:  # else asked again when it is called
        op = sparse_ops.sparse_op_of(cell)
        operator = operators.BY_NAME.get(op.name)
        if operator is None:
            return f"the library cannot train the operator {op.name!r}"
        # The library reads as much memory as these say.
        shapes = [tuple(w.shape) for w in [*op.kernels, *op.biases]]
        taken = [
            operators.sizes(w.shape, cell.input_dim, cell.units)
            for w in operator.weights
        ]
        if shapes != taken:
            return (
                f"the operator {op.name!r} takes weights of shapes {taken}, "
                f"not {shapes}"
            )
    if cell.dropout or cell.recurrent_dropout:
        return "it uses dropout"
    if cell.quantization is not None:
        return "it is quantized"
    if (cell.compute_dtype, cell.variable_dtype) != ("float32", "float32"):
        return f"its dtype is {cell.dtype_policy.name!r}, not 'float32'"
    if layer.unroll:
        return "`unroll` is True"
    if getattr(layer, "parallel", False):
        return "`parallel` is True"
    if mask is not None and (layer.return_state or layer.stateful):
        return "the input has a mask and the final states are needed"
    if mask is not None and layer.meter is not None:
        return "the input has a mask and a budget counts valid steps only"
    reason = missing()
    if reason is None and sequences is not None:
        if keras.backend.standardize_dtype(sequences.dtype) != "float32":
            return f"the input's dtype is {sequences.dtype}, not 'float32'"
        reason = bridge().obstacle(sequences)
    return reason


def supports_jit(layer):
    """Whether Keras may compile a layer with XLA."""
    native = chosen(layer) != "keras" and obstacle(layer) is None
    return bridge().SUPPORTS_JIT if native else True


@functools.cache
def missing():
    """What is missing for any native training at all, or `None`."""
    if keras.backend.backend() not in backends.BRIDGES:
        return f"there is no bridge to {keras.backend.backend()!r}"
    try:
        return passes.missing(library.load())
    except (OSError, ImportError) as error:
        return f"there is no native library: {error}"


@functools.cache
def bridge():
    """The module that calls the library from Keras' backend.

    It has three names. `SUPPORTS_JIT` says whether the operation can be part
    of what XLA or `torch.compile` compiles; `obstacle(sequences)` why there
    is no native training here, or `None`. `run(options, sequences, states,
    weights)` runs a layer: it takes the `Options`, a tensor of shape `(batch,
    steps, features)`, the list of initial states and that of the weights,
    kernels first, and returns the outputs of all steps and the list of final
    states; and, if the options have a width, the occupancies of the operands.
    The gradients come from the library.
    """
    name = backends.BRIDGES[keras.backend.backend()]
    return importlib.import_module(f"keras_duspar.native.{name}")


def run(layer, sequences, initial_state, mask=None):
    """Runs a layer's cell over the time axis of `sequences`.

    Args:
        layer: A `RecurrentLayer` for which there is no `obstacle()`.
        sequences: A 3D tensor, with shape `(batch, timesteps, features)`.
        initial_state: List of 2D tensors.
        mask: Optional boolean tensor of shape `(batch, timesteps)`.

    Returns:
        The last output, the outputs and the list of final states, which with
        a mask are those behind the last step.
    """
    op = sparse_ops.sparse_op_of(layer.cell)
    if layer.go_backwards:
        sequences = ops.flip(sequences, axis=1)
        mask = None if mask is None else ops.flip(mask, axis=1)
    options = passes.default_options(operators.BY_NAME[op.name].key)
    if layer.meter is not None:
        options = options._replace(width=layer.meter.width)
    states = initial_state

    def all_steps(sequences, _=None):
        nonlocal states
        outputs, states, *occupancies = bridge().run(
            options,
            sequences,
            initial_state,
            [ops.convert_to_tensor(w) for w in op.kernels + op.biases],
        )
        if layer.meter is not None:
            layer.meter.read(*occupancies)
        return outputs

    if mask is None:
        outputs = all_steps(sequences)
    else:
        outputs = loop.over_valid_steps(
            all_steps, sequences, mask, layer.zero_output_for_mask
        )
    return outputs[:, -1], outputs, states
