"""Models in plain C, for microcontrollers and browsers."""

from keras_duspar.utils import lazy

lazy.attach(__name__, {".c_source": "export_c", ".web_page": "export_web"})
