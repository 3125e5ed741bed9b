"""Order zipf: how skewed it is asked for."""

from collections.abc import Sequence

from tierscope.plans import grammar
from tierscope.plans.axes import checked
from tierscope.plans.options import Option
from tierscope.plans.request import Request

ZIPF_ALPHA = Option("zipf-alpha", "LIST", "Skew of order zipf, above 0, at most 10", "0.9")


def zipf_alphas(request: Request, orders: Sequence[str]) -> list[float | None]:
    """Return the alphas that a request asks for, None alone for the usual one; UserError where no
    order is zipf."""
    if "zipf-alpha" not in request.options:
        return [None]
    if "zipf" not in orders:
        raise request.wrong("zipf-alpha", "an alpha goes with order zipf only")
    words = grammar.split_words(request.options["zipf-alpha"])
    return [checked(request, "zipf-alpha", grammar.parse_number, word, 0, 10) for word in words]
