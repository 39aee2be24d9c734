"""What the synthetic voices say: words, commands and sentences."""

import yaml_tables
from datasets.speech_commands import WORDS

_TEXTS = yaml_tables.beside(__file__)
_SENTENCE = _TEXTS["sentences"]


def _intents():
    """Phrases for each (action, object, location)."""
    phrases = {}
    for part in _TEXTS["commands"]:
        for thing, words in part["objects"].items():
            intent = part["action"], thing
            said = [form.format(w) for form in part["forms"] for w in words]
            phrases[*intent, "none"] = said
            if thing == part.get("in_rooms"):
                for room in _TEXTS["rooms"]:
                    phrases[*intent, room] = [
                        place.format(text, room)
                        for text in said
                        for place in _TEXTS["places"]
                    ]
    return phrases


PHRASES = {" / ".join(k): v for k, v in sorted(_intents().items())}
INTENTS = tuple(sorted(PHRASES))


def word(index):
    """The text and the label of a keyword clip."""
    label = index % len(WORDS)
    return WORDS[label], label


def command(rng, index):
    """The text and the label of a spoken command."""
    label = index % len(INTENTS)
    phrases = PHRASES[INTENTS[label]]
    text = phrases[rng.integers(len(phrases))]
    if rng.random() < 0.2:
        text = f"{text} please"
    return text, (label,)


def sentence(rng):
    """A sentence that may never have been said before."""
    return " ".join(part[rng.integers(len(part))] for part in _SENTENCE)
