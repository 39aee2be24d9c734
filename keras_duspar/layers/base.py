"""What the layers over the package's cells share."""

import inspect

import keras
from keras import ops

from keras_duspar.cells import gru_arguments
from keras_duspar.cells.base import RecurrentCell
from keras_duspar.layers import loop
from keras_duspar.layers import native_loop
from keras_duspar.layers import quantized_loop
from keras_duspar.utils import checks
from keras_duspar.utils import docstrings


class RecurrentLayer(keras.layers.RNN):
    """Base class of the layers over a `RecurrentCell`.

    A subclass names its cell in `cell_class`. Its constructor then takes the
    arguments of the cell, in their order, and those of the layer by name.

    Args:
        return_sequences: Boolean, whether to return the last output in the
            output sequence, or the full sequence. Default: `False`.
        return_state: Boolean, whether to return the last states in addition
            to the output. Default: `False`.
        go_backwards: Boolean, whether to process the input sequence backwards
            and return the reversed sequence. Default: `False`.
        stateful: Boolean, whether the last states of each sample in a batch
            are the initial states of the sample of the same index in the
            next batch. Default: `False`.
        unroll: Boolean, whether to unroll the loop over time. Unrolling takes
            more memory and is only suitable for short sequences. Default:
            `False`.
        zero_output_for_mask: Boolean, whether the output is zero at masked
            steps, instead of the output of the step before. Default:
            `False`.
        activity_regularizer: Regularizer function applied to the output of
            the layer. Default: `None`.
        implementation: `"auto"`, `"keras"` or `"native"`: what computes the
            loop over time in training. `"auto"` is the native library, which
            is faster, for `DuSpaR` and `SpaR` in float32 on a CPU, without
            dropout, if the library is there; else it is Keras. With a mask it
            is Keras, too, if `return_state` or `stateful` is true.
            `"native"` raises an error where the library cannot be used.
            Inference is always computed by Keras. Default: `"auto"`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name` and
            `dtype`.

    Call arguments:
        sequences: A 3D tensor, with shape `(batch, timesteps, features)`.
        initial_state: List of initial state tensors to be passed to the first
            call of the cell, with shapes as the cell's `states`. Default:
            `None`, which stands for zeros.
        mask: Boolean tensor of shape `(batch, timesteps)`. At a step that is
            `False` the states stay as they are and the output is that of the
            step before. Default: `None`.
        training: Python boolean indicating whether the layer should behave in
            training mode or in inference mode. Default: `False`.
    """

    cell_class = None
    # A `metering.Meter` while the layer trains for a compute budget.
    meter = None
    # The name of a class' layers, if it is not Keras' form of the class name.
    default_name = None

    def __init__(
        self,
        *args,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        zero_output_for_mask=False,
        activity_regularizer=None,
        implementation="auto",
        **kwargs,
    ):
        prefix = vars(type(self)).get("default_name")
        if kwargs.get("name") is None and prefix is not None:
            count = keras.backend.get_uid(prefix) - 1
            kwargs["name"] = f"{prefix}_{count}" if count else prefix
        arguments = [p.name for p in self.cell_class.arguments]
        cell_kwargs = {n: kwargs.pop(n) for n in arguments if n in kwargs}
        gru_arguments.check(self, kwargs)
        # With an explicit policy, not the global one at a later time, the
        # cell computes in the layer's dtype.
        policy = keras.dtype_policies.get(
            kwargs.pop("dtype", None) or keras.config.dtype_policy()
        )
        cell = self.cell_class(
            *args,
            **cell_kwargs,
            dtype=policy,
            trainable=kwargs.get("trainable", True),
            name="cell",
        )
        super().__init__(
            cell,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            zero_output_for_mask=zero_output_for_mask,
            activity_regularizer=activity_regularizer,
            dtype=policy,
            **kwargs,
        )
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.implementation = checks.choice(
            "implementation", implementation, native_loop.IMPLEMENTATIONS
        )
        self.supports_jit = native_loop.supports_jit(self)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.cell_class is None:
            return
        if not issubclass(cls.cell_class, RecurrentCell):
            raise checks.bad_value(
                "cell_class", "a subclass of `RecurrentCell`", cls.cell_class
            )
        own = inspect.signature(RecurrentLayer.__init__).parameters.values()
        added = inspect.signature(cls.__init__).parameters.values()
        options = {
            p.name: p for p in [*added, *own] if p.kind is p.KEYWORD_ONLY
        }
        rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
        cls.__signature__ = inspect.Signature(
            [*cls.cell_class.arguments, *options.values(), rest]
        )
        for p in cls.cell_class.arguments:
            setattr(cls, p.name, _from_cell(p.name))
        sources = [c.__doc__ for c in cls.__mro__[1:-1] if c is not object]
        cls.__doc__ = docstrings.compose(
            cls.__doc__,
            [RecurrentLayer.__doc__, *sources, cls.cell_class.__doc__],
            list(cls.__signature__.parameters)[:-1] + ["**kwargs"],
        )

    @property
    def variables(self):
        # Like the state of a random generator, a meter's are no weights, but
        # training has to know them.
        found = super().variables
        return [*found, *self.meter.variables] if self.meter else found

    def build(self, sequences_shape, initial_state_shape=None):
        form = "(batch, timesteps, features)"
        checks.axes("sequences", sequences_shape, form, self, known=True)
        super().build(sequences_shape, initial_state_shape)
        self.state_size = self.cell.state_size
        if self.stateful:
            # On torch, Keras' own state variables are not updated in mixed
            # precision: what is assigned goes to a copy that was cast. Like
            # Keras' own, these are no weights, so they are not tracked.
            vars(self)["states"] = [
                keras.Variable(
                    ops.zeros(state.shape, dtype=state.dtype),
                    dtype=state.dtype,
                    trainable=False,
                    autocast=False,
                    name=f"state_{name}",
                )
                for name, state in zip(self.cell.state_names, self.states)
            ]

    def call(self, sequences, initial_state=None, mask=None, training=False):
        checks.float_dtype("sequences", sequences.dtype)
        self.cell.check_features("sequences", sequences)
        if sequences.shape[1] == 0:
            steps = "have at least one time step"
            raise checks.bad_shape("sequences", steps, sequences.shape, self)
        if initial_state is not None:
            self._check_initial_state(sequences, initial_state)
        return super().call(
            sequences,
            initial_state=initial_state,
            mask=mask,
            training=training,
        )

    def _check_initial_state(self, sequences, initial_state):
        if not isinstance(initial_state, (list, tuple)):
            initial_state = [initial_state]
        states = [ops.convert_to_tensor(s) for s in initial_state]
        self.cell.check_states("initial_state", states)
        batch = sequences.shape[0]
        for name, state in zip(self.cell.state_names, states):
            if None not in (batch, state.shape[0]) and batch != state.shape[0]:
                raise ValueError(
                    f"`initial_state` of {type(self).__name__} must have the "
                    f"batch size of `sequences`, {batch}. Received state "
                    f"{name} of shape: {tuple(state.shape)}."
                )

    def inner_loop(self, sequences, initial_state, mask, training=False):
        if training and native_loop.is_used(self, sequences, mask):
            return native_loop.run(self, sequences, initial_state, mask)
        return quantized_loop.run(
            self, self._run_loop, sequences, initial_state, mask, training
        )

    def _run_loop(self, sequences, initial_state, mask, training):
        if mask is None:
            return super().inner_loop(sequences, initial_state, None, training)
        if self.stateful:
            # The state variables are overwritten before gradients are taken.
            initial_state = [ops.copy(s) for s in initial_state]
        return loop.run(
            lambda inputs, states: self.cell(inputs, states, training=training),
            sequences,
            initial_state,
            output_size=self.cell.output_size,
            mask=mask,
            zero_output_for_mask=self.zero_output_for_mask,
            return_sequences=self.return_sequences,
            go_backwards=self.go_backwards,
            unroll=self.unroll,
        )

    def get_config(self):
        config = super().get_config()
        del config["cell"]
        cell_config = self.cell.get_config()
        for parameter in self.cell_class.arguments:
            config[parameter.name] = cell_config[parameter.name]
        config["activity_regularizer"] = keras.regularizers.serialize(
            self.activity_regularizer
        )
        config["implementation"] = self.implementation
        return config

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _from_cell(name):
    return property(
        lambda self: getattr(self.cell, name), doc=f"The cell's `{name}`."
    )
