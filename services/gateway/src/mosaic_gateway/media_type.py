"""The media type of a request's body: JSON in UTF-8, uncompressed, and nothing else.

A page of another site can send text/plain, forms and bodies without a type to this address without asking first;
for application/json a browser asks, and is refused.
"""

from email.message import Message

from starlette.datastructures import Headers

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError

_SHOWN = 100


def require_json(headers: Headers) -> None:
    """Check `Content-Type` and `Content-Encoding` of a request whose body is JSON.

    Raises:
        ProblemError: `media_type_refused`.
    """
    given = headers.getlist("content-type")
    if len(given) != 1 or not _is_json(given[0]):
        said = ", ".join(given)[:_SHOWN]
        raise _refused(f"The Content-Type is {said!r}." if given else "There is no Content-Type.")
    encodings = headers.getlist("content-encoding")
    if any(encoding.strip().lower() not in ("", "identity") for encoding in encodings):
        raise _refused("The body has a Content-Encoding.")


def _is_json(content_type: str) -> bool:
    message = Message()
    message["Content-Type"] = content_type
    subtype = message.get_content_type().removeprefix("application/")
    charset = message.get_content_charset("utf-8")
    return (
        message.get_content_type().startswith("application/")
        and (subtype == "json" or subtype.endswith("+json"))
        and charset in ("utf-8", "utf8", "us-ascii")
    )


def _refused(why: str) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.MEDIA_TYPE_REFUSED,
            title="The body must be JSON and say so",
            detail=f"{why} Send uncompressed JSON in UTF-8 with `Content-Type: application/json`.",
        )
    )
