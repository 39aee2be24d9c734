"""What a run stops with when the user can do something about it."""


class TrainingError(RuntimeError):
    """A run cannot begin or go on; the message says what to do about it."""
