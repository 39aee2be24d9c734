"""The loop over time, with masks that mean the same on every backend."""

import keras
from keras import ops


def run(
    step,
    sequences,
    initial_state,
    output_size,
    mask=None,
    zero_output_for_mask=False,
    return_sequences=True,
    go_backwards=False,
    unroll=False,
    output_dtype=None,
):
    """Runs a step function over the time axis of `sequences`.

    Keras' own loops disagree about masks: the JAX loop repeats the first
    state, not the output, at a masked step, and unrolled loops ignore
    `zero_output_for_mask` or read the mask forwards when they go backwards.
    Here the mask travels with the sequence as one more feature, and the
    previous output as one more state, so that no loop has to handle it.

    Args:
        step: Callable that takes `(inputs, states)` and returns
            `(output, new_states)`.
        sequences: A 3D tensor, with shape `(batch, timesteps, features)`.
        initial_state: List of 2D tensors.
        output_size: Integer, the number of features of the output.
        mask: Optional boolean tensor of shape `(batch, timesteps)`. At a
            step that is `False` the states stay as they are and the output
            is that of the step before, or zero before the first valid step.
        zero_output_for_mask: Boolean, whether the output is zero at every
            masked step instead.
        return_sequences: Boolean, whether all outputs are needed.
        go_backwards: Boolean, whether time runs backwards.
        unroll: Boolean, whether to unroll the loop.
        output_dtype: String, dtype of the output if it is not that of
            `sequences`.

    Returns:
        The last output, the outputs and the list of final states.
    """
    if mask is not None:
        step, sequences, initial_state = with_mask(
            step,
            sequences,
            initial_state,
            mask,
            output_size,
            zero_output_for_mask,
            output_dtype,
        )
    rnn = keras.layers.RNN(
        _StepCell(step, output_size),
        return_sequences=return_sequences,
        go_backwards=go_backwards,
        unroll=unroll,
        name="loop",
    )
    last_output, outputs, states = rnn.inner_loop(
        sequences, initial_state, mask=None
    )
    return last_output, outputs, list(states)[0 if mask is None else 1 :]


def over_valid_steps(run, sequences, mask, zero_output_for_mask=False):
    """The outputs of a loop that knows no masks, as if it knew them.

    Valid steps come first, in their order, so that what follows them changes
    none of their outputs; these then go back to where they belong. The final
    states of the loop are not those of the last valid step.

    Args:
        run: Callable that takes the sequences and the largest number of valid
            steps, and returns outputs for at least so many steps.
        sequences: As the others, an argument of `run()`.

    Returns:
        The outputs of all steps.
    """
    mask = ops.cast(mask, "int32")
    steps = ops.shape(mask)[1]
    order = ops.argsort(ops.arange(steps) + steps * (1 - mask), axis=1)
    sequences = _pick(sequences, order)
    valid = ops.cumsum(mask, axis=1)
    outputs = run(sequences, ops.max(valid))
    outputs = _pick(outputs, ops.maximum(valid - 1, 0))
    shown = ops.expand_dims(mask if zero_output_for_mask else valid, -1)
    return ops.where(shown > 0, outputs, ops.zeros_like(outputs))


def _pick(sequences, places):
    """The steps at given places of each sequence, in a way TFLite has."""
    batch, steps, features = ops.shape(sequences)
    starts = ops.expand_dims(ops.arange(batch) * steps, 1)
    rows = ops.reshape(sequences, (-1, features))
    return ops.take(rows, starts + places, axis=0)


def with_mask(
    step,
    sequences,
    initial_state,
    mask,
    output_size,
    zero_output_for_mask=False,
    output_dtype=None,
):
    """A step function, its sequences and states that include the mask.

    The arguments are those of `run()`.

    Returns:
        The step function, the sequences with one more feature, and the list
        of states, of which the first is the output of the last valid step.
    """
    mask = ops.cast(mask, sequences.dtype)
    sequences = ops.concatenate([sequences, ops.expand_dims(mask, -1)], axis=-1)
    no_output = ops.zeros(
        (ops.shape(sequences)[0], output_size),
        dtype=output_dtype or sequences.dtype,
    )
    step = _masked(step, zero_output_for_mask)
    return step, sequences, [no_output, *initial_state]


class _StepCell:
    """Makes a step function look like a cell to `keras.layers.RNN`."""

    def __init__(self, step, output_size):
        self.call = step
        self.state_size = [output_size]

    def __call__(self, inputs, states):
        return self.call(inputs, states)


def _masked(step, zero_output_for_mask):
    def masked_step(inputs, states):
        valid = inputs[:, -1:] > 0
        previous_output, *states = states
        output, new_states = step(inputs[:, :-1], states)
        new_states = [
            ops.where(valid, new, old) for new, old in zip(new_states, states)
        ]
        held = ops.where(valid, output, previous_output)
        if zero_output_for_mask:
            output = ops.where(valid, output, ops.zeros_like(output))
        else:
            output = held
        return output, [held, *new_states]

    return masked_step
