"""A model as two C files."""

import dataclasses
import json
import pathlib
import re

import numpy as np

from keras_duspar import __version__
from keras_duspar.micro import program as programs
from keras_duspar.micro.detection import kept_settings
from keras_duspar.micro.detection import settings_of
from keras_duspar.micro.lowering import lower
from keras_duspar.tflite import converter
from keras_duspar.utils import checks
from keras_duspar.utils import files

_TEST_HOPS = 48  # several groups of the intent recognizer
_C_TYPES = {"floats": "float", "halves": "uint16_t", "bytes": "int8_t"}


@dataclasses.dataclass(frozen=True)
class Footprint:
    """What an exported model needs.

    Args:
        flash: Integer, bytes of constants, to which the code comes.
        ram: Integer, bytes of memory.
        macs: Float, multiply-accumulates per hop if nothing is zero.
        hops: Float, hops per second, or `None` if they are not known.
    """

    flash: int
    ram: int
    macs: float
    hops: float | None

    def __str__(self):
        per = f"{self.macs:,.0f} per hop"
        if self.hops:
            per += f", {self.macs * self.hops / 1e6:.3f} M/s"
        return (
            f"flash  {self.flash:,} bytes of weights and tables, and the code\n"
            f"RAM    {self.ram:,} bytes\n"
            f"MACs   {per}, dense"
        )


def export_c(
    model,
    folder,
    weights="float32",
    labels=None,
    representative=None,
    name=None,
    window=None,
    detector=None,
    report=print,
):
    """Writes a model as two C files that run it on a stream.

    `kws.h` and `kws.c`, for a folder `kws`, hold everything from samples to
    outputs: `kws_init()`, `kws_push()`, which takes the next samples of 16
    bits, `kws_output()` and `kws_reset()`. They are C99, need no library but
    `memcpy` and its like, allocate nothing, and keep the weights as constants.
    `kws_test.c` is a program that compares them with Keras.

    Args:
        model: A functional or sequential `keras.Model` that can be streamed,
            or the path of a `.keras` file.
        folder: String or `pathlib.Path`, where the files go.
        weights: As in `keras_duspar.tflite.convert()`. Default: `"float32"`.
        labels: List of strings, the names of the classes, kept in the files.
            Default: `None`, which stands for the model's own.
        representative: As in `keras_duspar.tflite.convert()`. Default: `None`.
        name: String, an identifier in C, how files and functions are called.
            Default: `None`, which stands for the folder's name.
        window: Float, seconds of which the model's averages over time are
            taken, for a stream without end. Default: `None`, which stands for
            everything since the last reset, as in Keras. With it, the files
            hold a detector, too, which tells the words that are heard.
        detector: What the detector uses: a dictionary of `thresholds`,
            `smoothing` and `refractory`, or the path of a `.tflite` file that
            keeps them and the window. Default: `None`, which stands for what
            `keras_duspar.streaming.Detector` does.
        report: Callable that takes a `Footprint`, or `None`. Default:
            `print`.

    Returns:
        The `pathlib.Path` of the folder.

    Example:

    ```python
    model = keras_duspar.models.keyword_spotter("duspar", 128)
    keras_duspar.export_c(model, "kws/")
    ```
    """
    folder = pathlib.Path(folder)
    name = _check_name(folder.name if name is None else name)
    if detector is not None and not isinstance(detector, dict):
        detector = kept_settings(detector)
        kept = detector.pop("window")
        window = kept if window is None else window
    lowered = lower(
        *(model, weights, labels, window),
        representative=representative,
        report=report,
    )
    source = Source(lowered, name, settings_of(lowered, detector))
    folder.mkdir(parents=True, exist_ok=True)
    texts = source.files().items()
    files.write_all({folder / path: text for path, text in texts})
    if report is not None:
        report(source.footprint())
    return folder


def _check_name(name):
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise checks.bad_value("name", "an identifier in C", name)
    return name


class Source:
    """The texts of the C files.

    Args:
        lowered: The `Lowering` of the model.
        name: String, an identifier.
        detector: Dictionary of the detector's settings, or `None` if there is
            no detector. Default: `None`.
    """

    def __init__(self, lowered, name, detector=None):
        self.lowered, self.name, self.labels = lowered, name, lowered.labels
        self.program, self.detector = lowered.program, detector
        if detector is not None:
            self.seconds = 1 / lowered.hops_per_second
            self.smoothing = max(1, round(detector["smoothing"] / self.seconds))

    def files(self):
        """Texts by the name of their file."""
        return {
            f"{self.name}.h": self._template("model.h", self._constants()),
            f"{self.name}.c": self._source(),
            f"{self.name}_test.c": self._template(
                "self_test.c", self._expected()
            ),
        }

    def footprint(self):
        """The `Footprint`, of 32-bit processors."""
        program = self.program
        words = sum(map(len, [*program.words(), *program.tables]))
        pools = (program.pool(pool).nbytes for pool in program.pools)
        rooms = [program.memory, 2 * program.entries, program.sums, 12]
        if self.detector is not None:  # the ring, and what it remembers
            rooms.append(self.smoothing * self.lowered.outputs[0].size + 24)
        return Footprint(
            4 * words + sum(pools),
            4 * sum(rooms),
            program.macs,
            self.lowered.hops_per_second,
        )

    def _template(self, file, text=""):
        """A file of the runtime, with a text in the place of its mark."""
        found = (programs.RUNTIME / file).read_text(encoding="utf-8")
        found = found.replace("model_", f"{self.name}_")
        found = found.replace("MODEL_", f"{self.name.upper()}_")
        found = found.replace('"model.h"', f'"{self.name}.h"')
        return re.sub(r"/\* (constants|expected) \*/", lambda _: text, found)

    def _define(self, values):
        return "\n".join(
            f"#define {self.name.upper()}_{key} {value}"
            for key, value in values.items()
        )

    def _constants(self):
        lowered, operands = self.lowered, self.program.operands
        stream = lowered.stream
        names = converter.output_names(lowered.model, None)
        text = self._define(
            {
                "SAMPLES": lowered.input.size,
                "SAMPLE_RATE": stream.sample_rate or 0,
                "DELAY": stream.delay,
                "TAKES_AUDIO": int(lowered.takes_audio),
                "MAKES_AUDIO": int(stream.signals[0].kind == "audio"),
                "OUTPUTS": len(lowered.outputs),
                "OPERANDS": len(operands),
                "DETECTS": int(self.detector is not None),
            }
        )
        lines = [
            f"output {i}: {output}, {x.size} floats"
            for i, (output, x) in enumerate(zip(names, lowered.outputs))
        ]
        lines += [
            f"operand {i}: {operand} of {layer}"
            for i, (layer, operand, _) in enumerate(operands)
        ]
        text += "\n\n/* " + "\n * ".join(lines) + " */"
        if self.labels:
            count = len(self.labels)
            text += f"\n\nextern const char* const {self.name}_labels[{count}];"
        return text

    def _source(self):
        name = self.name
        parts = [f"/* {name}: written by keras_duspar {__version__}. */"]
        for file in (*programs.SOURCES, None, "model.c"):
            if file is None:
                parts.append(self._data())
                continue
            text = self._template(file)
            # All files are one here.
            if self.detector is not None:
                decisions = self._template("decisions_template.h")
                text = text.replace(
                    '#include "decisions_template.h"\n', decisions
                )
            text = re.sub(r'^#include ".*"\n', "", text, flags=re.M)
            parts.append(text.strip())
        include = f'#include "{name}.h"'
        return "\n\n".join([parts[0], include, *parts[1:]]) + "\n"

    def _data(self):
        program, name = self.program, self.name
        operations = program.words()
        used = {kind for kind, _, _ in program.operations}
        products = {
            a
            for _, _, arguments in program.operations
            for a in arguments
            if isinstance(a, str) and a in programs.PRODUCTS
        }
        parts = [
            self._define(
                {
                    "WORDS": sum(map(len, operations)),
                    "MEMORY": program.memory,
                    "ENTRIES": program.entries,
                    "SUMS": program.sums,
                    "INPUT": program.place(self.lowered.input),
                }
            )
        ]
        for kind, names in (("operation", used), ("product", products)):
            rows = [f"  [{n}] = {n.lower()}," for n in sorted(names)]
            rows = rows or ["  0,"]  # C has no empty list
            size = f"{kind.upper()}S"
            parts.append(
                f"static {kind}* const {name}_{kind}s[{size}] = {{\n"
                + "\n".join(rows)
                + "\n};"
            )
        rows = [
            f"  /* {kind.lower()} */ {_numbers(words)},"
            for (kind, _, _), words in zip(program.operations, operations)
        ]
        rows += [f"  /* table */ {_numbers(t)}," for t in program.tables]
        parts.append(
            f"static const int32_t {name}_program[] = {{\n"
            + "\n".join(rows)
            + "\n};"
        )
        places = ", ".join(
            f"{{{program.place(x)}, {x.clock}}}" for x in self.lowered.outputs
        )
        count = len(self.lowered.outputs)
        parts.append(
            f"static const int32_t {name}_outputs[{count}][2] = {{{places}}};"
        )
        for pool in ("floats", "halves"):
            values = program.pool(pool)
            parts.append(_array(f"{_C_TYPES[pool]} {name}_{pool}", values))
        parts.append(_bytes(name, program.pool("bytes")))
        if self.detector is not None:
            parts += self._detection()
        if self.labels:
            texts = ", ".join(json.dumps(label) for label in self.labels)
            parts.append(f"const char* const {name}_labels[] = {{{texts}}};")
        return "\n\n".join(parts)

    def _detection(self):
        """What the detector of `runtime/model.c` needs."""
        kept = self.detector
        thresholds = [2 if t is None else t for t in kept["thresholds"]]
        numbers = {
            "CLASSES": len(thresholds),
            "SMOOTHING": self.smoothing,
            "QUIET": round(kept["refractory"] / self.seconds),
            "SECONDS": repr(float(self.seconds)),
            "WINDOW": repr(float(kept["window"])),
        }
        values = np.array(thresholds, "float32")
        declaration = f"float {self.name}_thresholds"
        return [self._define(numbers), _array(declaration, values)]

    def _expected(self):
        """What the model computes of the noise of the self-test."""
        hops, outputs = _TEST_HOPS, self.lowered.outputs
        values = self.lowered.expected(hops)
        # Pools and windows may need more until an output comes.
        while any(v.size < x.size for v, x in zip(values, outputs)):
            hops *= 2
            values = self.lowered.expected(hops)
        sizes = ", ".join(str(value.size) for value in values)
        name = self.name
        # An integer more or less in an operand changes the third digit.
        tolerance = 1e-4 if self.lowered.exact else 1e-2
        largest = max(1.0, *(np.abs(value).max() for value in values))
        text = self._define(
            {
                "TEST_HOPS": hops,
                "TOLERANCE": f"{tolerance * largest:.3g}f",
            }
        )
        text += f"\n\nstatic const int {name}_sizes[] = {{{sizes}}};\n"
        values = np.concatenate(values)
        text += f"static float {name}_latest[{values.size}];\n"
        return text + _array(f"float {name}_expected", values)


def _array(declaration, values):
    """An array of constants; C has none that is empty."""
    values = values if values.size else np.zeros(1, values.dtype)
    return f"static const {declaration}[] = {{\n{_rows(values)}\n}};"


def _bytes(name, values):
    """Bytes at the address of a word, so that words of them can be read."""
    values = values if values.size else np.zeros(1, "int8")
    return (
        "static const union {\n"
        f"  int8_t bytes[{values.size}];\n  int32_t words[1];\n"
        f"}} {name}_bytes = {{{{\n{_rows(values)}\n}}}};"
    )


def _rows(values):
    width = 8 if values.dtype == np.float32 else 16
    return "\n".join(
        f"  {_numbers(values[i : i + width])},"
        for i in range(0, len(values), width)
    )


def _numbers(values):
    if getattr(values, "dtype", None) == np.float32:
        return ", ".join(_float(value) for value in values)
    return ", ".join(map(str, values))


def _float(value):
    text = f"{value:.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")
