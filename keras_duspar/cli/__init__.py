"""The command `keras-duspar`. Every module in `commands` is a subcommand.

Such a module has a docstring, whose first line is the command's help,
`add_arguments(parser)` and `run(arguments)`, which may return an exit code.
"""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".main": "CommandError main",
    },
)
