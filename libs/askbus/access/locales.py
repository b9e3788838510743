"""Languages by their CLDR names. Pure."""

from typing import Annotated

from babel import Locale as BabelLocale
from babel import UnknownLocaleError
from pydantic import AfterValidator

LONGEST = 100
"""Characters of a name. CLDR's own are short; what follows a variant or an @ is anybody's."""


def known_locale(name: str) -> str:
    """`name`, where it is a language's. Raises ValueError."""
    if len(name) > LONGEST:
        raise ValueError(f"the name of a language, such as de or en-GB, has at most {LONGEST} characters")
    try:
        BabelLocale.parse(name.replace("-", "_"))
    except (ValueError, UnknownLocaleError) as error:
        raise ValueError(f"{name!r} is not the name of a language, such as de or en-GB") from error
    return name


Locale = Annotated[str, AfterValidator(known_locale)]
