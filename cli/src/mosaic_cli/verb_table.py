"""Every verb and where it is defined. Help, completion and the verbs themselves are found here, one module a verb.

The module of a verb is imported when that verb is run or its help is asked for, and no other.
"""

from typing import NamedTuple

BEGIN, LOOK, CHANGE, CARE = "Begin", "Look", "Change", "Care"


class Verb(NamedTuple):
    """One verb."""

    name: str
    module: str
    """Below `mosaic_cli.verbs`."""
    function: str


class Entry(NamedTuple):
    """A verb of the first level."""

    verb: Verb
    panel: str
    """Heading in `--help`."""
    elsewhere: bool = True
    """It may be asked of a stack elsewhere (`--url` and its companions)."""
    members: tuple[Verb, ...] = ()
    """Verbs of its own: `queue hold`."""
    acts_alone: bool = False
    """It does something without one of its own verbs."""
    default: str = ""
    """Verb of its own that is meant where none is named."""


def _entry(panel: str, name: str, module: str = "", *, elsewhere: bool = True) -> Entry:
    function = name.replace("-", "_")
    return Entry(Verb(name, module or function, function), panel, elsewhere)


def _group(
    panel: str,
    name: str,
    members: dict[str, str],
    *,
    elsewhere: bool = True,
    acts_alone: bool = False,
    default: str = "",
) -> Entry:
    verbs = tuple(Verb(word, name, function) for word, function in members.items())
    return Entry(Verb(name, name, name), panel, elsewhere, verbs, acts_alone, default)


ENTRIES = (
    _entry(BEGIN, "demo", elsewhere=False),
    _entry(BEGIN, "run"),
    _entry(BEGIN, "play"),
    _entry(BEGIN, "evaluate"),
    _entry(BEGIN, "fork"),
    _entry(BEGIN, "compare"),
    _group(
        BEGIN,
        "sweep",
        {
            "start": "start_sweep",
            "list": "list_sweeps",
            "show": "show_sweep",
            "best": "best",
            "stop": "stop_sweep",
            "resume": "resume_sweep",
            "export": "export_sweep",
        },
        default="start",
    ),
    _entry(BEGIN, "reproduce"),
    _entry(BEGIN, "up", "stack", elsewhere=False),
    _entry(BEGIN, "down", "stack", elsewhere=False),
    _entry(BEGIN, "status", "status"),
    _entry(LOOK, "ps", "runs"),
    _entry(LOOK, "show", "runs"),
    _entry(LOOK, "diff"),
    _entry(LOOK, "logs"),
    _entry(LOOK, "events", "telemetry"),
    _entry(LOOK, "episodes", "telemetry"),
    _entry(LOOK, "metrics", "telemetry"),
    _entry(LOOK, "beliefs"),
    _entry(LOOK, "watch", "replay"),
    _entry(LOOK, "replay"),
    _entry(LOOK, "tensorboard"),
    _entry(LOOK, "export"),
    _entry(LOOK, "report"),
    _entry(LOOK, "artifacts"),
    _group(
        LOOK,
        "checkpoints",
        {"verify": "verify", "import": "import_checkpoint", "export": "export_checkpoint"},
        acts_alone=True,
    ),
    _entry(LOOK, "download", "artifacts"),
    _entry(LOOK, "link", "artifacts"),
    _entry(LOOK, "top"),
    _entry(LOOK, "gpus"),
    _entry(LOOK, "disk", "storage"),
    _group(
        LOOK,
        "alerts",
        {
            "list": "list_alerts",
            "add": "add_alert",
            "rm": "remove_alert",
            "restore": "restore_alert",
            "test": "try_alert",
            "target": "alert_target",
        },
        acts_alone=True,
    ),
    _entry(CHANGE, "stop", "runs"),
    _entry(CHANGE, "retry", "again"),
    _entry(CHANGE, "resume", "again"),
    _entry(CHANGE, "clone", "again"),
    _entry(CHANGE, "tag", "change"),
    _entry(CHANGE, "note", "change"),
    _entry(CHANGE, "rm", "change"),
    _entry(CHANGE, "restore", "change"),
    _entry(CHANGE, "pin", "storage"),
    _entry(CHANGE, "unpin", "storage"),
    _entry(CHANGE, "profile", "storage"),
    _entry(CHANGE, "gc", "storage"),
    _entry(CHANGE, "archive"),
    Entry(Verb("import", "archive", "import_file"), CHANGE),
    _group(CHANGE, "wandb", {"sync": "sync", "status": "status"}),
    _group(
        CHANGE,
        "queue",
        {"list": "list_queue", "hold": "hold", "release": "release", "priority": "priority", "move": "move"},
        acts_alone=True,
    ),
    _entry(CARE, "check", "run"),
    _entry(CARE, "preflight", "run"),
    _entry(CARE, "add", elsewhere=False),
    _entry(CARE, "new-worker", elsewhere=False),
    _entry(CARE, "workers"),
    _entry(CARE, "describe", "workers"),
    _entry(CARE, "worker-check", elsewhere=False),
    _entry(CARE, "doctor"),
    _entry(CARE, "completion"),
    _entry(CARE, "version", elsewhere=False),
    _group(CARE, "secret", {"set": "set_secret", "ls": "list_secrets", "rm": "remove_secret"}),
    _group(
        CARE,
        "backup",
        {"create": "create_backup", "restore": "restore_backup", "check": "check_backup"},
        elsewhere=False,
        default="create",
    ),
    _group(CARE, "xmpp", {"up": "up", "down": "down", "status": "status"}, elsewhere=False),
    _group(
        CARE,
        "images",
        {
            "list": "list_images",
            "build": "build",
            "export": "export",
            "pin": "pin",
            "add": "add",
            "remove": "remove",
        },
        elsewhere=False,
        acts_alone=True,
    ),
)  # fmt: skip
BY_NAME = {entry.verb.name: entry for entry in ENTRIES}
ALSO = {"list": "ls", "ls": "list"}
"""Members of a group under a second name."""
