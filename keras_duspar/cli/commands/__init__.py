"""One subcommand of `keras-duspar` a module."""
