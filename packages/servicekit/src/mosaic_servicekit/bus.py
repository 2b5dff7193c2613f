"""The broker, as the services see it: nats-py, made to outlive everything that can happen to a connection.

nats-py reconnects by itself when the broker goes away, but closes for good when the server says -ERR (expired
credentials, for one). So the bus owns the subscriptions and puts a new client in place of a closed one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription
from nats.errors import ConnectionClosedError, MaxPayloadError, NoRespondersError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import BaseModel, ValidationError

from mosaic_base.broker_tls import distrust_of
from mosaic_contracts import subjects
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.service_verb import ServiceVerb
from mosaic_contracts.shipper_messages import Reply
from mosaic_servicekit import jwt
from mosaic_servicekit.bus_errors import BrokerUnavailable, ServiceUnavailable
from mosaic_servicekit.creds_file import CredsFile, CredsFileDamaged
from mosaic_servicekit.errors import CertificateUnusable
from mosaic_servicekit.lifecycle import cancel_all
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.trust import connect_options

if TYPE_CHECKING:
    from nats.js import JetStreamContext  # 25 ms that a service without JetStream does not need

RETRY_S = 0.25
"""Between attempts to reach the broker: short, for it comes back in 30 ms, and cheap on loopback."""
RENEW_S = 5.0
"""A client without a connection is replaced after so long: nats-py's reconnect ends without a word when its task meets
an error that it does not expect, or is cancelled by its own other half."""
REQUEST_TIMEOUT_S = 5.0
_FLUSH_TIMEOUT_S = 2
_PENDING_MSGS = 65_536
_PENDING_BYTES = 64 * 2**20
"""What one subscription may hold back before the client drops; more than any burst of core messages seen."""

Handler = Callable[[Msg], Awaitable[None]]
ModelT = TypeVar("ModelT", bound=BaseModel)
RequestT = TypeVar("RequestT", bound=BaseModel)
Verb = tuple[type[BaseModel] | None, Callable[..., Awaitable[BaseModel | None]]]
"""Model of the request (None: no payload) and the handler that gets it."""


class Subscription:
    """One subscription of the bus; lives across reconnects until `cancel`."""

    def __init__(
        self,
        subject: str,
        queue: str,
        handler: Handler,
        inline: bool,
        forget: Callable[["Subscription"], None],
    ) -> None:
        self.subject = subject
        self._queue = queue
        self._handler = handler
        self._inline = inline
        self._forget = forget
        self._live: NatsSubscription | None = None
        self._running: set[asyncio.Task[None]] = set()
        self.cancelled = False

    async def attach(self, client: Client) -> None:
        """Subscribe on `client`, which takes the place of an earlier one."""
        self._live = await client.subscribe(
            self.subject,
            queue=self._queue,
            cb=self._on_message,
            pending_msgs_limit=_PENDING_MSGS,
            pending_bytes_limit=_PENDING_BYTES,
        )

    async def cancel(self) -> None:
        """End the subscription; what is being handled is finished."""
        self.cancelled = True
        self._forget(self)
        if self._live is not None:
            try:
                await self._live.unsubscribe()
            except NatsError as error:
                # A connection that is gone has no subscriptions left.
                get_log().info("subscription.gone", subject=self.subject, error=repr(error))

    async def _on_message(self, message: Msg) -> None:
        if self._inline:
            await self._handle(message)
            return
        task = asyncio.get_running_loop().create_task(self._handle(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _handle(self, message: Msg) -> None:
        try:
            await self._handler(message)
        except Exception as error:  # noqa: BLE001 - boundary: one bad message must not end the subscription
            get_log().error(
                "message.failed", subject=message.subject, error=repr(error), exc_info=error
            )


class Bus:
    """A connection to the broker that keeps itself.

    `name` is the connection's owner (a service's name or a run id): it gives the inbox prefix.
    """

    def __init__(
        self, url: str, name: str, creds: Path | None = None, ca: Path | None = None
    ) -> None:
        """`ca`: with `tls://`, the certificate of the authority to trust; None: those of the system."""
        self.url = url
        self.name = name
        self.connected = asyncio.Event()
        """Set while there is a connection."""
        self.lost = asyncio.Event()
        """Set while there is none."""
        self.lost.set()
        self.connects = 0
        """How often a connection was made; a reader that sees it change knows that something may be lost."""
        self._creds = creds
        self._ca = ca
        self._client: Client | None = None
        self._subscriptions: dict[Subscription, None] = {}
        """In the order in which they were made."""
        self._callbacks: list[Callable[[], None]] = []
        self._keeper: asyncio.Task[None] | None = None
        self._last_error = ""
        self._refused = self._distrusts = ""
        self._stopping = False

    @property
    def refusal(self) -> str | None:
        """Why there can be no connection, with what to do; None: nothing is known to be wrong."""
        if self._distrusts:
            return distrust_text(self.url, self._distrusts)
        return refusal_text(self.url, self.name, self._refused) if self._refused else None

    async def start(self) -> None:
        """Begin to connect. Returns at once; `await bus.connected.wait()` where a connection is needed."""
        self._keeper = asyncio.get_running_loop().create_task(self._keep(), name="bus")

    async def close(self) -> None:
        """Flush what was published and end the connection."""
        self._stopping = True
        if self._keeper is not None:
            await cancel_all([self._keeper])
        if self._client is not None and not self._client.is_closed:
            if self._client.is_connected:
                try:
                    await _flush(self._client)
                except NatsError as error:
                    get_log().info("broker.flush_failed", error=repr(error))
            self._mark_lost()
            await _close(self._client)
        self._mark_lost()

    def on_connected(self, callback: Callable[[], None]) -> None:
        """Call `callback` after every connect and reconnect, once subscriptions are in place."""
        self._callbacks.append(callback)

    @property
    def client(self) -> Client:
        """The nats client of this moment; do not keep it. Raises BrokerUnavailable without a connection."""
        if self._client is None or not self.connected.is_set():
            raise self._unavailable()
        return self._client

    def jetstream(self, timeout_s: float = REQUEST_TIMEOUT_S) -> "JetStreamContext":
        """JetStream on the client of this moment. Raises BrokerUnavailable without a connection."""
        return self.client.jetstream(timeout=timeout_s)

    async def publish(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> bool:
        """Core publish. Return False, and drop it, when there is no connection."""
        if not self.connected.is_set() or self._client is None:
            return False
        try:
            await self._client.publish(subject, data, headers=headers)
        except NatsError as error:
            get_log().info("message.dropped", subject=subject, error=repr(error))
            return False
        return True

    async def subscribe(
        self, subject: str, handler: Handler, queue: str = "", inline: bool = True
    ) -> Subscription:
        """Subscribe now and after every reconnect.

        When it returns with a connection, the broker knows the subscription.
        `inline`: messages are handled one after the other, in order; otherwise each in a task of its own.
        """
        subscription = Subscription(subject, queue, handler, inline, self._forget)
        self._subscriptions[subscription] = None
        if self._client is not None and not self._client.is_closed:
            try:
                await subscription.attach(self._client)
                await _flush(self._client)
            except NatsError as error:
                # The client is closing; its successor subscribes.
                get_log().info("subscription.deferred", subject=subject, error=repr(error))
        return subscription

    async def request(
        self,
        service: str,
        verb: str,
        model: BaseModel | None,
        result: type[ModelT],
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> ModelT:
        """Ask a service and return its result as `result`.

        Raises:
            ProblemError: what the service answered.
            BrokerUnavailable, ServiceUnavailable: nobody answered (both are ProblemErrors).
        """
        payload = model.model_dump_json().encode() if model is not None else b"{}"
        message = await self.ask(subjects.service(service, verb), payload, service, timeout_s)
        try:
            reply = Reply.model_validate_json(message.data)
            if reply.problem is not None:
                raise ProblemError(reply.problem)
            return result.model_validate(reply.result)
        except ValidationError as error:
            raise ServiceUnavailable(service, f"Its answer cannot be read: {error}.") from error

    async def call(self, verb: ServiceVerb[RequestT, ModelT], request: RequestT) -> ModelT:
        """Send a request of the table `mosaic_contracts.verbs` and return its result; errors as `request`."""
        return await self.request(verb.service, verb.name, request, verb.result, verb.timeout_s)

    async def ask(
        self, subject: str, payload: bytes, whom: str, timeout_s: float = REQUEST_TIMEOUT_S
    ) -> Msg:
        """Request/reply on any subject; `whom` names the other side in errors (see `request`)."""
        try:
            return await self.client.request(subject, payload, timeout=timeout_s)
        except NoRespondersError as error:
            raise ServiceUnavailable(
                whom,
                "It is starting, not running, or refused by the broker (`./mosaic doctor` "
                "finds out).",
            ) from error
        except NatsTimeout as error:
            if not self.connected.is_set():
                raise self._unavailable() from error
            raise ServiceUnavailable(whom, f"No answer within {timeout_s:g} s.") from error
        except NatsError as error:
            raise self._unavailable() from error

    async def serve(self, service: str, verbs: Mapping[str, Verb]) -> list[Subscription]:
        """Answer the verbs of `service`. Requests are validated here, once; each runs in a task of its own."""
        return [
            await self.subscribe(
                subjects.service(service, name), _Responder(*verb).respond, service, inline=False
            )
            for name, verb in verbs.items()
        ]

    def _unavailable(self) -> BrokerUnavailable:
        return BrokerUnavailable(self.url, self.refusal, is_trusted=not self._distrusts)

    def _forget(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription, None)

    async def _keep(self) -> None:
        while not self._stopping:
            closed = asyncio.Event()
            client = Client()
            try:
                async with asyncio.timeout(RENEW_S):
                    await self._connect(client, closed)
            except TimeoutError:
                await _close(client)
                continue
            except asyncio.CancelledError:
                await _close(client)  # the bus is closed, and knows nothing of this client yet
                raise
            except CertificateUnusable as error:
                await self._on_error(error)
                await asyncio.sleep(RENEW_S)
                continue
            self._client = client
            try:
                # A copy: one may be cancelled while another is attached.
                for subscription in list(self._subscriptions):
                    if not subscription.cancelled:
                        await subscription.attach(client)
                await _flush(client)
                if not client.is_connected:
                    # nats-py's `flush` returns without a word when the connection went meanwhile
                    raise ConnectionClosedError
            except (NatsError, OSError) as error:
                await self._on_error(error)
                self._client = None
                await _close(client)
                await asyncio.sleep(RETRY_S)
                continue
            self._mark_connected()
            await self._until_useless(client, closed)
            self._mark_lost()
            self._note_refusal(client.last_error)
            if closed.is_set():
                get_log().warning("broker.closed_connection", error=repr(client.last_error))
            else:
                get_log().warning("broker.client_replaced", error=repr(client.last_error))
                await _close(client)
            # The server refused us; it may do so again at once.
            await asyncio.sleep(RETRY_S)

    async def _until_useless(self, client: Client, closed: asyncio.Event) -> None:
        """Return when the client is closed, or has had no connection for `RENEW_S`.

        The client itself is asked: its callbacks may not come when its reconnect ends unexpectedly.
        """
        loop = asyncio.get_running_loop()
        seen_at = loop.time()
        while not closed.is_set():
            try:
                async with asyncio.timeout(RENEW_S / 2):
                    await closed.wait()
            except TimeoutError:
                if client.is_connected:
                    seen_at = loop.time()
                elif loop.time() - seen_at >= RENEW_S:
                    return
                else:
                    self._mark_lost()

    async def _connect(self, client: Client, closed: asyncio.Event) -> None:
        async def on_closed() -> None:
            closed.set()

        # A client that was replaced may still have something to report, which is not true of the bus any more.
        async def on_disconnected() -> None:
            if self._client is client:
                if self.connected.is_set():
                    get_log().warning("broker.disconnected", url=self.url)
                self._mark_lost()

        async def on_reconnected() -> None:
            if self._client is client:
                self._mark_connected()

        options: dict[str, Any] = {}
        if self._creds is not None:
            options = CredsFile(self._creds).options()
        options |= connect_options(self.url, self._ca)
        await client.connect(
            self.url,
            name=self.name,
            error_cb=self._on_error,
            closed_cb=on_closed,
            disconnected_cb=on_disconnected,
            reconnected_cb=on_reconnected,
            max_reconnect_attempts=-1,
            # nats-py says int, and only adds and sleeps it
            reconnect_time_wait=RETRY_S,  # type: ignore[arg-type]
            connect_timeout=2,
            ping_interval=5,
            max_outstanding_pings=2,
            inbox_prefix=subjects.inbox_prefix(self.name),
            **options,
        )

    def _mark_connected(self) -> None:
        self._last_error = self._refused = self._distrusts = ""
        self.connects += 1
        self.lost.clear()
        self.connected.set()
        get_log().info("broker.connected", url=self.url, connects=self.connects)
        for callback in self._callbacks:
            callback()

    def _mark_lost(self) -> None:
        self.connected.clear()
        self.lost.set()

    async def _on_error(self, error: Exception) -> None:
        # An outage makes the same error four times a second; it is said once.
        text = repr(error)
        self._note_refusal(error)
        if text != self._last_error:
            self._last_error = text
            get_log().warning("broker.error", error=text)

    def _note_refusal(self, error: Exception | None) -> None:
        said = str(error).removeprefix("nats: ").strip("'")
        distrust = str(error) if isinstance(error, CertificateUnusable) else distrust_of(error)
        if distrust is not None:
            if distrust != self._distrusts:
                self._distrusts = distrust
                get_log().error("broker.not_trusted", what_to_do=self.refusal)
            return
        is_refusal = isinstance(error, CredsFileDamaged) or jwt.is_refusal(said)
        if is_refusal and said != self._refused:
            self._refused = said
            get_log().error("broker.refused_credentials", what_to_do=self.refusal)


def refusal_text(url: str, name: str, said: str) -> str:
    """That the broker refuses a service's credentials, in words."""
    return (
        f"The broker at {url} refuses the credentials of the {name} ({said}). Start the stack again "
        "(`./mosaic down`, `./mosaic up -d`): that writes new ones, and runs go on meanwhile."
    )


def distrust_text(url: str, why: str) -> str:
    """That TLS to the broker fails, in words."""
    return (
        f"The broker at {url} is not the one that this stack trusts ({why}). Nothing was sent to it. MOSAIC_BROKER_CA "
        "must be a copy of the stack's `nats/config/ca.crt`; start the stack again (`./mosaic down`, `./mosaic up -d`)."
    )


async def _close(client: Client) -> None:
    """Close a client of which nothing is needed any more.

    nats-py 2.16 drains its transport first, which fails where the broker went a moment before; and after a TLS
    handshake in which the broker went it waits for ever for an end that has come.
    """
    try:
        async with asyncio.timeout(_FLUSH_TIMEOUT_S):
            await client.close()
    except (NatsError, OSError, TimeoutError) as error:
        get_log().info("broker.close_failed", error=repr(error))


async def _flush(client: Client) -> None:
    """Return when the broker has taken everything that was sent before.

    nats-py 2.16 writes the PING of `flush` ahead of commands that still wait in its buffer, so that one flush
    proves nothing about them; the first empties the buffer, the second comes after it.
    """
    for _ in range(2):
        await client.flush(timeout=_FLUSH_TIMEOUT_S)


class _Responder:
    """Turns a message into a call, and a result or an exception into a reply."""

    def __init__(
        self,
        model: type[BaseModel] | None,
        handler: Callable[..., Awaitable[BaseModel | None]],
    ) -> None:
        self._model = model
        self._handler = handler

    async def respond(self, message: Msg) -> None:
        reply = await self._answer(message)
        if not message.reply:
            return
        try:
            await message.respond(reply.model_dump_json().encode())
        except MaxPayloadError:
            # Without an answer the asker would wait out its whole time and take us for dead.
            get_log().warning("reply.too_large", subject=message.subject)
            await message.respond(_too_large().model_dump_json().encode())

    async def _answer(self, message: Msg) -> Reply:
        try:
            arguments = [] if self._model is None else [_parse(self._model, message.data)]
            result = await self._handler(*arguments)
            return Reply(result=None if result is None else result.model_dump(mode="json"))
        except ProblemError as error:
            return Reply(problem=error.problem)
        except Exception as error:  # noqa: BLE001 - boundary: the asker gets a problem, the log the traceback
            get_log().error(
                "request.failed", subject=message.subject, error=repr(error), exc_info=error
            )
            return Reply(
                problem=Problem(
                    code=ProblemCode.INTERNAL,
                    title="The request failed inside the service",
                    detail=f"{type(error).__name__}. The service's log says more.",
                )
            )


def _too_large() -> Reply:
    return Reply(
        problem=Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="The answer is too large",
            detail="It does not fit one message of the broker. Request less, for example with a "
            "smaller `limit`.",
        )
    )


def _parse(model: type[RequestT], data: bytes) -> RequestT:
    try:
        return model.model_validate_json(data or b"{}")
    except pydantic.ValidationError as error:
        raise ProblemError(
            Problem(
                code=ProblemCode.REQUEST_INVALID,
                title="The request is not valid",
                detail=str(error),
                fields=[
                    {"where": ".".join(map(str, e["loc"])), "message": e["msg"]}
                    for e in error.errors()
                ],
            )
        ) from error
