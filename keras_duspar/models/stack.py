"""What the three models share."""

import keras

from keras_duspar import layers
from keras_duspar.utils import checks


@keras.saving.register_keras_serializable(package="keras_duspar")
class AudioModel(keras.Model):
    """A functional model that takes audio and refuses integers.

    Keras converts what a functional model is given to the dtype of its
    `Input` before any layer sees it, so that 16-bit samples would become
    floats far beyond full scale. A model sees them itself, also in
    `predict()` and `fit()`.

    Attributes:
        task: String, what the model is for: `"kws"`, `"slu"` or `"se"`, or
            `None`.
        labels: List of strings, the names of the classes, or `None`. Task and
            labels are saved with the model.
    """

    task = None
    _labels = None

    @property
    def labels(self):
        return None if self._labels is None else list(self._labels)

    @labels.setter
    def labels(self, labels):
        if labels is not None:
            classes = self.output_shape[-1] - (self.task == "slu")  # the blank
            labels = tuple(checks.labels("labels", labels, [classes]))
        self._labels = labels

    def get_config(self):
        about = {"task": self.task, "labels": self.labels}
        return {**super().get_config(), **about}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        task, labels = config.pop("task", None), config.pop("labels", None)
        model = super().from_config(config, custom_objects)
        model.task, model.labels = task, labels
        return model

    def call(self, inputs, training=None, mask=None, **kwargs):
        _check_audio("inputs", inputs)
        return super().call(inputs, training=training, mask=mask, **kwargs)

    # Arrays are checked before Keras begins: their values can be seen here,
    # and on JAX an error within a loop leaves a model without its weights.

    def fit(self, x=None, *args, **kwargs):
        _check_batch("x", x)
        return super().fit(x, *args, **kwargs)

    def evaluate(self, x=None, *args, **kwargs):
        _check_batch("x", x)
        return super().evaluate(x, *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        _check_batch("x", x)
        return super().predict(x, *args, **kwargs)


def _check_audio(name, value):
    # Data sets and generators pass: what they yield, `call()` sees.
    for audio in keras.tree.flatten(value):
        if hasattr(audio, "dtype"):
            checks.audio(name, audio)


def _check_batch(name, value):
    _check_audio(name, value)
    for audio in keras.tree.flatten(value):
        if hasattr(audio, "dtype") and len(audio.shape) != 2:
            hint = (
                "One recording is `audio[np.newaxis]`; channels are averaged."
            )
            raise checks.bad_value(
                name, "audio of shape `(batch, samples)`", audio, hint
            )


def audio_model(audio, output, name, task, labels=None):
    """The `AudioModel` of a task."""
    model = AudioModel(audio, output, name=name)
    model.task, model.labels = task, labels
    return model


def count_classes(name, count, labels, default):
    """How many classes a model has: those given, the labels', or a default."""
    if count is not None:
        return checks.positive_integer(name, count)
    if isinstance(labels, (list, tuple)) and labels:
        return len(labels)
    return default


def recurrent_layer(recurrent, units, options, name):
    """One recurrent layer of a model.

    Args:
        recurrent: String, a registered name, or a layer class.
        units: Positive integer, the layer's width.
        options: Dictionary of further arguments of the layer, or `None`.
        name: String, the layer's name.
    """
    layer_class = layers.get(recurrent)
    units = checks.positive_integer("units", units)
    if options is not None and not isinstance(options, dict):
        raise checks.bad_value("options", "a dictionary or None", options)
    return layer_class(
        units, **(options or {}), return_sequences=True, name=name
    )


def audio_input(samples):
    """The input of a model that takes raw audio."""
    if samples is not None:
        samples = checks.positive_integer("samples", samples)
    return keras.Input((samples,), name="audio", dtype="float32")
