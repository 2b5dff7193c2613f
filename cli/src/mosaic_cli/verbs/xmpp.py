"""`xmpp`: the server over which the agents of a run talk, as a service of this machine's stack."""

import time
from typing import Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import NoStack, StackStartProblem, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.stack import xmpp_wish as server
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.service_log import log_tail
from mosaic_cli.stack.start_options import StartOptions
from mosaic_cli.stack.state import running_stack
from mosaic_cli.target import elsewhere_url, is_elsewhere, open_client
from mosaic_cli.verbs.stack import present_stack, start_and_wait
from mosaic_client import light

START_S = 60.0
STOP_S = 30.0
LOOK_EVERY_S = 0.1
MANY_RESTARTS = 3


def xmpp(context: typer.Context) -> None:
    """Manage the XMPP server over which agents talk to each other."""


def up(json: option.Json = False) -> None:
    """Start the server, now and whenever this machine's stack starts. If no stack is up, start one too.

    The server needs ejabberd (a package of Debian and Ubuntu). Exit code 6 means that it is missing; the message
    says how to get it.
    """
    _refuse_elsewhere()
    layout = Layout.of_environment()
    server.require_installed()
    layout.prepare_home()
    server.want(layout)
    if present_stack(layout) is None:
        start_and_wait(layout, StartOptions())
    with err.status("Starting the XMPP server ..."):
        _wait_until_up(layout)
    _show(layout, json)


def down(json: option.Json = False) -> None:
    """Stop the server; the rest of the stack stays up. Runs whose agents talk continue without it."""
    _refuse_elsewhere()
    layout = Layout.of_environment()
    had = server.unwant(layout)
    with err.status("Stopping the XMPP server ..."):
        _wait_until_gone(layout)
    server.forget_server(layout)
    if json:
        emit({"was_up": had})
    else:
        say("The XMPP server is down." if had else "No XMPP server was wanted.")


def status(json: option.Json = False) -> None:
    """Show the state of the server: exit code 0 if it is up, 3 if there is none, else 6.

    If MOSAIC_URL names a stack, its scheduler reports whether agents could log in: exit code 0 if so, else 6.
    """
    if is_elsewhere():
        _show_elsewhere(json)
        return
    layout = Layout.of_environment()
    entry = _entry(layout)
    if entry is None and not json:
        raise NoStack(_none_words(layout))
    _show(layout, json)
    if entry is None:
        raise typer.Exit(ExitCode.NO_STACK)
    if entry.state != "up":
        raise typer.Exit(ExitCode.NOT_NOW)


def _refuse_elsewhere() -> None:
    if is_elsewhere():
        raise ValueRefused(
            f"MOSAIC_URL names the stack at {elsewhere_url()}, whose XMPP server is started and stopped where that "
            "stack runs, in containers with `docker compose up -d xmpp`. Without MOSAIC_URL this verb is for the "
            "stack of this machine."
        )


def _show_elsewhere(json: bool) -> None:
    from mosaic_cli.xmpp_elsewhere import ask_for_login

    url = elsewhere_url()
    with open_client() as client:
        line = ask_for_login(client)
    if json:
        emit({"stack": url, "login": line})
    if line is None:
        raise NoStack(
            f"No worker of the stack at {url} has agents that talk, so nobody needs XMPP."
        )
    if line.level == "ok":
        if not json:
            out.print(f"Agents of the stack at {url} can log in: {line.message}")
        return
    raise StackStartProblem(f"Agents of the stack at {url} cannot log in. {line.message}")


def _show(layout: Layout, json: bool) -> None:
    entry, known = _entry(layout), server.known_server(layout)
    if json:
        emit({"service": _plain_entry(layout), "server": known, "wanted": server.is_wanted(layout)})
        return
    if entry is None or known is None:
        return
    word = entry.state.replace("_", " ")
    out.print(f"The XMPP server is {word}: {known.domain} at {known.host}:{known.port}")
    if entry.restarts:
        out.print(f"  {entry.restarts} restarts, last {entry.last_exit}", style="yellow")
    out.print(f"  log: {layout.home / entry.log}", soft_wrap=True)


def _none_words(layout: Layout) -> str:
    if not server.is_installed():
        return "There is no XMPP server, and no ejabberd is installed; `./mosaic xmpp up` says how."
    if server.is_wanted(layout):
        return "The stack is down, and its XMPP server with it. `./mosaic up -d` starts both."
    return "This stack has no XMPP server. Runs whose agents talk need one: ./mosaic xmpp up"


def _entry(layout: Layout) -> light.ServiceFields | None:
    stack = running_stack(layout.home, layout.lock_file)
    services = stack.services if stack is not None else []
    return next((service for service in services if service.name == server.NAME), None)


def _plain_entry(layout: Layout) -> dict[str, Any] | None:
    """The same with all that stack.json says of it."""
    stack = running_stack(layout.home, layout.lock_file)
    services = stack.plain()["services"] if stack is not None else []
    return next((service for service in services if service["name"] == server.NAME), None)


def _wait_until_up(layout: Layout) -> None:
    deadline_s = time.monotonic() + START_S
    entry = _entry(layout)
    before = entry.restarts if entry is not None else 0
    while time.monotonic() < deadline_s:
        entry = _entry(layout)
        if entry is not None and entry.state == "up":
            return
        if entry is not None and entry.restarts - before >= MANY_RESTARTS:
            break
        time.sleep(LOOK_EVERY_S)  # another process's file: there is no event for its change
    log = layout.home / layout.log(server.NAME)
    how = f"it is {entry.state}, last {entry.last_exit}" if entry else "the stack does not start it"
    tail = "\n  ".join(log_tail(log))
    raise StackStartProblem(f"The XMPP server does not come up: {how}. Its log, {log}:\n  {tail}")


def _wait_until_gone(layout: Layout) -> None:
    deadline_s = time.monotonic() + STOP_S
    while _entry(layout) is not None:
        if time.monotonic() > deadline_s:
            raise StackStartProblem(
                "The XMPP server did not stop. `./mosaic status` shows it; `./mosaic down` "
                "stops the whole stack."
            )
        time.sleep(LOOK_EVERY_S)  # as above
