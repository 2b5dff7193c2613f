"""`alerts`: rules that look at runs, what they found, and where it is sent."""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.alerting import keep_command, read_alert
from mosaic_cli.errors import NothingFound, ValueRefused
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.stack.layout import Layout
from mosaic_cli.target import is_elsewhere, open_client
from mosaic_cli.wording import age, one_line, plural
from mosaic_contracts.alert_words import EXAMPLES, TARGET_PATTERN

if TYPE_CHECKING:
    from datetime import datetime

    from mosaic_contracts.alerts import AlertReport, AlertView

Rule = Annotated[
    str, typer.Argument(metavar="RULE", help="For example 'return<50 for 50k steps'; in quotes.")
]
RuleId = Annotated[
    str, typer.Argument(metavar="RULE_ID", help="Id of a rule, e.g. r1 (`./mosaic alerts`).")
]
_BEGIN = (
    "There are no rules. `./mosaic alerts add 'return<50 for 50k steps'` adds one for all runs, "
    "`./mosaic run ... --alert RULE` one for a run."
)
_SENDS = "names, parameters' names, states, steps, values and messages of runs"


def alerts(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Option("--run", "-r", metavar="RUN", help="Only alerts of this run."),
    ] = None,
    limit: option.Limit = 20,
    json: option.Json = False,
) -> None:
    """Raise alerts when a rule holds in a run, and send them. Without a verb: rules, alerts and targets.

    A rule is one line: return<50 for 50k steps; mean>=475; nan or inf (in a loss), nan in losses/*;
    no episode for 20k steps, no episode for 10m; m.losses/value_loss>1e3; disk low; failed, ended,
    state:interrupted; unresponsive.
    """
    if context.invoked_subcommand is None:
        list_alerts(run, limit, json)


def list_alerts(
    run: Annotated[
        str | None,
        typer.Option("--run", "-r", metavar="RUN", help="Only alerts of this run."),
    ] = None,
    limit: option.Limit = 20,
    json: option.Json = False,
) -> None:
    """List rules for all runs, alerts (newest first) and targets."""
    with open_client() as client:
        run_id = None if run is None else find_run(client, run).run_id
        report, now = client.alerts(run_id, min(limit, 1000)), client.now()
    if json:
        emit(report)
        return
    _show_rules(report, now)
    _show_alerts(report.alerts, now)
    _show_targets(report, now)


def add_alert(
    rule: Rule,
    runs: Annotated[
        str,
        typer.Option(
            "--runs",
            metavar="SEARCH",
            help="Only runs that fit, e.g. 'env:CartPole* tag:ablation'; default: every training, "
            "evaluation and sweep.",
        ),
    ] = "",
    json: option.Json = False,
) -> None:
    """Add a rule for all runs, those included that run now."""
    read = read_alert(rule)
    with open_client() as client:
        view = client.add_alert_rule(read.text, runs)
    if json:
        emit(view)
        return
    say(f"{view.rule_id}: {one_line(view.plain)}. `./mosaic alerts rm {view.rule_id}` removes it.")


def remove_alert(rule_id: RuleId, json: option.Json = False) -> None:
    """Remove a rule and clear its alerts. It can be restored for a day."""
    with open_client() as client:
        view = client.remove_alert_rule(rule_id)
    if json:
        emit(view)
    else:
        say(
            f"{view.rule_id} ({one_line(view.rule)}) is removed. "
            f"`./mosaic alerts restore {view.rule_id}` brings it back within a day."
        )


def restore_alert(rule_id: RuleId, json: option.Json = False) -> None:
    """Bring a removed rule back."""
    with open_client() as client:
        view = client.restore_alert_rule(rule_id)
    emit(view) if json else say(f"{view.rule_id}: {one_line(view.plain)}.")


def try_alert(rule: Rule, run: option.Run, json: option.Json = False) -> None:
    """Try a rule on what a run has recorded: when it would have raised an alert. Nothing is kept or sent."""
    read = read_alert(rule)
    with open_client() as client:
        report = client.test_alert(read.text, find_run(client, run).run_id)
    if json:
        emit(report)
        return
    out.print(one_line(report.plain), soft_wrap=True)
    for change in report.changes[:50]:
        style = "red" if change.is_raised else "green"
        word = Text("raised " if change.is_raised else "cleared", style)
        step = "" if change.step is None else f"  step {change.step:,}"
        out.print(Text.assemble(word, f"{step}  {one_line(change.message)}"), soft_wrap=True)
    raised = sum(change.is_raised for change in report.changes)
    more = max(0, len(report.changes) - 50)
    if more:
        out.print(f"and {plural(more, 'more change')}", style="dim")
    say(report.note + "." if report.note else f"It would have raised {plural(raised, 'alert')}.")


def alert_target(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="add, rm or test.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the target, e.g. chat.")],
    webhook: Annotated[
        str | None,
        typer.Option(
            "--webhook",
            metavar="URL",
            help="With add: address that takes a POST of JSON; - asks for it, or reads stdin. "
            "Other users of this machine can read a command line.",
        ),
    ] = None,
    authorization: Annotated[
        bool,
        typer.Option(
            "--authorization", help="With --webhook: ask for the value of an Authorization header."
        ),
    ] = False,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="COMMAND",
            help="With add: program of yours with arguments, which gets JSON on its stdin. No shell "
            "reads it. Only on the machine of the stack.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Consent without being asked.")] = False,
    json: option.Json = False,
) -> None:
    """Add a webhook or a command that gets every alert, remove one, or send it a test."""
    if re.fullmatch(TARGET_PATTERN, name) is None:
        raise ValueRefused(
            "A target's name has up to 40 small letters, digits, _ and -, and begins with a letter."
        )
    if action == "add":
        _add_target(name, webhook, authorization, command, yes, json)
    elif action == "rm":
        with open_client() as client:
            client.delete_alert_target(name)
        emit({"name": name}) if json else say(f"{name} gets no more alerts.")
    elif action == "test":
        _test_target(name, json)
    else:
        raise ValueRefused(f"{one_line(action)} is no action: add, rm or test.")


def _add_target(
    name: str,
    webhook: str | None,
    authorization: bool,
    command: str | None,
    yes: bool,
    json: bool,
) -> None:
    if (webhook is None) == (command is None):
        raise ValueRefused("Give either --webhook URL or --command COMMAND.")
    if command is not None:
        if is_elsewhere():
            raise ValueRefused(
                "A command is added on the machine of the stack, without --url: it runs there, as you."
            )
        _ask(f"Every alert starts {one_line(command)!r}, as you, with {_SENDS} on its stdin.", yes)
        argv = keep_command(Layout.of_environment().home, name, command)
        if json:
            emit({"name": name, "kind": "command", "argv": argv})
        else:
            say(
                f"{name}: alerts start {one_line(argv[0])}. `./mosaic alerts target test {name}` tries it."
            )
        return
    address = _secret("Address of the webhook") if webhook == "-" else str(webhook)
    header = _secret("Value of the Authorization header") if authorization else None
    host = re.sub(r"^([a-z]+://)?([^/@]*@)?([^/?]*).*$", r"\3", address)
    _ask(f"Every alert sends {_SENDS} to {one_line(host)}.", yes)
    with open_client() as client:
        view = client.set_alert_target(name, address, authorization=header, consent=True)
    if json:
        emit(view)
    else:
        say(f"{name}: alerts go to {view.shown}. `./mosaic alerts target test {name}` tries it.")


def _test_target(name: str, json: bool) -> None:
    with open_client() as client:
        way = client.test_alert_target(name)
    if json:
        emit(way)
    elif way.state == "delivered":
        say(f"{name} took the test.")
    else:
        raise NothingFound(f"{name} did not take the test: {one_line(way.problem)}.")


def _ask(what: str, yes: bool) -> None:
    if yes:
        return
    err.print(what, soft_wrap=True)
    if not sys.stdin.isatty():
        raise ValueRefused("Nobody can be asked here. `--yes` consents.")
    if not typer.confirm("Do you agree?", err=True):
        raise ValueRefused("Nothing was changed.")


def _secret(what: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _show_rules(report: "AlertReport", now: "datetime") -> None:
    rules = [rule for rule in report.rules if rule.removed_at is None]
    if not rules:
        say(f"{_BEGIN} Examples: {'; '.join(EXAMPLES)}.")
        return
    table = _table("RULE_ID", "RULE", "RUNS", "ADDED")
    for rule in rules:
        runs = one_line(rule.runs) or "all"
        table.add_row(rule.rule_id, one_line(rule.rule), runs, age(rule.created_at, now))
    out.print(table)


def _show_alerts(found: "list[AlertView]", now: "datetime") -> None:
    if not found:
        say("No alert was raised.")
        return
    table = _table("ALERT", "RUN", "RULE", "RAISED", "CLEARED", "MESSAGE", "SENT TO")
    for one in found:
        table.add_row(
            str(one.alert_id),
            "stack" if one.run_id is None else one.run_id,
            Text(one_line(one.rule), "" if one.cleared_at else "red"),
            age(one.raised_at, now),
            age(one.cleared_at, now) if one.cleared_at else "-",
            one_line(one.message),
            ", ".join(_way(way.target, way.state, way.problem) for way in one.deliveries) or "-",
        )
    out.print()
    out.print(table)


def _show_targets(report: "AlertReport", now: "datetime") -> None:
    if not report.targets:
        say("No target: `./mosaic alerts target add NAME` sends alerts to a webhook or a command.")
        return
    table = _table("TARGET", "KIND", "WHERE", "ADDED", "LAST PROBLEM")
    for one in report.targets:
        problem = one_line(one.last_problem) or "-"
        table.add_row(one.name, one.kind, one_line(one.shown), age(one.created_at, now), problem)
    out.print()
    out.print(table)


def _way(target: str, state: str, problem: str) -> str:
    return (
        target
        if state == "delivered"
        else f"{target} ({state}{': ' if problem else ''}{one_line(problem)})"
    )


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
