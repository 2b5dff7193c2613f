"""What a worker says of itself: worker.toml, `describe`, `check`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.grid import Grid
from mosaic_contracts.id_fields import WorkerIdField
from mosaic_contracts.models import PeerModel, UserModel

FILE_MARK = "x-file"
"""Key of a parameter's schema: ending of files whose path it takes, e.g. `.asl`. Such a file can be dropped on the
window."""
FILE_TEXT_MARK = "x-file-text"
"""As FILE_MARK, for a parameter that takes the text of such a file."""
CHECKPOINT_MARK = "x-checkpoint"
"""Key of a schema property that takes a checkpoint, as `RUN/PATH` or as a path of the machine."""
WORLD_MARK = "x-world"
"""Key of a schema property that belongs to the world, so that a play of the run takes it over."""
OPTIONS_MARK = "x-options"
"""Key of a schema property that takes options of the environment (`Environment.options`), as JSON object."""
KEYS_MARK = "x-keys"
"""Key of a schema property that takes a key map (`play.PlayControls.keys`), as JSON object."""


class DeviceNeed(StrEnum):
    """Whether a worker uses an accelerator."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class WorkerManifest(UserModel):
    """Content of a `worker.toml`: how to start a worker without importing it."""

    id: WorkerIdField
    title: str
    aliases: list[str] = Field(default_factory=list)
    room: str | None = None
    """Name of the environment under `venvs/`; `{python}` in `command` is its interpreter."""
    command: list[str] = Field(min_length=1)
    """Command line before `describe`, `check`, `train` and `play`. `{python}` is replaced."""
    image: str | None = None
    lane: Literal["telemetry", "analytics"] = "telemetry"
    device: DeviceNeed = DeviceNeed.NONE
    bundles: list[str] = Field(default_factory=list)
    """Optional dependency sets this worker knows of, e.g. `atari`."""
    hint: str = ""
    """What to do when the worker's environment is missing."""


class Algorithm(PeerModel):
    """An algorithm and the JSON Schema of its parameters."""

    id: str
    title: str
    summary: str = ""
    documentation: str = ""
    """Markdown for the user who chooses the algorithm: what it does, when to use it, what to tune first. Pictures
    are not loaded."""
    parameters: dict[str, Any]
    """JSON Schema (object). Properties carry default, description, `x-group`, `x-unit`, `x-flag`, `x-tracking`, and
    the marks of this module."""
    action_spaces: list[str] = Field(default_factory=list)
    """Kinds of action spaces that it supports: `discrete`, `box`, `multi_discrete`."""
    observation_spaces: list[str] = Field(default_factory=list)
    default_environment: str | None = None
    steps_parameter: str | None = None
    """Parameter that `RunSpec.steps` sets; naming both in one spec is refused."""
    seed_parameter: str | None = None
    environment_parameter: str | None = None
    services: list[str] = Field(default_factory=list)
    """Services of the stack that its runs need: `xmpp` (`mosaic_contracts.xmpp`)."""
    agents_parameter: str | None = None
    """Parameter that sets the number of agents, each with an account of its own. None: one agent."""
    device: DeviceNeed | None = None
    """Whether it uses a GPU; None: as its worker says."""
    tells: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]] = Field(default_factory=list)
    """Families of namespaced events that each of its runs records, by the first word of their type: `bdi`, `policy`."""
    warm_start: bool = False
    """Whether a training can begin with a checkpoint."""
    resumes: bool = True
    """Whether a training that begins with a checkpoint goes on exactly where that one stopped, with its counters and
    schedules. False: its checkpoint parameter is not used by `resume` and `restart: on_interrupt`."""
    play: bool = False
    """Whether its checkpoints can act in runs of kind play and evaluate."""
    human: bool = False
    """Whether a person acts in its runs, by the inputs of `mosaic_contracts.play`."""
    hybrid: bool = False
    """Whether a person can act in the plays of its checkpoints, by the same inputs: with keys that are held, or from
    the command `take` to `give`."""
    branches: bool = False
    """Whether its plays can begin at a step of a recorded episode (`RunSpec.start_from`)."""
    bundle: str | None = None
    """Bundle of dependencies that it needs whatever its environment is; None: the base environment."""
    install: str = ""
    """Command that installs what it lacks on this machine; empty: it lacks nothing."""
    unavailable: str = ""
    """Why it cannot run in this worker on any machine, and what to do instead; empty: it can. Clients list it with
    this text and offer no start."""


OptionValue = bool | int | float | str | None


class EnvironmentOption(PeerModel):
    """An argument with which an environment is made."""

    name: str
    type: Literal["boolean", "integer", "number", "string"]
    default: OptionValue = None
    """None: the environment decides."""
    choices: list[OptionValue] = Field(default_factory=list)
    """The values that it can have; empty: any of its type."""


class Environment(PeerModel):
    """An environment that the worker can make."""

    id: str
    title: str = ""
    action_space: str | None = None
    observation_space: str | None = None
    max_steps: int | None = None
    render: bool = False
    bundle: str | None = None
    """Bundle of dependencies that it needs; None: the base environment."""
    install: str = ""
    """Command that installs what it lacks on this machine; empty: it lacks nothing."""
    options: list[EnvironmentOption] = Field(default_factory=list)
    """Arguments that it can be made with, as far as they are known."""
    rate: float | None = None
    """Steps per second at which it is meant to be seen; None: not known."""
    turns: bool = False
    """Whether nothing happens in it by itself, so that a person plays it by turns."""
    algorithms: list[str] = Field(default_factory=list)
    """Algorithms of the worker that can act in it; empty: the spaces decide."""
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
    """Versions of packages that affect results, e.g. torch, gymnasium."""
    needs_consent: bool = False
    """Whether some plans need the user's consent (`CheckReport.needs`), so that `check` is called before each
    submit."""
    own_environments: bool = False
    """Whether it also takes environments of the user's own, as `module:Id`."""
    tracking: list[str] = Field(default_factory=list)
    """Trackers outside the stack that its runs can write to, e.g. `wandb`; parameters say by `x-tracking` what they
    are to one (`mosaic_contracts.tracking`). Empty: none, whatever its parameters are called."""

    def find_algorithm(self, name: str) -> Algorithm | None:
        """The algorithm with this id; None when the worker has no such algorithm."""
        return next((each for each in self.algorithms if each.id == name), None)


class Finding(PeerModel):
    """One result of a check."""

    level: Literal["ok", "warning", "blocking"]
    where: str
    """Field of the spec or part of the system, e.g. `parameters.gamma`, `environment`."""
    message: str
    code: str = ""
    """A problem code where there is one (`mosaic_contracts.problems`)."""
    nearest: list[str] = Field(default_factory=list)
    """Closest known names, best first."""
    offers: dict[str, str] = Field(default_factory=dict)
    """Values of fields of the spec that would be accepted, e.g. `{"environment": "CartPole-v1"}`."""


class InspectRequest(PeerModel):
    """What `inspect` reads on stdin: a file that a user wants to import as a checkpoint."""

    path: str
    """Absolute path of the file. It comes from anywhere: no code in it may be run."""
    name: str
    """Name that the user knows it by, for messages."""
    made: str
    """Absolute path of an empty folder, for a converted checkpoint."""
    algorithm: str | None = None
    """Algorithm that the user named; None: the file must say it."""
    environment: str | None = None
    """Environment that the user named; None: the file must say it."""


class InspectedCheckpoint(PeerModel):
    """What a file is, as its worker sees it."""

    algorithm: str
    environment: str
    form: str = ""
    """What kind of file it is, in words, e.g. `.cleanrl_model`."""
    converted: str | None = None
    """Name of the checkpoint in `InspectRequest.made`; None: the file itself is a checkpoint of this worker."""
    step: int | None = None
    """Environment steps of its training; None: the file does not say."""
    seed: int | None = None
    normalizer: bool | None = None
    """Whether it has the statistics by which observations are normalised; None: the algorithm uses none."""
    spaces: dict[str, dict[str, Any]] | None = None
    """Spaces of the environment, `observation` and `action`."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Arguments of its training with their values, as far as the file says."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of packages that affected the training."""
    parameters: dict[str, bool | int | float | str | None] = Field(default_factory=dict)
    """Parameters of a run that plays it, for example those of its world."""


class InspectReport(PeerModel):
    """Answer of `inspect`."""

    ok: bool
    """Whether the worker takes the file; without it, a finding is blocking."""
    recognized: bool = False
    """Whether the worker knows what the file is, also where it does not take it. If several workers refuse a file, the
    words of one that knows it are shown."""
    findings: list[Finding] = Field(default_factory=list)
    """What is wrong: `where` is `file`, `algorithm` or `environment`."""
    checkpoint: InspectedCheckpoint | None = None
    """What the file is; None where it is not taken."""


class CheckReport(PeerModel):
    """Answer of `check`: the exact plan, and what is missing. Nothing was started."""

    ok: bool
    findings: list[Finding]
    plan: dict[str, Any] = Field(default_factory=dict)
    """What would run: script, argv, all parameters with values, packages, recording level."""
    needs: list[str] = Field(default_factory=list)
    """What needs the user's consent, in words: internet access and to whom, a script from outside."""
