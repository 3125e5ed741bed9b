"""The words that requests go by, and the form of each."""

from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError, did_you_mean
from tierscope.plans.request import RequestForm
from tierscope.recipes.registry import RECIPES


def request_words() -> tuple[str, ...]:
    """Words that plans may name, in the order in which errors list them."""
    recipes = (name for name, recipe in RECIPES.items() if recipe.form_module)
    return (*KINDS, *recipes)


def canonical(word: str) -> str:
    """The word that stands for ``word``, which may be a command's name: traffic -> streams.

    Raises UserError that names the words.
    """
    words = request_words()
    if word in words:
        return word
    for kind in KINDS.values():
        if word in (kind.command, *kind.aliases):
            return kind.name
    raise UserError(f"'{word}' is not one of {', '.join(words)}{did_you_mean(word, words)}")


def form_of(word: str) -> RequestForm:
    """The form of requests of one word; raises UserError that names the words."""
    name = canonical(word)
    return KINDS[name].request if name in KINDS else RECIPES[name].request
