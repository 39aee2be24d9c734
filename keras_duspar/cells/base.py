"""What every recurrent cell of the package shares."""

import keras
from keras import ops

from keras_duspar.cells import arguments
from keras_duspar.cells import gru_arguments
from keras_duspar.cells.numerics import matmul
from keras_duspar.rounding.quantizer import Quantizer
from keras_duspar.utils import checks


class RecurrentCell(keras.layers.SimpleRNNCell):
    """Base class of the package's recurrent cells.

    A cell knows its mathematics, its operands and its cost. A subclass
    writes three methods and everything else, from configuration and
    dropout to profiling and the layer over it, follows from them:

    - `build(input_shape)` adds the weights with `add_kernel()` and
      `add_bias()`, after calling `super().build(input_shape)`;
    - `step(inputs, states, training)` returns the output, the list of new
      states and a dictionary of the operands, that is of the vectors whose
      zeros decide the cost of the step;
    - `cost()` returns the `Cost` of one step, its operands named as in
      `step()`.

    A cell that is to be quantized, too, declares in `build()` with
    `add_operand()` what it multiplies with its kernels, takes it through
    `rounded()` in `step()`, and multiplies with `product()`.

    `state_names` names the states in their order. A state's width is
    `units`, or what `state_width(name)` says.

    A subclass that takes `*args` has the arguments of its base class and,
    after them, its own. Every argument must be an attribute of the same
    name: `get_config()` reads it from there. One with other weights says in
    `initializers` and `families` which have arguments of their own.

    Args:
        units: Positive integer, dimensionality of the output space.
        kernel_initializer: Initializer for the kernels. A random initializer
            draws every kernel of a cell differently, also with a seed.
            Default: `"glorot_uniform"`.
        bias_initializer: Initializer for the bias vectors. Default:
            `"zeros"`.
        kernel_regularizer: Regularizer function applied to the kernels.
            Default: `None`.
        bias_regularizer: Regularizer function applied to the bias vectors.
            Default: `None`.
        kernel_constraint: Constraint function applied to the kernels.
            Default: `None`.
        bias_constraint: Constraint function applied to the bias vectors.
            Default: `None`.
        dropout: Float in `[0, 1)`. Fraction of the entries of the input
            operand to drop. Default: 0.
        recurrent_dropout: Float in `[0, 1)`. Fraction of the entries of the
            recurrent operand to drop. Default: 0.
        seed: Random seed for dropout. Default: `None`.
        quantization: A `keras_duspar.QuantScheme` or the name of one: what is
            rounded in training and after it. `keras_duspar.quantize()` sets
            it. Default: `None`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name` and
            `dtype`.
    """

    state_names = ("h",)
    # States as wide as the input.
    wide_states = ()
    # Arguments: initializers with their defaults, what has a regularizer and
    # a constraint, and what can be dropped.
    initializers = {"kernel": "glorot_uniform", "bias": "zeros"}
    families = ("kernel", "bias")
    dropouts = ("dropout", "recurrent_dropout")
    recurrent_dropout = 0.0

    def __init__(self, units, *args, **kwargs):
        known = {p.name for p in self.arguments}
        gru_arguments.check(self, kwargs.keys() - known)
        given = arguments.declared(type(self)).bind(units, *args, **kwargs)
        given.apply_defaults()
        # RNN draws dropout masks before its loop, as JAX needs it, only for
        # cells of Keras' own family; SimpleRNNCell is its smallest public
        # member. We inherit only its dropout masks and deliberately skip its
        # constructor.
        super(keras.layers.SimpleRNNCell, self).__init__(
            **given.arguments.pop("kwargs")
        )
        checks.float_dtype("dtype", self.compute_dtype)
        for name, value in given.arguments.items():
            setattr(self, name, arguments.canonical(name, value))
        if self.dropout or self.recurrent_dropout:
            self.seed_generator = keras.random.SeedGenerator(self.seed)
        self.output_size = self.units
        self.input_dim = None
        self.quantizer = None
        vars(self)["kernels"] = []  # weights that are tracked already

    # Weights

    def build(self, input_shape):
        form = "(batch, features)"
        checks.axes("inputs", input_shape, form, self, known=True)
        self.input_dim = input_shape[-1]
        self.kernels.clear()
        if self.quantization is not None:
            self.quantizer = Quantizer(self.quantization, name="quantizer")
            levels = self.quantization.state_levels
            for name in self.state_names if levels else ():
                self.quantizer.add_range(f"state_{name}", levels, signed=True)
        self.built = True

    def add_kernel(self, name, shape, family="kernel", initializer=None):
        """Adds a weight made as the arguments of its family say.

        Args:
            name: String, the weight's name.
            shape: Tuple of integers, the weight's shape.
            family: String, `"kernel"`, `"recurrent"` or `"bias"`: which
                initializer, regularizer and constraint arguments apply.
            initializer: String, name of the initializer argument if it is
                not the family's.
        """
        argument = initializer or f"{family}_initializer"
        drawn = sum(1 for w in self.weights if tuple(w.shape) == tuple(shape))
        weight = self.add_weight(
            name=name,
            shape=shape,
            initializer=_checked(
                argument, reseed(getattr(self, argument), drawn)
            ),
            regularizer=getattr(self, f"{family}_regularizer"),
            constraint=getattr(self, f"{family}_constraint"),
        )
        if family != "bias":
            self.kernels.append(weight)
            if self.quantizer is not None:
                self.quantizer.add_kernel(weight)
        return weight

    def add_bias(self, name, shape, initializer=None):
        """Adds a weight of the family `"bias"`."""
        return self.add_kernel(name, shape, "bias", initializer)

    # Products

    def add_operand(self, name, size, signed=True):
        """Declares a vector that is multiplied with kernels.

        Args:
            name: String, the vector's name.
            size: Integer, the number of its entries.
            signed: Boolean, whether it may be negative. Default: `True`.
        """
        if self.quantizer is not None:
            self.quantizer.add_operand(name, size, signed)

    def rounded(self, name, operand):
        """An operand as kernels read it: integers if it is quantized."""
        if self.quantizer is None:
            return operand
        return self.quantizer.operand(name, operand)

    def product(self, name, operand, kernel):
        """The product of a kernel and an operand that `rounded()` gave."""
        if self.quantizer is None:
            return matmul(operand, kernel)
        return self.quantizer.product(name, operand, kernel)

    # Time

    def step(self, inputs, states, training=False):
        """One step: returns `(output, new_states, operands)`."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement `step()`."
        )

    def call(self, inputs, states, training=False):
        checks.float_dtype("inputs", inputs.dtype)
        self.check_features("inputs", inputs)
        states = list(states) if keras.tree.is_nested(states) else [states]
        self.check_states("states", states)
        output, new_states, _ = self.advance(inputs, states, training)
        return output, new_states

    def advance(self, inputs, states, training=False):
        """As `step()`, with the states as they are kept."""
        output, states, operands = self.step(inputs, states, training)
        if self.quantizer is not None:
            states = [
                self.quantizer.state(f"state_{name}", state)
                for name, state in zip(self.state_names, states)
            ]
        return output, states, operands

    def drop_inputs(self, inputs, training):
        """Drops entries of the input operand, the same at every step."""
        if training and self.dropout:
            mask = self.get_dropout_mask(inputs)
            if len(inputs.shape) == 3:  # all steps at once
                mask = ops.reshape(mask, (-1, 1, self.input_dim))
            return inputs * mask
        return inputs

    def drop_recurrent(self, operand, training):
        """Drops entries of the recurrent operand."""
        if training and self.recurrent_dropout:
            return operand * self.get_recurrent_dropout_mask(operand)
        return operand

    # States

    def state_width(self, name):
        """Width of the state `name`: `units`, or the input's."""
        if name in self.wide_states:
            return self.input_dim or InputWidth(self)
        return self.units

    @property
    def state_size(self):
        return [self.state_width(name) for name in self.state_names]

    def get_initial_state(self, batch_size=None):
        return [
            ops.zeros((batch_size, int(size)), dtype=self.compute_dtype)
            for size in self.state_size
        ]

    def check_features(self, argument, inputs):
        """Raises unless `inputs` are as wide as those the cell was built for.

        A single feature would be broadcast against the states, unnoticed.
        """
        if inputs.shape[-1] not in (None, self.input_dim):
            expected = f"have {self.input_dim} features, as it was built"
            raise checks.bad_shape(argument, expected, inputs.shape, self)

    def check_states(self, argument, states):
        """Raises unless `states` are as many and as wide as they must be."""
        expected = {
            name: int(size)
            for name, size in zip(self.state_names, self.state_size)
        }
        shapes = [tuple(s.shape) for s in states]
        fits = len(shapes) == len(expected) and all(
            len(shape) == 2 and shape[1] in (None, size)
            for shape, size in zip(shapes, expected.values())
        )
        if not fits:
            listed = ", ".join(
                f"{name} `(batch, {size})`" for name, size in expected.items()
            )
            raise ValueError(
                f"`{argument}` of {type(self).__name__} must be "
                f"{len(expected)} tensor(s): {listed}. Received "
                f"{len(shapes)} of shape(s): {shapes}. {gru_arguments.PAGE} "
                "compares states with GRU's."
            )

    # Cost

    def margins(self, inputs, states, output, new_states):
        """How far the entries of operands are from being skipped.

        Written by cells that can be trained for a compute budget, in
        `keras.ops`, as gradients pass through it.

        Args:
            inputs: Tensor, the input of a step, or of all steps at once.
            states: List of tensors, the states before the step.
            output: Tensor, its output.
            new_states: List of tensors, the states after it.

        Returns:
            A dictionary of operand name to a tensor, above zero where an
            entry is multiplied.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must implement `margins()` to be trained "
            "for a budget."
        )

    def cost(self):
        """The `Cost` of one step for one sequence."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement `cost()`."
        )

    # Configuration

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        arguments.describe(cls, cls.__mro__[1])

    def get_config(self):
        config = super(keras.layers.SimpleRNNCell, self).get_config()
        for parameter in self.arguments:
            value = getattr(self, parameter.name)
            config[parameter.name] = keras.saving.serialize_keras_object(value)
        return config


arguments.describe(RecurrentCell, keras.layers.Layer)


class InputWidth(int):
    """A width that equals the input's, and is known once a cell is built.

    `keras.layers.RNN` copies `cell.state_size` when it is constructed,
    before it knows its input. It reads the copied number only after the
    cell is built, by `int()`, and that is when this one looks it up.
    """

    def __new__(cls, cell):
        width = super().__new__(cls, 0)
        width.cell = cell
        return width

    def __int__(self):
        if self.cell.input_dim is None:
            raise ValueError(
                f"The states of {type(self.cell).__name__} are as wide as its "
                "input, which is not known yet. Call the layer once, or its "
                "`build()`, first."
            )
        return self.cell.input_dim

    __index__ = __int__

    def __eq__(self, other):
        return self.cell.input_dim == other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return str(self.cell.input_dim)


def reseed(initializer, offset):
    """A copy of an initializer that draws other random numbers.

    A random Keras initializer gives equal weights of one shape each time it
    is called, which would make a gate's kernel equal to the candidate's. So
    every weight gets its own copy, with another seed if one was given.
    """
    seed = getattr(initializer, "seed", None)
    if seed is None or isinstance(seed, keras.random.SeedGenerator):
        return initializer  # not random, or another draw each time anyway
    config = initializer.get_config()
    if isinstance(config["seed"], int):
        config["seed"] += offset
    return type(initializer).from_config(config)


def _checked(argument, initializer):
    """An initializer that refuses to give NaN or infinity."""

    def initialize(shape, dtype=None):
        value = initializer(shape, dtype=dtype)
        checks.finite_array(argument, value)
        return value

    return initialize
