"""Routes of one subject, kept until there is an application to add them to."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import FastAPI

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


class Routes:
    """Routes with common options, in the order of their declaration.

    Chosen over FastAPI's APIRouter, which builds each route when it is declared and again when the router is included:
    a seventh of the CPU time of the gateway's start.
    """

    def __init__(self, **options: Any) -> None:
        """`options` of `FastAPI.add_api_route`, for each of these routes."""
        self._options = options
        self._declared: list[tuple[str, Callable[..., Any], dict[str, Any]]] = []

    def route(
        self, path: str, methods: list[str], **options: Any
    ) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers `methods` of `path`."""

        def declare(endpoint: EndpointT) -> EndpointT:
            self._declared.append((path, endpoint, {"methods": methods, **options}))
            return endpoint

        return declare

    def get(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers GET."""
        return self.route(path, ["GET"], **options)

    def head(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers HEAD."""
        return self.route(path, ["HEAD"], **options)

    def post(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers POST."""
        return self.route(path, ["POST"], **options)

    def put(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers PUT."""
        return self.route(path, ["PUT"], **options)

    def patch(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers PATCH."""
        return self.route(path, ["PATCH"], **options)

    def delete(self, path: str, **options: Any) -> Callable[[EndpointT], EndpointT]:
        """Decorator: the function answers DELETE."""
        return self.route(path, ["DELETE"], **options)

    def add_to(self, app: FastAPI, prefix: str = "", *, for_document: bool = False) -> None:
        """Add all of them to `app`, below `prefix`.

        Only the OpenAPI document needs the models of the answers, which take as long to build as the rest of a route:
        each function here returns a finished `Response`.
        """
        for path, endpoint, options in self._declared:
            built = {**self._options, **options}
            if not for_document:
                built["response_model"] = None
            app.add_api_route(prefix + path, endpoint, **built)
