"""Alerts: rules for all runs, what they found, and where it is sent."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, SecretStr, StringConstraints

from mosaic_contracts.alert_evaluation import AlertChange, AlertState
from mosaic_contracts.alert_words import TARGET_PATTERN
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.rule_texts import RuleText
from mosaic_contracts.run_search import MAX_SEARCH, SearchError, parse_search


def _search_text(text: str) -> str:
    try:
        search = parse_search(text)
    except SearchError as error:
        raise ValueError(f"{error} (character {error.start + 1})") from None
    if search.of_store.terms:
        raise ValueError(
            "runs are chosen by their record (env:, algo:, tag:, parameters), not by returns, steps or metrics"
        )
    return text.strip()


TargetName = Annotated[str, StringConstraints(pattern=TARGET_PATTERN)]


class AlertRuleRequest(UserModel):
    """Body of `POST /alerts/rules`: a rule for all runs."""

    rule: RuleText
    runs: Annotated[str, StringConstraints(max_length=MAX_SEARCH), AfterValidator(_search_text)] = (
        ""
    )
    """Search of the run list (`run_search`): only runs that fit. Empty: every training, evaluation and sweep."""


class AlertTestRequest(UserModel):
    """Body of `POST /alerts/test`: try a rule on what a run has recorded. Nothing is kept or sent."""

    rule: RuleText
    run_id: RunIdField


class AlertRuleView(PeerModel):
    """A rule for all runs."""

    rule_id: str
    rule: str
    plain: str
    """The rule as a sentence."""
    runs: str = ""
    created_at: AwareDatetime
    removed_at: AwareDatetime | None = None
    """Time at which it was removed. It can be restored for a day."""


class RaisedAlert(PeerModel):
    """An alert of a run that has not cleared, in the record of the run."""

    alert_id: int
    rule: str
    message: str
    raised_at: AwareDatetime


class DeliveryView(PeerModel):
    """The way of an alert to a target."""

    target: str
    state: Literal["waiting", "delivered", "failed"]
    tries: int = 0
    problem: str = ""
    """Why the last try failed, without the secret parts of the target."""


class AlertView(PeerModel):
    """One alert, raised or cleared."""

    alert_id: int
    run_id: str | None = None
    """None: it concerns the stack."""
    run_name: str = ""
    rule: str
    plain: str
    rule_id: str | None = None
    """None: the rule stood in the run's spec."""
    message: str
    step: int | None = None
    value: float | None = None
    metric: str = ""
    raised_at: AwareDatetime
    cleared_at: AwareDatetime | None = None
    deliveries: list[DeliveryView] = Field(default_factory=list)


class AlertTargetRequest(UserModel):
    """Body of `PUT /alerts/targets/{name}`: send alerts to a webhook from now on."""

    webhook: Annotated[SecretStr, Field(min_length=8, max_length=2000)]
    """Address that takes a POST of JSON (`https://...`). It is never returned or logged."""
    authorization: Annotated[SecretStr, Field(min_length=1, max_length=2000)] | None = None
    """Value of the `Authorization` header. It is never returned or logged."""
    consent: Literal[True]
    """The user's agreement that names, returns and messages of runs are sent there."""


class AlertTargetView(PeerModel):
    """A target of alerts, without its secrets."""

    name: str
    kind: Literal["webhook", "command"]
    shown: str
    """Scheme and host of a webhook, or the program of a command."""
    created_at: AwareDatetime
    last_problem: str = ""
    """Why the last delivery failed; empty: it did not."""


class AlertTargetFile(PeerModel):
    """A file of `alert_words.TARGETS_DIR`. Only the user of the stack can write it there, which is the consent."""

    kind: Literal["webhook", "command"]
    url: str = ""
    """Address of a webhook."""
    authorization: str = ""
    argv: list[str] = Field(default_factory=list)
    """Program and arguments of a command. No shell reads them."""
    created_at: AwareDatetime

    @property
    def shown(self) -> str:
        """What may be shown of it: scheme and host, or the program."""
        if self.kind == "command":
            return " ".join(self.argv[:1]) + (" ..." if len(self.argv) > 1 else "")
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2].partition('?')[0]}/***"


class AlertReport(PeerModel):
    """Answer of `GET /alerts`."""

    rules: list[AlertRuleView]
    alerts: list[AlertView]
    """Those that have not cleared, and the newest of the others, newest first."""
    targets: list[AlertTargetView]


class AlertQuery(UserModel):
    """Which alerts a report has."""

    run: RunIdField | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class AlertTestReport(PeerModel):
    """Answer of `POST /alerts/test`."""

    rule: str
    plain: str
    changes: list[AlertChange] = Field(default_factory=list)
    """When the rule would have raised and cleared an alert, at most 1,000."""
    note: str = ""
    """Why nothing could be looked at, e.g. because the run has no such metric."""


class AlertDelivery(PeerModel):
    """What a target is sent, as JSON: the body of a webhook's POST, or the standard input of a command."""

    v: Literal[1] = 1
    delivery: str
    """Unique for alert, change and target. A delivery that comes twice has the same one."""
    event: str
    """`alert.raised`, `alert.cleared` or `alert.test`."""
    text: str
    """One line in words. Chat services that take `{"text": ...}` show it as it is."""
    rule: str
    plain: str
    message: str
    run_id: str | None = None
    run_name: str = ""
    environment: str = ""
    algorithm: str = ""
    state: str = ""
    step: int | None = None
    value: float | None = None
    metric: str = ""
    last_return: float | None = None
    at: AwareDatetime


class RuleLook(PeerModel):
    """A rule, and how far its evaluation in one run is."""

    key: str
    rule: str
    state: AlertState = Field(default_factory=AlertState)
    changes: list[AlertChange] = Field(default_factory=list)
    """In the answer: what began and ended."""


class EvaluateRequest(PeerModel):
    """Asks the recorder to move rules on to what the store has of a run."""

    run_id: str
    rules: list[RuleLook]
    is_running: bool = True
    """Whether time without an episode counts."""
    all_changes: bool = False
    """Whether each change is wanted, as for a test. False: of many in one page the first and the last."""


class EvaluateResult(PeerModel):
    """Rules that were moved on."""

    rules: list[RuleLook]
    has_more: bool = False
    """Whether the store has more: the request is repeated with these states."""
    last_return: float | None = None


class AlertRuleOrder(PeerModel):
    """Add a rule."""

    asked: dict[str, Any]
    """An AlertRuleRequest as the user sent it; the scheduler validates it, once."""


class AlertTestOrder(PeerModel):
    """Try a rule."""

    asked: dict[str, Any]
    """An AlertTestRequest, as `AlertRuleOrder.asked`."""


class AlertRuleName(PeerModel):
    """Names a rule for all runs."""

    rule_id: str


class AlertTargetName(PeerModel):
    """Names a target."""

    name: str


class AlertTargetOrder(PeerModel):
    """Add a webhook. It carries secrets: it is never logged."""

    name: str
    asked: dict[str, Any]
    """An AlertTargetRequest, as `AlertRuleOrder.asked`."""
