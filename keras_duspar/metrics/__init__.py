"""Quality of enhanced speech, measured in NumPy."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".enhancement": "evaluate_enhancement",
        ".pesq": "pesq_wb",
        ".si_sdr": "si_sdr",
        ".stoi": "stoi",
    },
)
