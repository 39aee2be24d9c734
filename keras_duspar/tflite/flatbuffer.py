"""What a `.tflite` file holds, read with the schema module of the runtime."""

import functools
import importlib
import pathlib
from dataclasses import dataclass

CUSTOM = 32  # the code of every operator that is not built in
FRONT_END = "DuSpaRLogMel"  # the one of these that has no sparse operands


@functools.cache
def schema():
    """The schema module of LiteRT or, without it, of TensorFlow."""
    try:
        return importlib.import_module("ai_edge_litert.schema_py_generated")
    except ImportError:
        return importlib.import_module(
            "tensorflow.lite.python.schema_py_generated"
        )


@dataclass
class Tensor:
    """A tensor of a graph; a size of -1 in `shape` may vary."""

    name: str
    shape: tuple
    dtype: str
    constant: bool


@dataclass
class Operator:
    """An operator: `custom` is the name of one that is not built in."""

    code: int
    custom: str
    inputs: list
    outputs: list
    options: bytes


@dataclass
class Signature:
    """Names of inputs and outputs, and the numbers of their tensors."""

    name: str
    inputs: dict
    outputs: dict


def read(path):
    """Reads and parses a `.tflite` file.

    Args:
        path: String or `pathlib.Path`.

    Returns:
        A `File`.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise ValueError(
            f"`path` must be a .tflite file. Received: path={str(path)!r}, "
            "where there is no file."
        )
    return File(path.read_bytes(), repr(str(path)))


class File:
    """A parsed `.tflite` file.

    Args:
        data: The bytes of the file.
        name: String, what error messages call it.

    Attributes:
        graphs: List of lists of `Operator`, the main graph first.
        tensors: List of lists of `Tensor`, one per graph.
        ends: Numbers of the main graph's inputs, and of its outputs.
        signatures: List of `Signature`, at least one.
        metadata: Dictionary of name to bytes.
    """

    def __init__(self, data, name="the data"):
        if bytes(data[4:8]) != b"TFL3":
            raise ValueError(
                f"`path` must be a .tflite file. Received: {name}, whose "
                "contents are something else."
            )
        self.size = len(data)
        try:
            found = schema().Model.GetRootAsModel(data, 0)
            self._take(schema().ModelT.InitFromObj(found))
        except Exception as e:  # the module trusts what it reads
            raise ValueError(
                f"`path` must be a whole .tflite file. Received: {name}, "
                f"which is cut off or damaged ({e})."
            ) from e

    def _take(self, model):
        contents = [_bytes(buffer.data) for buffer in model.buffers]
        self.tensors = [
            [_tensor(tensor, contents) for tensor in graph.tensors]
            for graph in model.subgraphs
        ]
        self.graphs = [
            [_operator(operator, model) for operator in graph.operators or ()]
            for graph in model.subgraphs
        ]
        self.signatures = [
            Signature(
                _text(s.signatureKey), *map(_names, (s.inputs, s.outputs))
            )
            for s in model.signatureDefs or ()
        ]
        main = model.subgraphs[0]
        self.ends = [_integers(main.inputs), _integers(main.outputs)]
        self._check_tensors(model.signatureDefs or ())
        if not self.signatures:
            names = map(self._own_names, self.ends)
            self.signatures = [Signature("", *names)]
        self.metadata = {
            _text(entry.name): contents[entry.buffer]
            for entry in model.metadata or ()
        }

    def _check_tensors(self, definitions):
        """Raises if a tensor is named that there is not; -1 stands for none."""
        named = [(self.tensors[0], end) for end in self.ends]
        for tensors, graph in zip(self.tensors, self.graphs):
            for operator in graph:
                named += [(tensors, operator.inputs)]
                named += [(tensors, operator.outputs)]
        for i, (found, made) in enumerate(zip(self.signatures, definitions)):
            # The first one is what is run, in the main graph.
            tensors = self.tensors[made.subgraphIndex if i else 0]
            for names in (found.inputs, found.outputs):
                named.append((tensors, names.values()))
        for tensors, indices in named:
            for index in indices:
                if not -1 <= index < len(tensors):
                    raise ValueError(f"tensor {index} of {len(tensors)}")

    def _own_names(self, indices):
        """Inputs or outputs of a file without signatures, by their tensors."""
        return {self.tensors[0][i].name: i for i in indices}

    @property
    def operators(self):
        """All operators of all graphs."""
        return [operator for graph in self.graphs for operator in graph]

    def custom_operators(self):
        """Pairs of a custom operator and the tensors of its graph."""
        return [
            (operator, tensors)
            for graph, tensors in zip(self.graphs, self.tensors)
            for operator in graph
            if operator.code == CUSTOM
        ]


def _tensor(tensor, contents):
    shape = _integers(tensor.shapeSignature) or _integers(tensor.shape)
    return Tensor(
        _text(tensor.name),
        tuple(shape),
        _enumerated("TensorType").get(tensor.type, "other").lower(),
        bool(contents[tensor.buffer]),
    )


def _operator(operator, model):
    code = model.operatorCodes[operator.opcodeIndex]
    return Operator(
        # Codes that do not fit into the old field are in the new one.
        max(code.deprecatedBuiltinCode, code.builtinCode),
        _text(code.customCode),
        _integers(operator.inputs),
        _integers(operator.outputs),
        _bytes(operator.customOptions),
    )


def _names(entries):
    return {_text(e.name): e.tensorIndex for e in entries or ()}


# What is absent from a file is `None`.
def _text(value):
    return (value or b"").decode()


def _bytes(value):
    return b"" if value is None else bytes(value)


def _integers(values):
    return [] if values is None else [int(value) for value in values]


@functools.cache
def _enumerated(name):
    """Names of an enumeration of the schema by code."""
    members = vars(getattr(schema(), name)).items()
    return {code: key for key, code in members if isinstance(code, int)}


def operator_name(operator):
    """Readable name of an operator."""
    if operator.code == CUSTOM:
        return operator.custom
    names = _enumerated("BuiltinOperator")
    return names.get(operator.code, f"builtin {operator.code}")
