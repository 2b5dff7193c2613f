"""What a worker says of itself: worker.toml, `describe`, `check`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.grid import Grid
from mosaic_contracts.ids import WorkerIdField
from mosaic_contracts.models import PeerModel, UserModel

CHECKPOINT_MARK = "x-checkpoint"
"""True in a property of an algorithm's schema: it takes a checkpoint, as `RUN/PATH` or as a path of the machine."""
WORLD_MARK = "x-world"
"""True in a property: it belongs to the world, so that a play of the run takes it over."""


class DeviceNeed(StrEnum):
    """Whether a worker uses an accelerator."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class WorkerManifest(UserModel):
    """A `worker.toml`: how to reach a worker, without importing it."""

    id: WorkerIdField
    title: str
    aliases: list[str] = Field(default_factory=list)
    room: str | None = None
    """Name of the environment under `venvs/`; `{python}` in `command` is its interpreter."""
    command: list[str] = Field(min_length=1)
    """Process placement: argv before `describe`, `check`, `train`, `play`. `{python}` is replaced."""
    image: str | None = None
    lane: Literal["telemetry", "analytics"] = "telemetry"
    device: DeviceNeed = DeviceNeed.NONE
    bundles: list[str] = Field(default_factory=list)
    """Optional dependency sets this worker knows of, e.g. `atari`."""
    hint: str = ""
    """What to do when the environment of the worker is missing."""


class Algorithm(PeerModel):
    """One algorithm and the JSON Schema of its arguments."""

    id: str
    title: str
    summary: str = ""
    documentation: str = ""
    """Markdown for the user who chooses it: what it does, when to take it, what to tune first. Shown next to the form;
    nothing that it names (pictures) is loaded."""
    parameters: dict[str, Any]
    """JSON Schema (object). Properties carry default, description, `x-group`, `x-unit`, `x-flag`, `x-tracking`."""
    action_spaces: list[str] = Field(default_factory=list)
    """Kinds it can act in: `discrete`, `box`, `multi_discrete`."""
    observation_spaces: list[str] = Field(default_factory=list)
    default_environment: str | None = None
    steps_parameter: str | None = None
    """Parameter that `RunSpec.steps` sets; naming both in one spec is refused."""
    seed_parameter: str | None = None
    environment_parameter: str | None = None
    services: list[str] = Field(default_factory=list)
    """Services of the stack that its runs cannot do without: `xmpp` (`mosaic_contracts.xmpp`)."""
    agents_parameter: str | None = None
    """Parameter that says how many agents a run has: each gets an account of its own. None: one."""
    device: DeviceNeed | None = None
    """Whether it uses a GPU; None: as its worker."""
    tells: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]] = Field(default_factory=list)
    """Families of namespaced events that each of its runs records, by the first word of their type: `bdi`, `policy`."""
    warm_start: bool = False
    play: bool = False


class Environment(PeerModel):
    """One environment that the worker can make here."""

    id: str
    title: str = ""
    action_space: str | None = None
    observation_space: str | None = None
    max_steps: int | None = None
    render: bool = False
    bundle: str | None = None
    """Dependency bundle it needs; None: in the base environment."""
    algorithms: list[str] = Field(default_factory=list)
    """Those of the worker that can act in it; empty: the spaces alone decide."""
    grid: Grid | None = None
    """For worlds whose states lie on a grid: its shape and the kinds of its cells."""


class WorkerDescription(PeerModel):
    """Answer of `describe`: everything a client needs to build forms, tabs and buttons."""

    contract: int = 1
    worker: str
    version: str
    title: str
    summary: str = ""
    modes: list[str] = Field(default_factory=lambda: ["train"])
    record_levels: list[str]
    algorithms: list[Algorithm]
    environments: list[Environment]
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of the packages that decide results, e.g. torch, gymnasium."""
    needs_consent: bool = False
    """Some of its plans need what the user must agree to (`CheckReport.needs`): no submit without asking `check`."""
    tracking: list[str] = Field(default_factory=list)
    """Trackers outside the stack that its runs can write to, e.g. `wandb`; parameters say by `x-tracking` what they
    are to one (`mosaic_contracts.tracking`). Empty: none, whatever its parameters are called."""

    def find_algorithm(self, name: str) -> Algorithm | None:
        """The algorithm with this id; None when the worker has no such algorithm."""
        return next((each for each in self.algorithms if each.id == name), None)


class Finding(PeerModel):
    """One line of a check."""

    level: Literal["ok", "warning", "blocking"]
    where: str
    """Field of the spec or part of the system, e.g. `parameters.gamma`, `environment`."""
    message: str
    code: str = ""
    """A problem code where there is one (`mosaic_contracts.problems`)."""
    nearest: list[str] = Field(default_factory=list)
    """Closest known names, best first."""


class CheckReport(PeerModel):
    """Answer of `check`: the exact plan and what is missing. Nothing was started."""

    ok: bool
    findings: list[Finding]
    plan: dict[str, Any] = Field(default_factory=dict)
    """What would run: script, argv, all parameters with their values, packages, record level."""
    needs: list[str] = Field(default_factory=list)
    """What the user must agree to first, in words: internet access and to whom, a script from outside."""
