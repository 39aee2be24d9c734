"""A few changed files for each reader, and those that once were too much."""

import json

import flatbuffers
import pytest

from keras_duspar.tflite import description
from keras_duspar.tflite import flatbuffer
from tests.conftest import ROOT
from tests.fuzz import hostile

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("name", hostile.TARGETS)
def test_a_result_or_one_of_our_errors(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "recipes")
    done, error = hostile.run(name, cases=20, seed=1, folder=tmp_path)
    assert (done, error) == (20, None)


def test_errors_of_others_are_seen(tmp_path, monkeypatch):
    class Broken(hostile.Target):
        good = b"abc"

        def read(self, path):
            raise KeyError("x")

    monkeypatch.setitem(hostile.TARGETS, "broken", Broken)
    done, error = hostile.run("broken", cases=2, folder=tmp_path)
    assert done == 0 and isinstance(error, KeyError)


@pytest.mark.parametrize(
    "name, content, message",
    [
        (
            "mixtures",
            b"id,clean,noise,noise_offset_samples,snr_db\na\n",
            "line 2: `clean` and `noise` must be files",
        ),
        (
            "intents",
            b"path,action,object,location\n" + b"a,b,c,\xff\n",
            "is no CSV file in UTF-8",
        ),
        ("config", b'{"preset": {}}', "`preset` must be a name"),
        ("config", b"{1: 2, x: 3}", "Received: 1, x"),
    ],
)
def test_what_was_found(name, content, message, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "recipes")
    target = hostile.TARGETS[name]()
    path = tmp_path / f"hostile{target.suffix}"
    path.write_bytes(content)
    with pytest.raises(Exception) as error:
        target.read(path)
    assert hostile.ours(error.value, target.errors)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "key, value", [("ops", 1), ("states", ["x"]), ("outputs", [1])]
)
def test_descriptions_that_do_not_fit(key, value, tmp_path):
    target = hostile.TARGETS["tflite"]()
    about = json.loads(target._about)

    def write(about):
        data = json.dumps(about, separators=(",", ":")).encode()
        data = data.ljust(len(target._about))
        path = tmp_path / "a.tflite"
        start, end = target._start, target._end
        path.write_bytes(target.good[:start] + data + target.good[end:])
        return path

    target.read(write(about))
    assert key in description.KINDS
    # Labels make room: the description must not become longer.
    for bad in ({**about, key: value, "labels": None}, {**about, "labels": 0}):
        if "labels" in bad and bad["labels"] == 0:
            del bad[key]
        with pytest.raises(ValueError, match="metadata 'keras_duspar'"):
            target.read(write(bad))


def test_tensors_that_there_are_not(tmp_path):
    """An operator of a file names one; another file's operator has none."""
    target = hostile.TARGETS["tflite"]()
    schema = flatbuffer.schema()
    path = tmp_path / "a.tflite"

    def write(change):
        model = schema.ModelT.InitFromObj(
            schema.Model.GetRootAsModel(target.good, 0)
        )
        graph = model.subgraphs[0]
        codes = [code.builtinCode for code in model.operatorCodes]
        custom = codes.index(flatbuffer.CUSTOM)
        change(next(o for o in graph.operators if o.opcodeIndex == custom))
        builder = flatbuffers.Builder()
        builder.Finish(model.Pack(builder), b"TFL3")
        path.write_bytes(builder.Output())

    def lost(operator):
        operator.inputs = [9999]

    def bare(operator):
        operator.inputs = operator.outputs = []

    write(lost)
    with pytest.raises(ValueError, match="damaged .tensor 9999 of"):
        target.read(path)
    write(bare)
    target.read(path)
