"""What the engine asks of a recipe."""

import inspect

import keras
import numpy as np

import keras_duspar
from datasets import pipeline
from datasets import sources
from datasets.base import DataError


class Task:
    """A task that models are trained for. A recipe writes a subclass.

    Args:
        config: A `Config`, the settings of the run.
        progress: Boolean, whether to show progress bars.
    """

    # The recipe's subclasses of `Config` and of `datasets.steps.Batches`.
    config_class = None
    batches_class = None
    # Metrics of an epoch that tell the best one, in order; "-" is for those
    # that should be small.
    best_by = ("val_accuracy", "-val_loss")
    metrics = ()
    # What is counted in a test.
    tested = "recordings"

    def __init__(self, config, progress=True):
        self.config = config
        self.progress = progress
        try:
            self.data = sources.load(
                config.task,
                config.data,
                config.sizes,
                config.data_seed,
                config.cache,
                progress=progress,
                **self.data_arguments(),
            )
        except DataError as error:
            if config.data is None:
                raise
            raise DataError(f"`--data {config.data}`: {error}") from error

    # A recipe writes these.

    def build(self):
        """The model that is trained, saved and deployed."""
        raise NotImplementedError

    def batch_options(self):
        """Further arguments of `batches_class`."""
        return {}

    def loss(self, phase):
        """What is minimized in a phase, as `model.compile()` takes it."""
        raise NotImplementedError

    def validate(self, model):
        """Metrics on validation data, a dictionary of floats."""
        raise NotImplementedError

    def test(self, model, folder):
        """Metrics on test data; may write files into the `RunFolder`."""
        raise NotImplementedError

    # And these if it has to.

    def headline(self, test):
        """The figures of `test()` that are shown first, name to text."""
        share = f"{100 * test['accuracy']:.2f} %"
        return {"test accuracy": f"{share} of {test['count']} {self.tested}"}

    def data_arguments(self):
        """Further arguments of `datasets.sources.load()`."""
        return {}

    def phase(self, epoch):
        """Integer that changes when another loss takes over."""
        return 0

    def adapt(self, model):
        """Prepares a new model with training data."""
        model.get_layer("log_mel").adapt(self.unpadded("train"))

    def augmented(self, model):
        """The model with what is only there in training, sharing weights."""
        return mask_features(model, self.config.seed)

    def feed(self, batch):
        """What the model and the loss take, from a batch of `batches()`."""
        return batch

    def batches(self, split, training=False):
        """The batches of a split."""
        return self.batches_class(
            self.data,
            split,
            self.config.batch_size,
            training,
            self.config.seed,
            **self.batch_options(),
        )

    def unpadded(self, split, count=None):
        """Yields audio without padding, for statistics and profiles."""
        for audio, _ in self.serve(self.batches(split), count):
            yield audio

    # What recipes use.

    def serve(self, batches, count=None):
        """Yields batches that are made ahead, at most `count`."""
        dataset = pipeline.to_dataset(batches, 0, count)
        return (self.feed(batch) for batch in dataset.as_numpy_iterator())

    def recurrent_arguments(self):
        """Arguments of the model builders that every recipe has."""
        config = self.config
        layer = keras_duspar.layers.get(config.model)
        options = config.options
        if (
            config.gate_biases is not None
            and "gate_bias_initializer" in inspect.signature(layer).parameters
        ):
            biases = keras.initializers.RandomUniform(*config.gate_biases)
            options = {"gate_bias_initializer": biases, **options}
        return {
            "recurrent": config.model,
            "units": config.units,
            "num_layers": config.num_layers,
            "options": options,
        }


def mask_features(model, seed, pooled=None):
    """A model with `SpecAugment` behind its log-mel layer.

    Args:
        model: A functional model whose layers form a chain.
        seed: Integer, seed of the masks.
        pooled: Integer, the last frames, which alone are pooled.
            Default: `None`, for all.

    Returns:
        A model that shares the layers of `model`.
    """
    x = model.input
    for layer in model.layers[1:]:
        if pooled and isinstance(layer, keras.layers.GlobalAveragePooling1D):
            x = x[:, -pooled:]
        x = layer(x)
        if isinstance(layer, keras_duspar.audio.LogMel):
            x = keras_duspar.audio.SpecAugment(seed=seed)(x)
    return keras.Model(model.input, x)


def confusion_rows(labels, truth, predicted):
    """Counts of predictions for each true label, as rows of a table.

    Args:
        labels: Strings, the names of the classes.
        truth: Integers, the true classes.
        predicted: Integers, the predicted ones; `len(labels)` is none of
            them.
    """
    names = [*labels, "(none)"]
    counts = np.zeros((len(labels), len(names)), int)
    np.add.at(counts, (truth, predicted), 1)
    if not counts[:, -1].any():
        names, counts = names[:-1], counts[:, :-1]
    return [
        {"true": label, **dict(zip(names, map(int, row)))}
        for label, row in zip(labels, counts)
    ]
