"""One recurrent layer of the native library, on NumPy arrays."""

import ctypes

import numpy as np

from keras_duspar import operators
from keras_duspar.native import interface
from keras_duspar.native.library import load
from keras_duspar.utils import checks

_DTYPES = {"float32": "float32", "bfloat16": "int16", "int8": "int8"}


def _array(name, value, dtype, shape):
    """Returns `value` as a contiguous array of this type and shape."""
    array = np.ascontiguousarray(value, dtype)
    if array.shape != tuple(shape):
        raise checks.bad_value(name, f"of shape {tuple(shape)}", value)
    return array


class Layer:
    """A layer that runs in C, without TFLite.

    Args:
        kind: `"duspar"` or `"spar"`, the operator in lower case.
        weights: A dictionary of arrays, by the names of
            `keras_duspar.operators`, such as `gate_kernel` of `"spar"` or
            `feedback/gate_kernel` of `"duspar"`. With `int8`, `gate_scale` and
            `candidate_scale` of each cell, one per output channel; and
            `operand_scale` of each cell, a number above 0, unless `operands`
            is `"float32"`.
        weight_type: Type of the kernels: `"float32"`, `"bfloat16"` (the upper
            16 bits of each number, as `int16`) or `"int8"`.
        kernel: Name of the kernel to use, one of `kernels()`. Defaults to the
            fastest.
        operands: What is multiplied with the weights: the rectified numbers
            (`"float32"`, the default), or, with weights of `"int8"`, the
            nearest multiples of `operand_scale` as `"uint7"` or `"uint8"`,
            whose sums are exact.

    Example:

    >>> weights = {
    ...     "gate_kernel": np.ones((3, 2)),
    ...     "candidate_kernel": np.ones((3, 2)),
    ...     "gate_bias": np.zeros(2),
    ... }
    >>> layer = keras_duspar.native.Layer("spar", weights)
    >>> y, states, counts = layer(np.ones((1, 4, 3)))
    >>> y.shape, counts.steps, counts.nonzeros[0]
    ((1, 4, 2), 4, 12)
    """

    def __init__(
        self,
        kind,
        weights,
        weight_type="float32",
        kernel=None,
        operands="float32",
    ):
        self._pointer = None
        checks.choice("kind", kind, interface.KINDS)
        checks.choice("weight_type", weight_type, interface.WEIGHT_TYPES)
        checks.choice("operands", operands, interface.OPERAND_BITS)
        if operands != "float32" and weight_type != "int8":
            raise checks.bad_value(
                "operands",
                f"'float32', as `weight_type` is {weight_type!r}",
                operands,
            )
        self.kind, self.weight_type = kind, weight_type
        self.operands = operands
        self._library = load()
        self._keep = []  # arrays, until the library has copied them
        self._operator = operators.BY_KEY[kind]
        name = self._operator.weights[0].name
        first = weights.get(name)
        if np.ndim(first) != 2:
            raise checks.bad_value(
                f"weights[{name!r}]",
                "a matrix of shape (features, units)",
                first,
            )
        self.features, self.units = (int(n) for n in np.shape(first))
        parameters = interface.Parameters(
            kind=interface.KINDS[kind],
            weight_type=interface.WEIGHT_TYPES[weight_type],
            features=self.features,
            units=self.units,
            operand_bits=interface.OPERAND_BITS[operands],
        )
        self._point(parameters, weights)
        self._pointer = self._library.duspar_layer_create(
            ctypes.byref(parameters), kernel.encode() if kernel else None
        )
        self._keep.clear()
        interface.check(self._library, self._pointer is not None)

    def _copy(self, weights, name, dtype, shape):
        if name not in weights:
            raise checks.bad_value(
                "weights", f"a dictionary with {name!r}", sorted(weights)
            )
        if dtype != "float32" and np.asarray(weights[name]).dtype != dtype:
            # Numbers are never rounded here without being asked.
            raise checks.bad_value(
                f"weights[{name!r}]",
                f"of dtype {dtype}, as `weight_type` is {self.weight_type!r}",
                np.asarray(weights[name]),
            )
        array = _array(f"weights[{name!r}]", weights[name], dtype, shape)
        self._keep.append(array)
        return array.ctypes.data

    def _point(self, parameters, weights):
        """Points the fields of `parameters` at copies of the weights."""
        cells = (parameters.feedforward, parameters.feedback)
        biases = ("feedforward_bias", "feedback_bias")
        for weight in self._operator.weights:
            shape = self._sizes(weight.shape)
            dtype = _DTYPES[self.weight_type] if weight.is_kernel else "float32"
            pointer = self._copy(weights, weight.name, dtype, shape)
            if weight.role == operators.OFFSET:
                setattr(parameters, biases[weight.cell], pointer)
                continue
            setattr(cells[weight.cell], weight.role, pointer)
            if weight.is_kernel and self.weight_type == "int8":
                scale = self._copy(
                    weights, weight.scale_name, "float32", shape[1:]
                )
                field = weight.role.replace("kernel", "scale")
                setattr(cells[weight.cell], field, scale)
        if self.operands == "float32":
            return
        for cell, operand in zip(cells, self._operator.operands):
            name = "/".join(filter(None, (operand.cell, "operand_scale")))
            scale = weights.get(name)
            if np.ndim(scale) != 0 or not 0 < float(scale or 0) < np.inf:
                raise checks.bad_value(
                    f"weights[{name!r}]", "a finite number above 0", scale
                )
            cell.operand_scale = float(scale)

    def _sizes(self, shape):
        return operators.sizes(shape, self.features, self.units)

    def __del__(self):
        if self._pointer is not None:
            self._library.duspar_layer_destroy(self._pointer)
            self._pointer = None

    @property
    def kernel(self):
        """Name of the kernel that runs the layer."""
        return self._library.duspar_layer_kernel(self._pointer).decode()

    @property
    def bytes(self):
        """Bytes of the weights in memory, as the kernel keeps them."""
        return self._library.duspar_layer_bytes(self._pointer)

    def __call__(self, x, states=None):
        """Runs the layer over sequences.

        Args:
            x: An array of shape `(batch, steps, features)`.
            states: The initial states: `[f, g]` of DuSpaR, `[f]` of SpaR.
                Defaults to zeros.

        Returns:
            A tuple of the output, the list of final states, and the counts,
            which have the fields `steps`, `nonzeros` and `invocations`.
        """
        if np.ndim(x) != 3:
            raise checks.bad_value(
                "x", "of shape (batch, steps, features)", np.asarray(x)
            )
        batch, steps, _ = np.shape(x)
        x = _array("x", x, "float32", (batch, steps, self.features))
        widths = self._sizes(state.width for state in self._operator.states)
        if states is None:
            states = [np.zeros((batch, width)) for width in widths]
        if len(states) != len(widths):
            raise checks.bad_value("states", f"a list of {len(widths)}", states)
        before = [
            _array("states", state, "float32", (batch, width))
            for state, width in zip(states, widths)
        ]
        after = [np.empty_like(state) for state in before]
        y = np.empty((batch, steps, self.units), "float32")
        counts = interface.Counts()
        (f0, g0), (f, g) = (
            (*(state.ctypes.data for state in states), None)[:2]
            for states in (before, after)
        )
        status = self._library.duspar_layer_run(
            self._pointer,
            batch,
            steps,
            x.ctypes.data,
            f0,
            g0,
            y.ctypes.data,
            f,
            g,
            ctypes.byref(counts),
        )
        interface.check(self._library, status == 0)
        return y, after, counts
