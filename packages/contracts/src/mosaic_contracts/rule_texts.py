"""Alert rules as texts of a spec or a request.

A module of its own: every worker imports the spec, and needs none of the models of `mosaic_contracts.alerts`.
"""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from mosaic_contracts.alert_rules import AlertError, parse_alert
from mosaic_contracts.alert_words import MAX_RULE


def alert_text(text: str) -> str:
    """Read a rule and write it in its shortest form.

    Args:
        text: a rule.

    Returns:
        The rule, so that equal rules have equal texts.

    Raises:
        ValueError: it cannot be understood; the message says where and what to write.
    """
    try:
        return parse_alert(text).text
    except AlertError as error:
        raise ValueError(f"{error} (character {error.start + 1})") from None


RuleText = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_RULE), AfterValidator(alert_text)
]
"""An alert rule (`alert_rules.parse_alert`)."""
RuleTexts = Annotated[list[RuleText], Field(max_length=32)]
