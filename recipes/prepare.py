"""What a recipe does before it imports Keras."""

import importlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

try:
    from keras_duspar.utils.optional import optional_package

    importlib.import_module("keras")  # says if the backend is missing
    # Every recipe needs these, whatever the backend.
    for name in ("jinja2", "matplotlib", "rich", "yaml", "tensorflow"):
        optional_package(name)
except ImportError as error:
    if os.environ.get("KERAS_DUSPAR_DEBUG"):
        raise
    sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
