"""What a `.tflite` file contains."""

import collections
from dataclasses import dataclass

from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer


@dataclass
class Inspection:
    """What is in a `.tflite` file; `print()` shows it.

    Attributes:
        path: String, the file.
        size: Integer, bytes.
        signature: String, the name of its signature.
        inputs: Dictionary of input name to shape, -1 for any size, without
            the states.
        outputs: Dictionary of output name to shape, without the states.
        states: Dictionary of state name to shape.
        operators: Dictionary of operator name to how often it occurs.
        sparse: List of dictionaries, for every sparse operator: its `name`,
            `features`, `units`, the dtype of its kernels in `weights`, and
            its `options`, if the package flatbuffers is there to read them.
        description: Dictionary, what the file says of itself, or `None`.
    """

    path: str
    size: int
    signature: str
    inputs: dict
    outputs: dict
    states: dict
    operators: dict
    sparse: list
    description: dict

    def __str__(self):
        about = self.description
        lines = [f"{self.path}: {self.size:,} bytes"]
        if about is None:
            lines.append("not written by keras_duspar: no description")
        else:
            kind = "streaming" if about["streaming"] else "whole utterances"
            lines.append(
                f"{about['task']}, {kind}, {about['ops']} operators, "
                f"{about['weights']} weights, keras_duspar {about['version']}"
            )
            for key in ("sample_rate", "hop", "frames", "delay", "labels"):
                if about.get(key) is not None:
                    lines.append(f"{key}: {about[key]}")
        lines.append(f"signature {self.signature!r}")
        for title in ("inputs", "states", "outputs"):
            for name, shape in getattr(self, title).items():
                sizes = ["any" if n == -1 else str(n) for n in shape]
                lines.append(f"  {title[:-1]} {name} ({', '.join(sizes)})")
        lines.append("operators")
        lines += [f"  {n} x {name}" for name, n in self.operators.items()]
        if self.sparse:
            lines.append("sparse operators")
        for op in self.sparse:
            options = dict(op["options"])
            # int16 holds bfloat16, which TFLite does not know.
            weights = options.pop("weights", op["weights"])
            lines.append(
                f"  {op['name']}: {op['features']} features, {op['units']} "
                f"units, {weights} weights, options {options}"
            )
        return "\n".join(lines)


def inspect(path):
    """Tells what is in a `.tflite` file.

    Args:
        path: String or `pathlib.Path`, the file.

    Returns:
        An `Inspection`: print it, or read its attributes.

    Example:

    ```python
    print(keras_duspar.tflite.inspect("spotter.tflite"))
    ```
    """
    file = flatbuffer.read(path)
    about = description.decode(file)
    states = set((about or {}).get("states", []))
    signature, tensors = file.signatures[0], file.tensors[0]

    def shapes(indices, wanted):
        return {n: tensors[i].shape for n, i in indices.items() if wanted(n)}

    operators = collections.Counter(
        flatbuffer.operator_name(operator) for operator in file.operators
    )
    return Inspection(
        str(path),
        file.size,
        signature.name,
        shapes(signature.inputs, lambda name: name not in states),
        shapes(signature.outputs, lambda name: name not in states),
        shapes(signature.inputs, lambda name: name in states),
        dict(operators.most_common()),
        [
            _custom_operator(*found)
            for found in file.custom_operators()
            if found[0].custom != flatbuffer.FRONT_END
        ],
        about,
    )


def _custom_operator(operator, tensors):
    kernel = next(
        (i for i in operator.inputs if i >= 0 and tensors[i].constant), None
    )
    return {
        "name": operator.custom,
        "features": _width(operator.inputs, tensors),
        "units": _width(operator.outputs, tensors),
        "weights": kernel if kernel is None else tensors[kernel].dtype,
        "options": _read_options(operator.options),
    }


def _width(indices, tensors):
    """The last size of the first tensor; others' operators may have none."""
    shape = tensors[indices[0]].shape if indices else ()
    return shape[-1] if shape else None


def _read_options(content):
    try:
        from flatbuffers import flexbuffers  # noqa: PLC0415
    except ImportError:
        return {}
    try:
        return flexbuffers.Loads(content) if content else {}
    except Exception:  # the module trusts what it reads
        return {"damaged": len(content)}
