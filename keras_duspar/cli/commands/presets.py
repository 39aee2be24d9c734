"""Lists the pretrained models that come with the package.

Each works with one of the commands spot, understand and enhance, which take its
name as --model. With names given, the whole cards of these models are printed.
"""

import json

from keras_duspar.cli.main import explaining
from keras_duspar.cli.trained import TASKS
from keras_duspar.models import preset_files
from keras_duspar.models import preset_texts
from keras_duspar.utils.tables import text_table


def add_arguments(parser):
    """Adds the arguments of the command."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="presets whose cards to print"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one card per line, as JSON"
    )


def run(arguments):
    """Runs the command."""
    with explaining():
        cards = [
            preset_files.preset_card(name)
            for name in arguments.names or preset_files.presets()
        ]
    if arguments.json:
        for card in cards:
            print(json.dumps(card))
    elif arguments.names:
        print("\n\n".join(preset_texts.card_text(card) for card in cards))
    else:
        rows = [
            (card["name"], TASKS[card["task"]][2], card["description"])
            for card in cards
        ]
        columns = ("preset", "command", "what it is")
        print(text_table(columns, rows, left=columns))
