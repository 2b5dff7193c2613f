"""Problems of a request on the bus."""

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError


class BrokerUnavailable(ProblemError):
    """There is no connection to the broker just now; the bus keeps trying by itself."""

    def __init__(self, url: str, refusal: str | None = None, *, is_trusted: bool = True) -> None:
        title = "The broker cannot be reached"
        detail = f"No connection to {url}; connecting again all the time. See `./mosaic status`."
        if refusal is not None:
            title, detail = "The broker refuses this stack's credentials", refusal
        if not is_trusted:
            title = "The broker is not trusted"
        super().__init__(
            Problem(
                code=ProblemCode.BROKER_UNAVAILABLE,
                title=title,
                detail=detail,
                retry_after_s=1.0,
            )
        )


class ServiceUnavailable(ProblemError):
    """A service did not answer: it is not there, or it took too long."""

    def __init__(self, service: str, why: str) -> None:
        super().__init__(
            Problem(
                code=ProblemCode.SERVICE_UNAVAILABLE,
                title=f"The {service} does not answer",
                detail=f"{why} See `./mosaic status`.",
                retry_after_s=1.0,
            )
        )
