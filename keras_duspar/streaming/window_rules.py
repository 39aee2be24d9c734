"""The rules of layers that compute each output from a window of time steps."""

import contextlib
import dataclasses

import keras
from keras import ops

from keras_duspar.audio import TemporalPooling
from keras_duspar.streaming.rules import State
from keras_duspar.streaming.rules import StreamRule
from keras_duspar.streaming.rules import register_stream


@register_stream(keras.layers.ZeroPadding1D)
class LeadingZeros(StreamRule):
    """Zeros before the first time step: the windows behind begin with them."""

    def __init__(self, layer, signals):
        super().__init__(layer, signals)
        before, after = layer.padding
        if after or layer.data_format != "channels_last":
            raise self.error(
                "adds zeros behind the last time step, which a stream does "
                "not have. Use `padding=(n, 0)`"
            )
        self.signal = dataclasses.replace(self.signal, lead=before)

    def step(self, states, inputs):
        return inputs, {}


class Windows(StreamRule):
    """Runs a layer on the windows that are complete.

    Where windows begin at the same places in every chunk, shapes are static;
    else it is counted how many time steps wait for the next window.

    Args:
        layer: The layer.
        signals: List of the `Signal` of its input.
        length: Integer, time steps in a window.
        stride: Integer, time steps from one window to the next.
        before: Integer, zeros that the layer puts before the first step.
    """

    takes_lead = True

    def __init__(self, layer, signals, length, stride, before=0):
        super().__init__(layer, signals)
        if getattr(layer, "data_format", "channels_last") != "channels_last":
            raise self.error('needs `data_format="channels_last"`')
        self.length, self.stride = length, stride
        self.before = before + self.signal.lead
        if self.before >= length:
            raise self.error(
                f"has {self.before} zeros before the first time step, and its "
                f"windows of {length} take {length - 1} at most"
            )
        self.steps = steps = self.signal.steps
        most = self.signal.most
        even = stride == 1 or (steps is not None and steps % stride == 0)
        self.whole = even and self.before >= length - stride
        self.kept = self.before if self.whole else length - 1
        self.states = {}
        if self.kept:
            shape = (None, self.kept, self.signal.features)
            self.states["history"] = State(shape, layer.compute_dtype)
        if not self.whole:
            # Of the time steps that wait, those that do not at the start.
            self.states["count"] = State((), "int32")
        self.signal = dataclasses.replace(
            self.signal,
            steps=steps and steps // stride if self.whole else None,
            most=-(-most // stride),
            lead=0,
        )

    def step(self, states, inputs):
        inputs = ops.cast(inputs, self.layer.compute_dtype)
        batch, steps, features = ops.shape(inputs)
        joined, new = inputs, {}
        if self.kept:
            joined = ops.concatenate([states["history"], inputs], axis=1)
            new["history"] = ops.reshape(
                joined[:, -self.kept :], (batch, self.kept, features)
            )
        # The last chunk of a recording may be shorter.
        if self.whole and self.steps == inputs.shape[1] is not None:
            return self.run(joined), new
        waiting = self.before + states.get("count", 0)
        start = self.kept - waiting
        waiting = waiting + steps
        complete = (waiting - self.length) // self.stride + 1
        # Where it is known, it stays a number, by which JAX can cut.
        known = isinstance(complete, int)
        complete = max(complete, 0) if known else ops.maximum(complete, 0)
        if not self.whole:
            # Less than none if the next window begins later.
            new["count"] = waiting - complete * self.stride - self.before
        return self.run_some(joined, start, complete), new

    def run_some(self, inputs, start, count):
        """The outputs of `count` windows from `start` on, maybe of none.

        As many are computed as there may be at most: TFLite's convolutions
        take neither no window nor sizes that change.
        """
        size = (self.signal.most - 1) * self.stride + self.length
        room = size + max(self.stride - self.length, 0)
        inputs = ops.pad(inputs, [[0, 0], [0, room], [0, 0]])
        batch, _, features = ops.shape(inputs)
        inputs = inputs[:, start : start + size]
        inputs = ops.reshape(inputs, (batch, size, features))
        return self.run(inputs)[:, :count]

    def run(self, inputs):
        """The outputs of all windows of a tensor that has at least one."""
        with _valid(self.layer):
            return self.layer(inputs)


@contextlib.contextmanager
def _valid(layer):
    """A context in which a layer pads nothing."""
    padding = layer.padding
    layer.padding = "valid"
    try:
        yield
    finally:
        layer.padding = padding


@register_stream(keras.layers.Conv1D)
@register_stream(keras.layers.DepthwiseConv1D)
@register_stream(keras.layers.SeparableConv1D)
class Convolution(Windows):
    """Keeps the time steps that the next outputs look back to."""

    def __init__(self, layer, signals):
        self.layer = layer
        if layer.padding == "same":
            raise self.error(
                'looks ahead: it has `padding="same"`. Use `padding="causal"` '
                "or, where a layer has none, `keras.layers.ZeroPadding1D((n, "
                '0))` and `padding="valid"`'
            )
        back = (layer.kernel_size[0] - 1) * layer.dilation_rate[0]
        before = back if layer.padding == "causal" else 0
        super().__init__(layer, signals, back + 1, layer.strides[0], before)


@register_stream(keras.layers.MaxPooling1D)
class Pooling(Windows):
    """Returns what a pool makes of its group once that is complete."""

    def __init__(self, layer, signals):
        self.layer = layer
        if getattr(layer, "padding", "valid") != "valid":
            raise self.error(
                f"fills up the last group: it has `padding={layer.padding!r}`. "
                'Use `padding="valid"`'
            )
        size, stride = (
            keras.tree.flatten(x)[0] for x in (layer.pool_size, layer.strides)
        )
        super().__init__(layer, signals, size, stride)


@register_stream(keras.layers.AveragePooling1D)
@register_stream(TemporalPooling)
class Averages(Pooling):
    """Pools whose groups do not overlap need only their sum.

    If a call brings at most one time step, that takes half the time of the
    general case in a `.tflite` file.
    """

    def __init__(self, layer, signals):
        super().__init__(layer, signals)
        alone = self.stride == self.length and signals[0].most == 1
        if alone and not self.whole and not self.before:
            dtype = keras.backend.result_type(layer.compute_dtype, "float32")
            features = self.signal.features
            self.states = {
                "sum": State((None, features), dtype),
                "count": State((), "int32"),
            }

    def step(self, states, inputs):
        if "sum" not in states:
            return super().step(states, inputs)
        inputs = ops.cast(inputs, states["sum"].dtype)
        # Joined first: LiteRT 1.1 does not take the sum of no steps for zero.
        steps = [ops.expand_dims(states["sum"], 1), inputs]
        total = ops.sum(ops.concatenate(steps, axis=1), axis=1)
        count = states["count"] + ops.shape(inputs)[1]
        complete = count // self.length  # 0 or 1
        averages = ops.expand_dims(total / self.length, 1)[:, :complete]
        averages = ops.cast(averages, self.layer.compute_dtype)
        total = ops.where(complete > 0, ops.zeros_like(total), total)
        return averages, {"sum": total, "count": count % self.length}

    def run_some(self, inputs, start, count):
        if isinstance(self.layer, TemporalPooling):
            return self.layer.average(inputs[:, start:])
        return super().run_some(inputs, start, count)

    def run(self, inputs):
        if isinstance(self.layer, TemporalPooling):
            return self.layer.average(inputs)
        return super().run(inputs)
