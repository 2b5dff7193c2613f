"""The rules, in the order in which they are checked. docs/worker_author.md has the reasons."""

from typing import NamedTuple


class Rule(NamedTuple):
    """A requirement for workers, and what an author does when it fails."""

    claim: str
    remedy: str


_ENTRY = (
    "End the worker's module with sys.exit(mosaic_workerkit.entry.main(MyWorker())), which "
    "does this."
)

RULES: dict[str, Rule] = {
    "manifest.command": Rule(
        "the program of worker.toml can be found",
        "Correct `command` or make the environment; {python}: interpreter of `room`; {here}: folder of worker.toml.",
    ),
    "describe.answers": Rule(
        "`describe` ends by itself with exit code 0",
        "Run the command below by hand. Import heavy libraries in `train` only: people wait for `describe`.",
    ),
    "describe.json": Rule("`describe` prints one JSON document and nothing else on stdout", _ENTRY),
    "describe.valid": Rule(
        "`describe` prints a WorkerDescription",
        "Return a mosaic_contracts.worker.WorkerDescription.",
    ),
    "describe.id": Rule(
        "its id is the manifest's", "Give `worker` of the description the `id` of worker.toml."
    ),
    "describe.levels": Rule(
        "it names the recording levels that it knows, trains or plays, and has the mode play where an algorithm plays",
        "List some of metrics, episodes, replay, full in record_levels, train or play in modes, and an algorithm.",
    ),
    "describe.parameters": Rule(
        "each algorithm's parameters are a JSON Schema that a form can be made of",
        'Give {"type": "object", "properties": {...}}; each property a type (or enum, anyOf), and a default '
        "of that type and within its bounds.",
    ),
    "describe.fields": Rule(
        "steps, seed, environment and agents_parameter, and default_environment, name what is there",
        "Name properties of the schema, and an environment of the list.",
    ),
    "check.answers": Rule(
        "`check` answers a spec that it describes with a CheckReport, exit code 0 and nothing else on stdout",
        _ENTRY,
    ),
    "check.ok": Rule(
        "a run with all defaults can be started",
        "The findings say what is missing: install it, or choose other defaults.",
    ),
    "check.unknown_parameter": Rule(
        "an unknown parameter is refused",
        "Compare spec.parameters with the schema's properties and add a finding of level blocking; "
        "a typing error must not train with the default.",
    ),
    "check.unknown_algorithm": Rule(
        "an unknown algorithm is refused", "Add a finding of level blocking."
    ),
    "check.bad_spec": Rule("what is no RunSpec is refused with exit code 0", _ENTRY),
    "train.ends": Rule(
        "a short training ends by itself with exit code 0",
        "The end of its log stands below. With steps_parameter set, train exactly so many steps.",
    ),
    "train.events": Rule(
        "it records events", "Open Telemetry (entry.main does) and record the config first."
    ),
    "train.readable": Rule(
        "each event is valid",
        "Write events with mosaic_workerkit.telemetry.Telemetry only.",
    ),
    "train.config_first": Rule(
        "the first event is the config, and there is one",
        "Call telemetry.config({...}) before anything else; only an error may come before it.",
    ),
    "train.config_whole": Rule(
        "the config names algorithm, environment, arguments, spaces and recording level",
        "See `config` in docs/interfaces.md; without spaces nobody can read actions.",
    ),
    "train.contiguous": Rule(
        "seq counts from 1 without a gap",
        "Write from one process and one thread, by Telemetry only.",
    ),
    "train.one_terminal": Rule(
        "the last event is the one terminal lifecycle",
        "Return from `train` (entry.main writes it), or write done, stopped or error once and nothing after it.",
    ),
    "train.truth": Rule(
        "the exit code says the same as the terminal event",
        "done and stopped go with exit code 0, error with another one. The exit code is what counts.",
    ),
    "train.steps_in_order": Rule(
        "steps of an episode count from 1 without a gap, between its start and its end",
        "Record each step where it happens, innermost at the environment.",
    ),
    "train.tells": Rule(
        "each family of namespaced events that `tells` names is recorded",
        "Name in `tells` what a run always records, by the first word of its type: a client offers views by it.",
    ),
    "train.files": Rule(
        "checkpoints and artifacts that were announced are there, byte for byte",
        "Use telemetry.write_checkpoint; announce a file when it is complete and do not touch it again.",
    ),
    "train.manifest": Rule(
        "each path of manifest.json exists and each announced file is in it",
        "Announce files by telemetry only; prune with artifact_pruned.",
    ),
    "train.nothing_left": Rule(
        "nothing is left running",
        "End subprocesses and vector environments before you leave, also after an error.",
    ),
    "play.ends": Rule(
        "a play of what was trained, for two episodes, ends by itself with exit code 0",
        "Give the worker a method `play`; the marked parameter is the checkpoint's path in the run folder.",
    ),
    "play.told": Rule(
        "it records a config, exactly these episodes with every step of them, and saves no checkpoint",
        "Play spec.episodes episodes; record each step as in `train`, and learn nothing.",
    ),
    "inspect.own": Rule(
        "`inspect` of a checkpoint that was just saved names its algorithm and environment",
        "Return an InspectReport with ok, and a checkpoint whose facts are read from the file.",
    ),
    "inspect.foreign": Rule(
        "`inspect` refuses what is no checkpoint, and runs no code in it",
        "Add a blocking finding. Load with torch's weights_only or numpy's allow_pickle=False, never by pickle.",
    ),
    "stop.in_time": Rule(
        "after SIGTERM it ends within the grace time",
        "Check context.stop.requested between updates, at least once a second.",
    ),
    "stop.told": Rule(
        "a stopped training reports it: terminal stopped (or done), exit code 0",
        "Leave the loop, save a checkpoint with reason stop, and return.",
    ),
}
