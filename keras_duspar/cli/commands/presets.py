"""Lists the pretrained models that come with the package.

Each works with one of the commands spot, understand and enhance, which take its
name as --model. With names given, the whole cards of these models are printed.
"""

import json
import shutil
import sys

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
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if arguments.json:
        for card in cards:
            print(json.dumps(card))
    elif arguments.names:
        texts = [preset_texts.card_text(card, wide) for card in cards]
        print("\n\n".join(texts))
    else:
        print(_list(cards, wide))


def _list(cards, wide):
    """A table with a row per preset, and more where a text is wrapped."""
    columns = ("preset", "command", "what it is")
    heads = [(card["name"], TASKS[card["task"]][2]) for card in cards]
    taken = sum(max(map(len, c)) + 2 for c in zip(columns[:2], *heads))
    rows = []
    for head, card in zip(heads, cards):
        lines = preset_texts.wrapped(card["description"], wide, taken)
        rows += [(*(("", "") if i else head), t) for i, t in enumerate(lines)]
    return text_table(columns, rows, left=columns)
