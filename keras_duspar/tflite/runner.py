"""Runs `.tflite` files, on whole inputs or as streams."""

import numpy as np

from keras_duspar.models import preset_files
from keras_duspar.tflite.arrays import check_array
from keras_duspar.tflite.file_interpreter import FileInterpreter
from keras_duspar.utils import checks
from keras_duspar.utils.incoming import Incoming
from keras_duspar.utils.joining import Join


def load(
    path,
    delegate=True,
    num_threads=1,
    streaming=False,
    runtime="interpreter",
):
    """Loads a `.tflite` file to run it.

    Args:
        path: String or `pathlib.Path`, the file. A string may also be the name
            of one of `keras_duspar.models.presets()`.
        delegate: Boolean, whether to load the delegate, which sparse
            operators need. A file of built-in operators runs without it.
            Default: `True`.
        num_threads: Positive integer, threads for built-in operators, and
            for the sequences of a batch in sparse ones. Default: 1.
        streaming: Boolean, of a preset, whether to load its file that takes
            chunks rather than the one for whole recordings. Default: `False`.
        runtime: String, `"interpreter"` or `"compiled"`: LiteRT's interpreter
            with the delegate, or the compiled model of LiteRT 2, which has
            kernels in its place. Default: `"interpreter"`.

    Returns:
        A `Runner`.

    Example:

    ```python
    runner = keras_duspar.tflite.load("spotter.tflite")
    logits = runner(audio)
    print(runner.occupancy())
    ```
    """
    if preset_files.names_preset(path):
        folder = preset_files.preset_folder(path, "path", or_file=True)
        file = preset_files.STREAMING if streaming else preset_files.WHOLE
        path = folder / file
    elif streaming:
        raise checks.bad_value(
            "streaming",
            "False unless `path` is a preset",
            streaming,
            "Whether a file streams is chosen when it is converted.",
        )
    return Runner(path, delegate, num_threads, runtime)


class Runner(FileInterpreter):
    """A `.tflite` file that is ready to run.

    A file of whole utterances is called on an input. A streaming file takes
    chunks in `step()`; called on a whole input, it runs through it from
    states of zeros. Samples at the end that fill no chunk are dropped, unless
    the output is audio, which is as long as the input.

    Args:
        path: String or `pathlib.Path`, the file.
        delegate: Boolean, as in `load()`.
        num_threads: Positive integer, as in `load()`.
        runtime: String, as in `load()`.

    Attributes:
        task: String, what the model does, or `None`.
        labels: List of strings, the classes, or `None`.
        sample_rate: Integer, samples per second, or `None`.
        hop: Integer, samples from one frame to the next, or `None`.
        streaming: Boolean, whether the file takes chunks.
        samples: Integer, samples (or time steps) in a chunk of a streaming
            file, else `None`.
        delay: Integer, samples by which audio comes out late.
        window: Float, the seconds that a spotter's scores look back, or
            `None`: everything since the last reset.
        ops: String, `"sparse"` or `"builtin"`.
        weights: String, how sparse operators store their kernels.
        inputs: Dictionary of input name to shape, with -1 for any size.
        outputs: Dictionary of output name to shape.
        states: Dictionary of state name to shape.
        description: Dictionary, all that the file says of itself.
    """

    def __init__(
        self, path, delegate=True, num_threads=1, runtime="interpreter"
    ):
        num_threads = checks.positive_integer("num_threads", num_threads)
        checks.choice("runtime", runtime, ["interpreter", "compiled"])
        super().__init__(path, delegate, num_threads, runtime)
        if self.streaming:
            self._incoming = Incoming(self.samples, self.sample_rate)

    # Whole inputs

    def __call__(self, inputs):
        """Runs the file on a whole input.

        Args:
            inputs: Array, with or without a batch axis; a dictionary of
                arrays if the file has several inputs.

        Returns:
            An array, or a dictionary of arrays if there are several outputs,
            with a batch axis if the input has one.
        """
        expected = self.inputs
        if self.streaming:  # as long and as many as one likes
            expected = {n: (-1, -1, *s[2:]) for n, s in expected.items()}
        inputs, single = self._check_inputs(inputs, expected)
        if self.streaming:
            outputs = self._stream(next(iter(inputs.values())))
        else:
            outputs = self._run_whole(inputs)
        return self._pack(outputs, single)

    def _run_whole(self, inputs):
        shapes = {name: x.shape for name, x in inputs.items()}
        if shapes != self._sizes:
            self._allocate(shapes)
        for name, x in inputs.items():
            self._interpreter.set_tensor(self.signature.inputs[name], x)
        self._invoke(batch_size=len(x))
        return {name: self._get(name) for name in self.outputs}

    def _pack(self, outputs, single):
        if single:
            outputs = {name: y[0] for name, y in outputs.items()}
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return outputs

    def _check_inputs(self, inputs, expected):
        """The inputs by name with a batch axis, and whether one was added."""
        if not isinstance(inputs, dict):
            if len(expected) > 1:
                raise checks.bad_value(
                    "inputs", f"a dictionary of {sorted(expected)}", inputs
                )
            inputs = {next(iter(expected)): inputs}
        if set(inputs) != set(expected):
            raise ValueError(
                f"`inputs` must have the keys {sorted(expected)}. Received: "
                f"{sorted(inputs)}."
            )
        checked, singles = {}, set()
        for name, shape in expected.items():
            tensor = self.file.tensors[0][self.signature.inputs[name]]
            x, single = check_array(name, inputs[name], shape, tensor.dtype)
            if self._is_audio(x):
                checks.loudness(name, x)
                if x.shape[1] < self.hop:
                    raise ValueError(
                        f"`{name}` must be at least one frame of {self.hop} "
                        "samples long. Received shape: "
                        f"{np.shape(inputs[name])}, which is read as "
                        "(samples,) or (batch, samples)."
                    )
            checked[name] = x
            singles.add(single)
        return checked, singles == {True}

    def _is_audio(self, batch):
        return bool(self.hop) and batch.ndim == 2

    # Streams

    def step(self, chunk):
        """Runs the next chunk of a stream.

        Args:
            chunk: Array of `samples` new samples, or of that many time steps
                with their features; a batch axis of size 1 may come first.

        Returns:
            What is new of the output: an array, or a dictionary of arrays if
            there are several outputs, with a batch axis if the chunk has one.
        """
        if not self.streaming:
            raise self._not_streaming("step()")
        ((name, shape),) = self.inputs.items()
        x, single = check_array(name, chunk, shape, "float32")
        if self._is_audio(x):
            checks.loudness(name, x)
        return self._pack(self._step(x), single)

    def push(self, samples, rate=None):
        """Takes what was recorded, as it comes.

        Nothing that comes in can break the stream: NaN is silence, what is
        beyond full scale is cut off there, and states that are no numbers any
        more begin anew.

        Args:
            samples: Array of shape `(n,)` and any length, of int16, or of
                floats from -1 to 1.
            rate: Integer, samples per second, from 8000 to 48000. Default:
                `None`, the model's rate.

        Returns:
            A list of what `step()` returns for each chunk that is full, maybe
            none. Samples that fill no chunk wait for those of the next call.
        """
        if not self.streaming or len(next(iter(self.inputs.values()))) != 2:
            raise self._not_streaming("push()", " of audio")
        found = []
        for chunk in self._incoming(samples, rate):
            outputs = self._step(chunk[np.newaxis])
            if not all(np.isfinite(y).all() for y in outputs.values()):
                self._zero_states()
                outputs = {n: np.zeros_like(y) for n, y in outputs.items()}
            found.append(self._pack(outputs, single=True))
        return found

    def _not_streaming(self, method, kind=""):
        return ValueError(
            f"`{method}` needs a streaming file{kind}. Received: "
            f"{self.path!r}. A file that takes whole inputs is called, or "
            "converted with `streaming=True`."
        )

    def reset(self):
        """Begins a new stream: sets all states to zero."""
        if not self.streaming:
            raise self._not_streaming("reset()")
        self._incoming.reset()
        self._zero_states()

    def _stream(self, batch):
        """Streams through every example of a batch."""
        found = [self._stream_one(example[np.newaxis]) for example in batch]
        return {
            name: np.concatenate([outputs[name] for outputs in found])
            for name in self.outputs
        }

    def _stream_one(self, x):
        kinds = self.description["outputs"]
        if x.shape[1] < self.samples and all(
            output["kind"] != "audio" for output in kinds
        ):
            raise ValueError(
                f"`inputs` must fill a chunk of {self.samples}. Received "
                f"{x.shape[1]}."
            )
        parts = list(self._stream_blocks([x]))
        return {
            output["name"]: parts[-1][output["name"]]
            if output["kind"] == "summary"
            else np.concatenate([p[output["name"]] for p in parts], axis=1)
            for output in kinds
        }

    def stream(self, blocks):
        """Runs a streaming file on a recording that comes block by block.

        Args:
            blocks: Iterable of arrays of new samples, as many as there are,
                or of time steps with their features; a batch axis of size 1
                may come first.

        Yields:
            For each block, and once more at the end, what is new of the
            output: an array, or a dictionary of arrays if there are several
            outputs, with a batch axis. Of audio, the delay is left out. An
            output that is one vector for a recording is its value up to now,
            `None` before the first chunk is full.
        """
        if not self.streaming:
            raise self._not_streaming("stream()")
        ((name, shape),) = self.inputs.items()
        shape = (1, -1, *shape[2:])
        checked = (
            check_array(name, block, shape, "float32")[0]
            for block in blocks
            if np.size(block)
        )
        for outputs in self._stream_blocks(checked):
            yield self._pack(outputs, single=False)

    def _stream_blocks(self, blocks):
        """Yields the outputs by name, from states of zeros."""
        self.reset()
        kinds = {o["name"]: o["kind"] for o in self.description["outputs"]}
        joins = {
            o["name"]: Join(o["kind"], o["delay"], o["kind"] == "audio")
            for o in self.description["outputs"]
        }

        def join(steps, length=None):
            outputs = {}
            for name, add in joins.items():
                shape = (1, 0, *self.outputs[name][2:])
                parts = [step[name] for step in steps]
                outputs[name] = add(parts, np.zeros(shape, "float32"), length)
            return outputs

        waiting, length = None, 0
        for block in blocks:
            length += block.shape[1]
            if waiting is not None:
                block = np.concatenate([waiting, block], axis=1)
            waiting, steps = self._run_chunks(block)
            yield join(steps)
        steps = []
        if waiting is not None and "audio" in kinds.values():
            # Silence, until the last sample has come out.
            silence = self.delay + -(length + self.delay) % self.samples
            waiting = np.pad(waiting, [(0, 0), (0, silence)])
            _, steps = self._run_chunks(waiting)
        yield join(steps, length)
        self.reset()

    def _run_chunks(self, x):
        """What fills no chunk, and the outputs of the chunks before it."""
        size = self.samples
        end = x.shape[1] // size * size
        steps = [self._step(x[:, i : i + size]) for i in range(0, end, size)]
        return x[:, end:], steps

    # Counts

    def occupancy(self):
        """Share of the entries that were not zero, since the last reset.

        Returns:
            A dictionary of layer name to a dictionary of operand name to a
            number from 0 to 1, for the recurrent layers whose operands are
            counted.
        """
        return self._counting.occupancy()

    def profile(self, steps_per_second=None):
        """What was multiplied since the counters were last reset.

        Args:
            steps_per_second: Float, how often the first recurrent layer runs
                in a second. Default: as often as the front end makes frames,
                or once.

        Returns:
            A `keras_duspar.profiling.Profile`, as `keras_duspar.profile()`
            makes it of the Keras model. Its curves over time are one point,
            the mean.
        """
        if steps_per_second is not None:
            steps_per_second = checks.number(
                "steps_per_second", steps_per_second, "(0, inf)"
            )
        return self._counting.profile(self.path, steps_per_second)

    def reset_counters(self):
        """Sets all counters to zero."""
        self._counting.reset()
