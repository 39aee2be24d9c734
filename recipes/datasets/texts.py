"""What the synthetic voices say: words, commands and sentences."""

from datasets.speech_commands import WORDS

_ROOMS = ("bedroom", "kitchen", "washroom")
_NO_ROOM = "none"
_LANGUAGES = ("Chinese", "English", "German", "Korean")

_TURN_ON = (
    "turn on the {}",
    "turn the {} on",
    "switch on the {}",
    "switch the {} on",
    "put the {} on",
    "activate the {}",
)
_TURN_OFF = (
    "turn off the {}",
    "turn the {} off",
    "switch off the {}",
    "switch the {} off",
    "put the {} out",
    "deactivate the {}",
)
_RAISE = (
    "increase the {}",
    "turn up the {}",
    "turn the {} up",
    "raise the {}",
    "I need more {}",
)
_LOWER = (
    "decrease the {}",
    "turn down the {}",
    "turn the {} down",
    "lower the {}",
    "I need less {}",
)
_BRING = (
    "bring me the {}",
    "bring me my {}",
    "fetch the {}",
    "get me the {}",
    "go and get the {}",
)
_CHANGE = (
    "change the language to {}",
    "set the language to {}",
    "switch the language to {}",
    "use {}",
    "I want to speak {}",
)
_PLACE = ("{} in the {}", "in the {1} {0}")


def _intents():
    """Phrases for each (action, object, location)."""
    phrases = {}
    for action, forms in (("activate", _TURN_ON), ("deactivate", _TURN_OFF)):
        for thing in ("lamp", "music"):
            phrases[action, thing, _NO_ROOM] = [f.format(thing) for f in forms]
        _in_rooms(phrases, action, "lights", forms)
    for action, forms in (("increase", _RAISE), ("decrease", _LOWER)):
        phrases[action, "volume", _NO_ROOM] = [
            form.format(word) for form in forms for word in ("volume", "sound")
        ]
        _in_rooms(phrases, action, "heat", forms)
    for thing in ("juice", "newspaper", "shoes", "socks"):
        phrases["bring", thing, _NO_ROOM] = [f.format(thing) for f in _BRING]
    for language in _LANGUAGES:
        phrases["change language", language, _NO_ROOM] = [
            form.format(language) for form in _CHANGE
        ]
    phrases["change language", "none", _NO_ROOM] = [
        "change the language",
        "change language",
        "switch the language",
        "set another language",
        "use a different language",
    ]
    return phrases


def _in_rooms(phrases, action, thing, forms):
    said = [form.format(thing) for form in forms]
    phrases[action, thing, _NO_ROOM] = said
    for room in _ROOMS:
        phrases[action, thing, room] = [
            place.format(text, room) for text in said for place in _PLACE
        ]


PHRASES = {" / ".join(k): v for k, v in sorted(_intents().items())}
INTENTS = tuple(sorted(PHRASES))

# fmt: off
_WHO = (
    "the old farmer", "a young doctor", "my neighbour", "the teacher",
    "every child", "our captain", "the tall waiter", "her cousin",
    "a quiet stranger", "the whole village", "his daughter", "the engineer",
)
_DOES = (
    "carried", "found", "painted", "forgot", "watched", "sold", "washed",
    "borrowed", "measured", "dropped", "described", "chose",
)
_WHAT = (
    "a basket of apples", "the broken clock", "five yellow chairs",
    "a letter from home", "the heavy suitcase", "some fresh bread",
    "a pair of gloves", "the garden fence", "an orange jacket",
    "the church key", "thick woollen socks", "a very small engine",
)
_WHERE = (
    "by the river", "before breakfast", "in the market", "on a rainy Thursday",
    "without a word", "near the railway bridge", "just after midnight",
    "for the third time", "under the oak tree", "with great care",
    "behind the theatre", "at the age of sixty",
)
# fmt: on


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
    parts = (_WHO, _DOES, _WHAT, _WHERE)
    return " ".join(part[rng.integers(len(part))] for part in parts)
