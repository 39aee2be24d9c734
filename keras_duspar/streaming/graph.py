"""The calls of a functional model, each with the rule that streams it."""

import collections
import dataclasses

import keras
from keras import ops

from keras_duspar.streaming.rules import StreamRule
from keras_duspar.streaming.rules import find_rule
from keras_duspar.streaming.rules import register_stream
from keras_duspar.utils import checks
from keras_duspar.utils.functional import functional


@dataclasses.dataclass
class Call:
    """One call of a layer: symbolic arguments and symbolic result."""

    name: str
    rule: StreamRule
    args: tuple
    kwargs: dict
    result: object


class Graph:
    """A model as a list of calls.

    Args:
        model: A functional or sequential `keras.Model`, which is not changed.
        signals: List of the `Signal`s of its inputs.
        rules: Dictionary of layer classes to rules that take precedence over
            the registered ones.
    """

    def __init__(self, model, signals, rules):
        inputs, outputs, recorded = record(model)
        self.inputs, self.outputs = inputs, outputs
        found = {
            id(x): dataclasses.replace(signal, features=x.shape[-1])
            for x, signal in zip(keras.tree.flatten(inputs), signals)
        }
        self.calls = []
        names = collections.Counter()
        for layer, args, kwargs, result in recorded:
            names[layer.name] += 1
            name = layer.name
            if names[name] > 1:  # a layer that is called again
                name = f"{name}.{names[name]}"
            rule = self._rule(
                layer, [found[id(x)] for x in _tensors((args, kwargs))], rules
            )
            results = _tensors(result)
            signal = rule.signal
            if not isinstance(signal, list):
                signal = [signal] * len(results)
            for x, s in zip(results, signal):
                found[id(x)] = dataclasses.replace(s, features=x.shape[-1])
            self.calls.append(Call(name, rule, args, kwargs, result))
        self.signals = [found[id(x)] for x in keras.tree.flatten(outputs)]
        if any(signal.lead for signal in self.signals):
            raise ValueError(
                "`model` cannot be streamed: it ends with the zeros of a "
                "`ZeroPadding1D`."
            )
        self.states = {
            f"{call.name}/{name}": state
            for call in self.calls
            for name, state in call.rule.states.items()
        }

    def _rule(self, layer, signals, rules):
        rule = find_rule(layer, rules)
        if rule is NestedModel:
            return NestedModel(layer, signals, rules)
        return rule(layer, signals)

    def rules(self):
        """All rules, also those of nested models."""
        for call in self.calls:
            yield call.rule
            if isinstance(call.rule, NestedModel):
                yield from call.rule.graph.rules()

    def run(self, inputs, states):
        """Runs all calls; returns the outputs and the new states."""
        values = {
            id(symbol): value
            for symbol, value in zip(
                keras.tree.flatten(self.inputs), keras.tree.flatten(inputs)
            )
        }

        def look_up(x):
            return values[id(x)] if isinstance(x, keras.KerasTensor) else x

        new_states = {}
        for call in self.calls:
            args, kwargs = keras.tree.map_structure(
                look_up, (call.args, call.kwargs)
            )
            own = {n: states[f"{call.name}/{n}"] for n in call.rule.states}
            result, own = call.rule.step(own, *args, **kwargs)
            new_states |= {f"{call.name}/{n}": s for n, s in own.items()}
            for symbol, value in zip(
                _tensors(call.result), keras.tree.flatten(result)
            ):
                values[id(symbol)] = value
        outputs = keras.tree.map_structure(look_up, self.outputs)
        return outputs, {name: new_states[name] for name in self.states}


@register_stream(keras.Model)
class NestedModel(StreamRule):
    """A model within the model."""

    def __init__(self, layer, signals, rules):
        self.layer = layer
        self.graph = Graph(layer, signals, rules)
        self.states = self.graph.states
        self.signal = self.graph.signals

    def step(self, states, *args, **kwargs):
        tensors = [
            x for x in keras.tree.flatten((args, kwargs)) if ops.is_tensor(x)
        ]
        return self.graph.run(tensors, states)


def _tensors(structure):
    return [
        x
        for x in keras.tree.flatten(structure)
        if isinstance(x, keras.KerasTensor)
    ]


def record(model):
    """The inputs, the outputs and the calls of a model, in order.

    Keras walks through the model's graph on a copy, so that the model itself
    stays as it is.
    """
    if not isinstance(model, keras.Model):
        raise checks.bad_value("model", "a `keras.Model`", model)
    model = functional(model)
    try:
        if isinstance(model, keras.Sequential):
            whole = keras.Model(model.inputs[0], model.outputs[0])
        else:
            whole = keras.Model(model.input, model.output)
    except (AttributeError, ValueError) as e:
        raise ValueError(
            f"`model` must be built. Received: {model.name!r}, a "
            f"{type(model).__name__}. Call it on data once."
        ) from e
    originals, calls = {}, []

    def clone(layer):
        copy = type(layer).from_config(layer.get_config())
        originals[copy] = layer
        return copy

    def call(layer, *args, **kwargs):
        result = layer(*args, **kwargs)
        # Streams never train, and there is nothing to mask in them.
        kwargs.pop("training", None)
        kwargs.pop("mask", None)
        calls.append((originals[layer], args, kwargs, result))
        return result

    copy = keras.models.clone_model(
        whole, clone_function=clone, call_function=call
    )
    return copy.input, copy.output, calls
