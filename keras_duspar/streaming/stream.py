"""A model that takes its input chunk by chunk."""

import keras
import numpy as np
from keras import ops

from keras_duspar.streaming.graph import Graph
from keras_duspar.streaming.layer_rules import DelayedOverlapAdd
from keras_duspar.streaming.layer_rules import FrontEnd
from keras_duspar.streaming.rules import Signal
from keras_duspar.streaming.sliding_mean import sliding_rules
from keras_duspar.utils import backends
from keras_duspar.utils import checks
from keras_duspar.utils.functional import functional
from keras_duspar.utils.joining import Join


class Stream:
    """Runs a trained model chunk by chunk, with the outputs of the whole.

    `step()` is a pure function of a chunk and the states, for compilers and
    converters. `push()` and `finish()` keep the states and take chunks of any
    length.

    What comes out depends on the model's output:

    - time steps: as many as the chunk completes, possibly none;
    - audio: as many samples as go in, `delay` samples later;
    - one vector for a recording, as of a keyword spotter: its value for
      everything up to now, or for the last seconds with `window`.

    Args:
        model: A `keras.Model` that is built, with one input: audio of shape
            `(batch, samples)` that goes into `LogMel` or `Frames`, or
            features of shape `(batch, timesteps, features)`. The `call()` of
            a subclassed one must use layers and `keras.ops`. It is not
            changed, and later changes of its weights are seen.
        frames: Positive integer, frames or time steps in a chunk. Default: 1.
        rules: Dictionary of layer classes to subclasses of `StreamRule` that
            take precedence over the registered ones, or `None`. Default:
            `None`.
        window: Float, the seconds that a mean over time, as a keyword
            spotter's, looks back. Default: `None`, everything up to now.

    Attributes:
        samples: Integer, samples or time steps in a chunk.
        hop: Integer, samples in a frame's hop, 1 if the input is features.
        sample_rate: Integer, samples per second, or `None` if the model does
            not say it.
        delay: Integer, samples by which audio comes late, else 0.
        states: Dictionary of `keras_duspar.streaming.State` by name.
        signals: List of the `keras_duspar.streaming.Signal` of each output.
        window: Float, the seconds of the window in whole chunks, or `None`.
        static: Boolean, whether every call computes tensors of the same
            shapes. If not, as with `frames=1` and pooling, `step()` cannot be
            compiled by JAX.

    Example:

    >>> model = keras_duspar.models.keyword_spotter("duspar", 8)
    >>> stream = keras_duspar.streaming.Stream(model)
    >>> stream.samples, list(stream.states)[:3]
    (256, ['log_mel/history', 'recurrent_1/f', 'recurrent_1/g'])
    >>> audio = np.random.normal(0, 0.1, (1, 1280)).astype("float32")
    >>> state = stream.initial_state()
    >>> for i in range(5):
    ...     chunk = audio[:, i * 256 : (i + 1) * 256]
    ...     logits, state = stream.step(chunk, state)
    >>> difference = keras.ops.max(keras.ops.abs(logits - model(audio)))
    >>> float(difference) < 1e-4
    True
    """

    def __init__(self, model, frames=1, rules=None, window=None):
        self.frames = checks.positive_integer("frames", frames)
        if not isinstance(model, keras.Model):
            raise checks.bad_value("model", "a `keras.Model`", model)
        self.model = model = functional(model)
        kind = _input_kind(model)
        rules, self.window = dict(rules or {}), None
        if window is not None:
            found, self.window = sliding_rules(model, self.frames, window)
            rules = found | rules
        signal = Signal(kind, steps=self.frames, most=self.frames)
        self.graph = Graph(model, [signal], rules)
        found = list(self.graph.rules())
        fronts = [rule for rule in found if isinstance(rule, FrontEnd)]
        if kind == "audio" and len(fronts) != 1:
            raise ValueError(
                "`model` must have one `Frames` or `LogMel` layer to be "
                f"streamed. Received {len(fronts)} in model {model.name!r}."
            )
        self._padding = None  # silence behind a recording, in samples
        self.hop, self.sample_rate = 1, None
        if fronts:
            front = fronts[0].frames
            self.hop, self.sample_rate = front.hop_length, front.sample_rate
            if front.padding == "full":
                self._padding = front.overlap
        for rule in found:
            if isinstance(rule, DelayedOverlapAdd) and rule.signal.cut:
                _check_lengths(rule, self.hop, self._padding)
        self.samples = self.frames * self.hop
        self.states = self.graph.states
        self.signals = self.graph.signals
        self.delay = max(s.delay for s in self.graph.signals)
        self.static = all(
            signal.steps is not None or signal.kind == "summary"
            for rule in found
            for signal in keras.tree.flatten(rule.signal)
        )
        self._compiled = None
        self.reset()

    def initial_state(self, batch_size=1):
        """The states before the first chunk.

        Args:
            batch_size: Positive integer. Default: 1.

        Returns:
            A dictionary of zeros by name.
        """
        batch_size = checks.positive_integer("batch_size", batch_size)
        return {n: s.zeros(batch_size) for n, s in self.states.items()}

    def step(self, chunk, state):
        """Runs the model on a chunk. A pure function.

        Args:
            chunk: Tensor of shape `(batch, samples)`, or
                `(batch, frames, features)` if that is the model's input. The
                last chunk of a recording may be shorter, by whole hops.
            state: Dictionary of states, as returned before.

        Returns:
            The outputs, in the structure of the model's, and the dictionary
            of new states.
        """
        if set(state) != set(self.states):
            raise ValueError(
                f"`state` must have the keys {sorted(self.states)}. Received: "
                f"{sorted(state)}."
            )
        chunk = ops.convert_to_tensor(chunk)
        self._check_chunk(chunk)
        state = {
            name: ops.convert_to_tensor(value, dtype=self.states[name].dtype)
            for name, value in state.items()
        }
        return self.graph.run([chunk], state)

    def _check_chunk(self, chunk):
        shape = tuple(self.model.inputs[0].shape)
        size = chunk.shape[1] if len(chunk.shape) == len(shape) else None
        if (
            len(chunk.shape) != len(shape)
            or (size is not None and (size % self.hop or not size))
            or chunk.shape[2:] != shape[2:]
        ):
            expected = ", ".join(map(str, ("batch", self.samples, *shape[2:])))
            raise checks.bad_value(
                "chunk",
                f"of shape `({expected})`",
                chunk,
                "`push()` takes any length.",
            )

    # Recordings

    def reset(self):
        """Drops what was pushed: the next samples start a new recording."""
        self._state = None
        self._waiting = None
        self._pushed = 0
        self._joins = [Join(s.kind, s.delay, s.cut) for s in self.signals]

    def push(self, samples):
        """Takes the next part of a recording.

        The step is compiled on the first call.

        Args:
            samples: Array of shape `(batch, n)`, of any length n, or
                `(batch, n, features)` if features are the model's input.

        Returns:
            The outputs that are complete, in the structure of the model's, as
            NumPy arrays. Of audio, the delay is left out. An output that is
            one vector for a recording is `None` before the first whole chunk.
        """
        samples = self._check_samples(samples)
        if self._state is None:
            self._state = {
                name: ops.convert_to_numpy(value)
                for name, value in self.initial_state(len(samples)).items()
            }
            self._waiting = samples[:, :0]
        self._pushed += samples.shape[1]
        return self._run(np.concatenate([self._waiting, samples], axis=1))

    def finish(self):
        """Ends the recording and prepares for the next one.

        What is left of the input is run. Samples that do not complete a hop
        are dropped, unless the front end fills them up with silence, as the
        speech enhancer's does.

        Returns:
            The outputs that are left, as `push()` returns them; together they
            are what the model makes of the whole recording.
        """
        if self._state is None:
            raise ValueError(
                "`finish()` ends what `push()` has begun. Nothing was pushed."
            )
        left = self._waiting
        if self._padding is not None:
            silence = self._padding + -self._pushed % self.hop
            if all(signal.cut for signal in self.graph.signals):
                # What is too much is cut off, and a chunk of the usual length
                # needs no compiling.
                silence += -(left.shape[1] + silence) % self.samples
            left = np.pad(left, [(0, 0), (0, silence)])
        outputs = self._run(left, last=True)
        self.reset()
        return outputs

    def _run(self, samples, last=False):
        """Runs all whole chunks, and the rest of the last if there is one."""
        results = []
        start, end = 0, samples.shape[1]
        while end - start >= (self.hop if last else self.samples):
            size = min(self.samples, (end - start) // self.hop * self.hop)
            outputs, self._state = self._compiled_step(
                samples[:, start : start + size], self._state
            )
            results.append(keras.tree.flatten(outputs))
            start += size
        self._waiting = samples[:, start:]
        joined = []
        for i, symbol in enumerate(keras.tree.flatten(self.graph.outputs)):
            shape = (len(samples), 0, *symbol.shape[2:])
            empty = np.zeros(shape, symbol.dtype)
            parts = [outputs[i] for outputs in results]
            length = self._pushed if last else None
            joined.append(self._joins[i](parts, empty, length))
        return keras.tree.pack_sequence_as(self.graph.outputs, joined)

    def _check_samples(self, samples):
        samples = np.asarray(ops.convert_to_numpy(samples))
        symbol = self.model.inputs[0]
        expected = ", ".join(map(str, ("batch", "n", *symbol.shape[2:])))
        fits = (
            samples.ndim == len(symbol.shape)
            and samples.shape[0] > 0
            and samples.shape[2:] == tuple(symbol.shape[2:])
            and np.issubdtype(samples.dtype, np.number)
        )
        if not fits:
            raise checks.bad_value(
                "samples", f"numbers of shape `({expected})`", samples
            )
        if samples.ndim == 2 or samples.dtype.kind == "f":
            checks.samples("samples", samples)
        if samples.ndim == 2:  # audio
            checks.loudness("samples", samples)
        if self._state is not None and len(samples) != len(self._waiting):
            raise checks.bad_value(
                "samples",
                f"of the batch size of those before, {len(self._waiting)}",
                samples,
                "`reset()` starts a new recording.",
            )
        return samples.astype(symbol.dtype)

    def _compiled_step(self, chunk, state):
        if self._compiled is None:
            self._compiled = _CompiledStep(self)
        return self._compiled.predict_on_batch({"chunk": chunk, "state": state})


class _CompiledStep(keras.Model):
    """A step as a model, which every backend compiles in its own way."""

    def __init__(self, stream):
        super().__init__(name="step")
        self.streamed = stream.model  # its weights are this model's
        vars(self)["stream"] = stream
        self.compile(**backends.compile_options(stream.static))
        self.built = True

    def call(self, inputs):
        return self.stream.step(inputs["chunk"], inputs["state"])


def _input_kind(model):
    shapes = [tuple(x.shape) for x in getattr(model, "inputs", None) or []]
    if len(shapes) != 1 or len(shapes[0]) not in (2, 3):
        raise ValueError(
            "`model` must be built and have one input, of shape `(batch, "
            "samples)` or `(batch, timesteps, features)`. Received inputs of "
            f"shapes: {shapes}."
        )
    return "audio" if len(shapes[0]) == 2 else "frames"


def _check_lengths(rule, hop, padding):
    if rule.layer.hop_length != hop or rule.overlap != padding:
        raise rule.error(
            "makes audio as long as the model's input, for which the input "
            "must go through `Frames` of the same lengths with "
            '`padding="full"`'
        )
