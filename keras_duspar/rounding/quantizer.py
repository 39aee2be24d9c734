"""The part of a quantized cell that rounds."""

import contextlib

import keras
from keras import ops

from keras_duspar.rounding import arithmetic

# A range that has not been observed yet has a scale so small that rounding
# has no effect.
_UNOBSERVED_SCALE = 2.0**-20
_SMALLEST_RANGE = 1e-6


class Quantizer(keras.layers.Layer):
    """Rounds the kernels, operands and states of one cell.

    The ranges of operands and states are weights that are not trained: they
    follow the largest values of the batches in training, until they are
    frozen. Kernels need no range: their scales come from their values.

    Args:
        scheme: A `QuantScheme`.
        **kwargs: Arguments of `keras.layers.Layer`.

    Attributes:
        ranges: Dictionary of the name of an operand or state to its range, a
            variable that is 0 before the first batch.
        frozen: A variable that is 1 once the ranges must not move, or `None`
            if there are none.
        operands: List of the names of the operands that were declared.
    """

    def __init__(self, scheme, **kwargs):
        super().__init__(dtype="float32", **kwargs)
        self.scheme = scheme
        self.ranges, self._grids, self._foreign = {}, {}, {}
        self.frozen = None
        self.operands = []
        # Not tracked: these last for one call.
        vars(self)["_kernels"] = {}
        vars(self)["_maxima"] = None
        vars(self)["_collected"] = None
        self.built = True

    def add_range(self, name, levels, signed):
        """Adds an operand or state that is rounded.

        Args:
            name: String, its name.
            levels: Integer, the largest integer that stands for it.
            signed: Boolean, whether it may be negative.
        """
        self._grids[name] = (levels, signed)
        if self.frozen is None:
            self.frozen = self._add_number("frozen")
        self.ranges[name] = self._add_number(f"{name}_range")

    def _add_number(self, name):
        return self.add_weight(
            (), "zeros", trainable=False, autocast=False, name=name
        )

    def add_operand(self, name, size, signed):
        """Adds an operand, as `RecurrentCell.add_operand()` does."""
        scheme = self.scheme
        self.operands.append(name)
        if scheme.foreign_operands:
            self._foreign[name] = scheme.operands.build(
                (None, size), name, self
            )
        elif scheme.operand_levels:
            # A sign takes a bit of the eight.
            levels = scheme.operand_levels
            self.add_range(name, min(levels, 127) if signed else levels, signed)

    def add_kernel(self, kernel):
        """Adds a kernel, a variable."""
        if self.scheme.foreign_weights:
            self._foreign[kernel.name] = self.scheme.weights.build(
                kernel.shape, kernel.name, self
            )

    # Rounding

    def operand(self, name, operand):
        """An operand as its kernels read it, in units of its scale."""
        if name in self._foreign:
            return self.scheme.operands(
                operand, self._maxima is not None, self._foreign[name]
            )
        if name not in self._grids:
            return operand
        return ops.cast(self._round(name, operand), operand.dtype)

    def state(self, name, state):
        """A state as it is kept until the next step."""
        if name not in self._grids:
            return state
        return ops.cast(
            self._round(name, state) * self.scale(name), state.dtype
        )

    def _round(self, name, values):
        levels, signed = self._grids[name]
        if self._maxima is not None:
            self._note(name, values)
        observed = self.ranges[name] > 0
        levels = ops.where(observed, float(levels), 2.0**30)
        return arithmetic.round_operand(
            ops.cast(values, "float32"), self.scale(name), levels, signed
        )

    def scale(self, name):
        """What an integer of an operand or state stands for, or `None`."""
        if name not in self._grids:
            return None
        levels, _ = self._grids[name]
        largest = ops.convert_to_tensor(self.ranges[name])
        return ops.where(
            largest > 0, arithmetic.scale_of(largest, levels), _UNOBSERVED_SCALE
        )

    def type_of(self, name):
        """The integer type of an operand or state, such as `"uint8"`."""
        levels, signed = self._grids[name]
        bits = levels.bit_length()
        return f"int{bits + 1}" if signed else f"uint{bits}"

    def product(self, name, operand, kernel):
        """The product of an operand, as `operand()` gave it, and a kernel."""
        values, scale = self._kernels.get(id(kernel)) or self.kernel(kernel)
        dtype = keras.backend.result_type(operand.dtype, "float32")
        result = ops.cast(operand, dtype) @ ops.cast(values, dtype)
        operand_scale = self.scale(name)
        if operand_scale is not None:
            scale = operand_scale if scale is None else operand_scale * scale
        if scale is not None:
            result = result * ops.cast(scale, dtype)
        return ops.cast(result, operand.dtype)

    def kernel(self, kernel):
        """A kernel's rounded values and their scale, which may be `None`."""
        scheme = self.scheme
        if scheme.foreign_weights:
            state = self._foreign[kernel.name]
            value = ops.convert_to_tensor(kernel)
            return scheme.weights(value, self._maxima is not None, state), None
        values = ops.convert_to_tensor(kernel)
        values = ops.cast(
            values, keras.backend.result_type(values.dtype, "float32")
        )
        if scheme.weights == "bfloat16":
            return arithmetic.round_bfloat16(values), None
        if scheme.weight_levels is None:
            return values, None
        return arithmetic.round_kernel(values, scheme.weight_levels)

    def rounded_kernel(self, kernel):
        """The tensor that a kernel stands for once it is rounded."""
        values, scale = self.kernel(kernel)
        return values if scale is None else values * scale

    # Training

    @contextlib.contextmanager
    def prepared(self, kernels, training):
        """A context in which kernels are rounded once, not at every step.

        Args:
            kernels: List of the variables that are read within.
            training: Boolean, whether the largest values are noted.
        """
        if training:
            vars(self)["_maxima"] = {}
        try:
            for kernel in kernels:
                self._kernels[id(kernel)] = self.kernel(kernel)
            yield self
        finally:
            self._kernels.clear()
            vars(self)["_maxima"] = None

    def _note(self, name, values):
        largest = ops.stop_gradient(ops.abs(ops.cast(values, "float32")))
        # One per entry of the batch.
        largest = ops.max(largest, axis=tuple(range(1, len(values.shape))))
        old = self._maxima.get(name)
        self._maxima[name] = (
            largest if old is None else ops.maximum(old, largest)
        )

    @contextlib.contextmanager
    def collecting(self, collected):
        """A context in which largest values are collected, also in inference.

        Args:
            collected: Dictionary that they are put into by name; the ranges
                stay as they are.
        """
        vars(self)["_collected"] = collected
        try:
            yield
        finally:
            vars(self)["_collected"] = None

    @property
    def is_collecting(self):
        """Whether the context of `collecting()` is open."""
        return self._collected is not None

    def take_maxima(self):
        """The largest values since the last call, by name."""
        maxima = self._maxima
        vars(self)["_maxima"] = {}
        return maxima

    def update(self, maxima):
        """Moves the ranges.

        Args:
            maxima: Dictionary of names to the largest values in a batch.
        """
        momentum = self.scheme.momentum
        for name, largest in maxima.items():
            new = ops.maximum(ops.max(largest), _SMALLEST_RANGE)
            if self._collected is not None:
                known = self._collected.get(name)
                new = new if known is None else ops.maximum(known, new)
                self._collected[name] = new
                continue
            old = ops.convert_to_tensor(self.ranges[name])
            new = ops.where(old > 0, momentum * old + (1 - momentum) * new, new)
            self.ranges[name].assign(ops.where(self.frozen > 0, old, new))
