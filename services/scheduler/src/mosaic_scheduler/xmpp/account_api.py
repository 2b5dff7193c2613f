"""The server's HTTP API: the two calls that it allows us."""

import asyncio
from http import HTTPStatus

from mosaic_contracts.xmpp import SERVICE
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.xmpp.server import START, KnownServer

TIMEOUT_S = 5.0
_NOBODY = "mosaic-nobody"
"""An account that never is: taking it away proves that we may."""


class AccountApi:
    """Registers and unregisters. Everything raises XmppUnavailable when the server cannot be used."""

    def __init__(self, server: KnownServer) -> None:
        self._server = server

    async def register(self, user: str, password: str) -> None:
        """Make an account; one of that name from before is replaced, so that only this password is good."""
        if await self._call("register", user, password=password) is HTTPStatus.CONFLICT:
            await self.unregister(user)
            await self._call("register", user, password=password)

    async def unregister(self, user: str) -> None:
        """Take an account away; one that is not there is no fault."""
        await self._call("unregister", user)

    async def prove(self) -> None:
        """Whether the server lets us do that."""
        await self.unregister(_NOBODY)

    async def _call(self, verb: str, user: str, **more: str) -> HTTPStatus:
        return await asyncio.to_thread(self._post, verb, user, more)

    def _post(self, verb: str, user: str, more: dict[str, str]) -> HTTPStatus:
        import requests  # a sixth of a scheduler's start, for stacks whose agents talk

        facts = self._server.facts
        url = f"{facts.api_url}/{verb}"
        try:
            with requests.Session() as session:
                session.trust_env = False  # no proxy, no .netrc: it is a machine of ours
                answer = session.post(
                    url,
                    json={"user": user, "host": facts.domain, **more},
                    auth=(facts.user, self._server.password.get_secret_value()),
                    timeout=TIMEOUT_S,
                )
        except requests.RequestException as error:
            message = f"Its API for accounts at {facts.api_url} does not answer: {_short(error)}."
            raise XmppUnavailable("account", message, START) from error
        if answer.status_code in (HTTPStatus.OK, HTTPStatus.CONFLICT):
            return HTTPStatus(answer.status_code)
        message = (
            f"Its API for accounts at {facts.api_url} refused to {verb} with {answer.status_code}: "
            f"{answer.text.strip()[:200]}."
        )
        todo = f"Start the {SERVICE} service again: it then writes a new password."
        raise XmppUnavailable("account", message, todo)


def _short(error: Exception) -> str:
    """The words of the innermost cause; requests wraps it three times."""
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return str(cause) or type(cause).__name__
