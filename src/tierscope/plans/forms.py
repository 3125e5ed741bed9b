"""The words that requests go by, and the form of each."""

from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError, did_you_mean
from tierscope.plans.request import RequestForm
from tierscope.suites.registry import SUITES


def request_words() -> tuple[str, ...]:
    """Words that plans may name, in the order in which errors list them."""
    suites = (name for name, suite in SUITES.items() if suite.form_module)
    return (*KINDS, *suites)


def known_word(word: str) -> str:
    """Return a word that plans may name; raises UserError that lists them."""
    words = request_words()
    if word not in words:
        raise UserError(f"'{word}' is not one of {', '.join(words)}{did_you_mean(word, words)}")
    return word


def form_of(word: str) -> RequestForm:
    """Return the form of requests of one word; raises UserError that lists the words."""
    name = known_word(word)
    return KINDS[name].request if name in KINDS else SUITES[name].request
