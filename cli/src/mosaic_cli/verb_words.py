"""The words of every verb. Made by `python -m mosaic_cli.describing`; do not edit."""

from mosaic_cli.verb_shape import Words, kinds

WORDS: dict[str, Words] = {
    "demo": Words(
        "Train a real agent (PPO on CartPole-v1) and show what was recorded; takes about a minute.",
        options=kinds(
            "--steps=any --seed=any --record=|metrics|episodes|replay|full --json --help -h "
        ),
    ),
    "run": Words(
        "Start a run and follow it: WORKER ALGORITHM ENVIRONMENT, or -f SPEC.yaml with further options.",
        options=kinds(
            "--seed=any -s=any --steps=any --record=|metrics|episodes|replay|full --wall-time=any "
            "--restart=|never|on_interrupt --name=any --cpus=any --gpus=any --memory-mb=any "
            "--gpu-memory-mb=any --note=any --priority=any --hold --consent=any --file=any -f=any "
            "--detach -d --dry-run --from-rl-zoo=any --python=any --yes -y --json --url=any "
            "--token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds(
            "--param=any -p=any --tag=any -t=any --alert=any --secret=any --set=any --env-var=any "
        ),
        arguments=("worker", "any", "any", "any"),
        endless=True,
    ),
    "play": Words(
        "Play an environment yourself, or show what a run has learned, as a new run with every step recorded.",
        options=kinds(
            "--episodes=any -n=any --seed=any -s=any --environment=any -e=any --pace=any "
            "--record=|metrics|episodes|replay|full --detach -d --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        repeated=kinds("--param=any -p=any "),
        arguments=("run", "any"),
    ),
    "evaluate": Words(
        "Evaluate what a run has learned: mean return with its standard error, and every return.",
        options=kinds(
            "--episodes=any -n=any --seed=any -s=any --environment=any -e=any --sampled --random "
            "--json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run", "any"),
    ),
    "fork": Words(
        "Go on from a step of a recorded episode: you, the same policy, or another checkpoint.",
        options=kinds(
            "--episode=|best|worst|median|last -e=|best|worst|median|last --step=any -k=any "
            "--with=any -w=any --env=any --attempt=any --seed=any -s=any --episodes=any -n=any "
            "--pace=any --detach -d --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "compare": Words(
        "Compare policies in episodes with the same seeds: paired differences with intervals.",
        options=kinds(
            "--episodes=any -n=any --seed=any -s=any --environment=any -e=any --again --training "
            "--output=any -o=any --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds("--tag=any -t=any --threshold=any --score-range=any "),
        arguments=("any",),
        endless=True,
    ),
    "reproduce": Words(
        "Run a training once more, and say whether it did the same: identical, statistically the same, or different.",
        options=kinds("--with=any --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "up": Words(
        "Start the stack: broker, recorder, scheduler and gateway.",
        options=kinds(
            "--detach -d --port=any --broker-port=any --broker-bind=any --broker-runs-url=any "
            "--placement=|process|docker|slurm|ray --partition=any --ray-address=any "
            "--node-home=any --images=any --json --help -h "
        ),
    ),
    "down": Words(
        "Take the stack down. Live runs continue unless --stop-runs is given; replays, TensorBoards and syncs end.",
        options=kinds("--stop-runs --json --help -h "),
    ),
    "status": Words(
        "Show the state of the stack and its services; of a stack elsewhere, what its gateway reports.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
    ),
    "ps": Words(
        "List runs, newest first. A filter with several values matches any of them; tags must all match.",
        options=kinds(
            "--text=any --parent=run --trials --group=any --flat --deleted "
            "--sort=|created|started|ended|name|steps|episodes|last_return|best_return|mean_return "
            "--asc --limit=any -n=any --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds(
            "--state=|queued|starting|running|stopping|succeeded|failed|crashed|cancelled|timed_out|interrupted "
            "-s=|queued|starting|running|stopping|succeeded|failed|crashed|cancelled|timed_out|interrupted "
            "--worker=worker --algorithm=any -a=any --environment=any -e=any "
            "--kind=|train|evaluate|play|sweep|replay|dashboard|sync|import --tag=any -t=any "
        ),
        arguments=("search",),
        endless=True,
    ),
    "show": Words(
        "Show one run: state and cause, figures, telemetry, where its files lie.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "diff": Words(
        "Show what runs differ in: parameters, packages, code, hardware, results and final metrics, a column a run.",
        options=kinds("--all -a --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
        endless=True,
    ),
    "logs": Words(
        "Print the output of a run's worker. Progress bars are collapsed to their last state.",
        options=kinds(
            "--follow -f --tail=any -n=any --json --url=any --token-file=any --ca-file=any --help "
            "-h "
        ),
        arguments=("run",),
    ),
    "events": Words(
        "Print stored events in order; with -f also new ones as they happen.",
        options=kinds(
            "--follow -f --types=any -t=any --limit=any -n=any --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "episodes": Words(
        "List episodes with length and return: the newest, in the order in which they began.",
        options=kinds(
            "--limit=any -n=any --all -a --oldest --json --url=any --token-file=any --ca-file=any "
            "--help -h "
        ),
        arguments=("run",),
    ),
    "metrics": Words(
        "List a run's metrics, or show the curve of one.",
        options=kinds("--buckets=any --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run", "any"),
    ),
    "beliefs": Words(
        "Show, step by step, what an agent believed and intended, which plan it followed and how sure it was.",
        options=kinds(
            "--episode=any -e=any --env=any --json --url=any --token-file=any --ca-file=any --help "
            "-h "
        ),
        arguments=("run",),
    ),
    "watch": Words(
        "Open the window at a running run: what its environment shows, as it acts.",
        options=kinds("--env=any --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "replay": Words(
        "Rebuild a recorded episode in a fresh process and show it in the window.",
        options=kinds(
            "--episode=|best|worst|median|last -e=|best|worst|median|last --env=any --attempt=any "
            "--verify --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "tensorboard": Words(
        "Open TensorBoard with these runs in the browser.",
        options=kinds(
            "--no-open --stop --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
        endless=True,
    ),
    "export": Words(
        "Write the events of a run as JSON lines or Parquet, its metrics for TensorBoard, or an episode as a video.",
        options=kinds(
            "--jsonl --parquet --mp4 --gif --tensorboard --minari=any --output=any -o=any "
            "--types=any -t=any --episode=|best|worst|median|last -e=|best|worst|median|last "
            "--episodes=any --allow-unverified --env=any --attempt=any --speed=any --url=any "
            "--token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "report": Words(
        "Write runs as one HTML page: results, curves to zoom, differences, configuration, film.",
        options=kinds(
            "--output=any -o=any --title=any --film --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        arguments=("run",),
        endless=True,
    ),
    "artifacts": Words(
        "List the files of a run: checkpoints, videos, TensorBoard; and its page at W&B.",
        options=kinds("--all -a --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "download": Words(
        "Fetch a file of a run. An interrupted download resumes where it stopped.",
        options=kinds(
            "--output=any -o=any --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run", "any"),
    ),
    "link": Words(
        "Print a temporary link to a file, for a browser or a player.",
        options=kinds("--for=any --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run", "any"),
    ),
    "top": Words(
        "Show CPU, memory, disk and GPU of the stack's machine, and what each run uses; Ctrl-C ends it.",
        options=kinds(
            "--every=any --once -1 --json --url=any --token-file=any --ca-file=any --help -h "
        ),
    ),
    "gpus": Words(
        "Show the GPUs, the runs that have leased them, and other users.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
    ),
    "disk": Words(
        "Show what fills the disk: by kind, by run, and outside of the stack; of one run, what it keeps and what goes.",
        options=kinds(
            "--limit=any -n=any --trash --profiles --stack-only --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "stop": Words(
        "Ask a run, or all runs of a group, to stop at the next safe point. What has ended is not changed.",
        options=kinds("--all --wait -w --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "retry": Words(
        "Start a new run with the spec of an earlier one, which becomes its parent, and follow it.",
        options=kinds(
            "--stopped --detach -d --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
    ),
    "resume": Words(
        "Start a new run from the newest checkpoint of an ended one, with the remaining steps, and follow it.",
        options=kinds("--detach -d --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
    ),
    "clone": Words(
        "Start a copy of an earlier run with changed options, and follow it.",
        options=kinds(
            "--seed=any -s=any --steps=any --record=|metrics|episodes|replay|full --wall-time=any "
            "--restart=|never|on_interrupt --name=any --cpus=any --gpus=any --memory-mb=any "
            "--gpu-memory-mb=any --note=any --priority=any --hold --consent=any --environment=any "
            "-e=any --algorithm=any -a=any --detach -d --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        repeated=kinds("--param=any -p=any --tag=any -t=any --alert=any --secret=any --set=any "),
        arguments=("run",),
    ),
    "tag": Words(
        "Add, remove or show the tags of a run. `./mosaic ps --tag TAG` finds runs by them.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        repeated=kinds("--remove=any -r=any "),
        arguments=("run", "any"),
        endless=True,
    ),
    "note": Words(
        "Write or show your note on a run.",
        options=kinds("--clear --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run", "any"),
    ),
    "rm": Words(
        "Delete ended runs or groups. For a day they are only hidden, and `restore` brings one back.",
        options=kinds(
            "--now --yes -y --force --json --url=any --token-file=any --ca-file=any --help -h "
        ),
        arguments=("run",),
        endless=True,
    ),
    "restore": Words(
        "Restore deleted runs, or a deleted group by its id, the beginning of it, or its name.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run",),
        endless=True,
    ),
    "pin": Words(
        "Pin runs or groups: nothing of them is removed, whatever their storage profile says.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        repeated=kinds("--checkpoint=any -c=any "),
        arguments=("run",),
        endless=True,
    ),
    "unpin": Words(
        "Unpin runs or groups, with their checkpoints: their storage profile applies again.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        repeated=kinds("--checkpoint=any -c=any "),
        arguments=("run",),
        endless=True,
    ),
    "profile": Words(
        "Show or change the storage profile of a run or a group. `./mosaic disk --profiles` lists profiles.",
        options=kinds("--default --json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("run", "any"),
    ),
    "gc": Words(
        "Remove what the storage profiles do not keep of ended runs. Files rest in the trash first.",
        options=kinds(
            "--dry-run -n --undo --empty-trash --yes -y --limit=any --json --url=any "
            "--token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds("--run=run -r=run --kind=any -k=any --item=any "),
    ),
    "archive": Words(
        "Write ended runs to one file: spec, events, files, digests. `import` brings them back, here or elsewhere.",
        options=kinds(
            "--output=any -o=any --without=any --remove --json --url=any --token-file=any "
            "--ca-file=any --help -h "
        ),
        arguments=("run",),
        endless=True,
    ),
    "import": Words(
        "Bring runs back from an archive, with their ids. Runs that are here already are left as they are.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("any",),
    ),
    "check": Words(
        "Show what `run` would start and what is missing; starts nothing.",
        options=kinds(
            "--seed=any -s=any --steps=any --record=|metrics|episodes|replay|full --wall-time=any "
            "--restart=|never|on_interrupt --name=any --cpus=any --gpus=any --memory-mb=any "
            "--gpu-memory-mb=any --note=any --priority=any --hold --consent=any --file=any -f=any "
            "--json --url=any --token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds("--param=any -p=any --tag=any -t=any --alert=any --secret=any --set=any "),
        arguments=("worker", "any", "any"),
    ),
    "preflight": Words(
        "Show whether a run would start now, line by line: worker, plan, cores, disk, broker, secrets, consent.",
        options=kinds(
            "--seed=any -s=any --steps=any --record=|metrics|episodes|replay|full --wall-time=any "
            "--restart=|never|on_interrupt --name=any --cpus=any --gpus=any --memory-mb=any "
            "--gpu-memory-mb=any --note=any --priority=any --hold --consent=any --file=any -f=any "
            "--json --url=any --token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds("--param=any -p=any --tag=any -t=any --alert=any --secret=any --set=any "),
        arguments=("worker", "any", "any"),
    ),
    "add": Words(
        "Add a training script of your own, or a checkout of CleanRL, to the workers, or take it off with --remove.",
        options=kinds(
            "--name=any --python=any --resume-arg=any --replace --remove --json --help -h "
        ),
        repeated=kinds("--env-var=any "),
        arguments=("any", "any"),
        endless=True,
    ),
    "new-worker": Words(
        "Make a worker of your own: a folder with code that trains, its tests, its environment and a README.",
        options=kinds(
            "--sb3 --pettingzoo --rllib --script --blank --folder=any --no-sync --json --help -h "
        ),
        arguments=("any",),
    ),
    "workers": Words(
        "List the workers: what each trains on, whether it can be used now, and if not, what to do.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
    ),
    "describe": Words(
        "Show the workers, the algorithms of one, or the parameters of an algorithm.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        arguments=("worker", "any"),
    ),
    "worker-check": Words(
        "Check a worker rule by rule: describe, check, a short training and a stop of each algorithm.",
        options=kinds("--steps=any --json --help -h "),
        repeated=kinds("--algorithm=any --only=|check|train|stop "),
        arguments=("any",),
    ),
    "doctor": Words(
        "Check this machine and the stack; exit code 1 if a problem keeps runs from starting.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
    ),
    "completion": Words(
        "Print a shell's completion function: `source <(./mosaic completion bash)`, or the same for zsh in its start file.",
        options=kinds("--url=any --token-file=any --ca-file=any --help -h "),
        arguments=("|bash|zsh|fish",),
    ),
    "version": Words("Print the version.", options=kinds("--json --help -h ")),
    "sweep": Words(
        "Search for good parameters with Optuna: `./mosaic sweep SPEC.yaml`, or one of the verbs below.",
        options=kinds("--url=any --token-file=any --ca-file=any --help -h "),
        verbs={
            "start": Words(
                "Start a sweep. The word `start` may be left out.",
                options=kinds(
                    "--dry-run --follow -f --from-rl-zoo=any --json --url=any --token-file=any "
                    "--ca-file=any --help -h "
                ),
                arguments=("any",),
            ),
            "list": Words(
                "List sweeps, newest first; STEPS counts their trials.",
                options=kinds(
                    "--limit=any -n=any --json --url=any --token-file=any --ca-file=any --help -h "
                ),
            ),
            "show": Words(
                "Show a sweep: its trials by state, the newest of them, the best, and how much each parameter matters.",
                options=kinds(
                    "--limit=any -n=any --follow -f --json --url=any --token-file=any --ca-file=any --help "
                    "-h "
                ),
                arguments=("run",),
            ),
            "best": Words(
                "Print the spec of the best trial as YAML, for `./mosaic run -f FILE`; with --run start it.",
                options=kinds(
                    "--trial=any --run --seeds=any -n=any --json --url=any --token-file=any --ca-file=any "
                    "--help -h "
                ),
                arguments=("run",),
            ),
            "stop": Words(
                "Stop a sweep and its trials; `./mosaic sweep resume` goes on with it later.",
                options=kinds(
                    "--let-finish --json --url=any --token-file=any --ca-file=any --help -h "
                ),
                arguments=("run",),
            ),
            "resume": Words(
                "Go on with a sweep that has ended, as a new run that takes over its study and trials.",
                options=kinds(
                    "--trials=any --parallel=any --follow -f --json --url=any --token-file=any "
                    "--ca-file=any --help -h "
                ),
                arguments=("run",),
            ),
            "export": Words(
                "Write a sweep to a folder: trials.csv, trials.json, best.yaml and study.db.",
                options=kinds("--to=any --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("run",),
            ),
        },
    ),
    "checkpoints": Words(
        "List checkpoints of all runs, newest first.",
        options=kinds(
            "--text=any --sort=|date|step|return --asc --limit=any -n=any --json --url=any "
            "--token-file=any --ca-file=any --help -h "
        ),
        repeated=kinds(
            "--environment=any -e=any --algorithm=any -a=any --worker=worker --run=run "
        ),
        verbs={
            "verify": Words(
                "Hash checkpoints again and say which differ from what their runs recorded. Exit code 7 if one does.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any",),
            ),
            "import": Words(
                "Import a file as a checkpoint, which then plays, evaluates and trains on like any other.",
                options=kinds(
                    "--worker=worker --algorithm=any -a=any --environment=any -e=any --name=any --json "
                    "--url=any --token-file=any --ca-file=any --help -h "
                ),
                repeated=kinds("--tag=any "),
                arguments=("any",),
            ),
            "export": Words(
                "Write a checkpoint with its facts to a zip, for `checkpoints import` on another stack.",
                options=kinds(
                    "--output=any -o=any --json --url=any --token-file=any --ca-file=any --help -h "
                ),
                arguments=("any",),
            ),
        },
    ),
    "alerts": Words(
        "Raise alerts when a rule holds in a run, and send them. Without a verb: rules, alerts and targets.",
        options=kinds(
            "--run=run -r=run --limit=any -n=any --json --url=any --token-file=any --ca-file=any "
            "--help -h "
        ),
        verbs={
            "list": Words(
                "List rules for all runs, alerts (newest first) and targets.",
                options=kinds(
                    "--run=run -r=run --limit=any -n=any --json --url=any --token-file=any --ca-file=any "
                    "--help -h "
                ),
            ),
            "add": Words(
                "Add a rule for all runs, those included that run now.",
                options=kinds(
                    "--runs=run --json --url=any --token-file=any --ca-file=any --help -h "
                ),
                arguments=("any",),
            ),
            "rm": Words(
                "Remove a rule and clear its alerts. It can be restored for a day.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any",),
            ),
            "restore": Words(
                "Bring a removed rule back.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any",),
            ),
            "test": Words(
                "Try a rule on what a run has recorded: when it would have raised an alert. Nothing is kept or sent.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any", "run"),
            ),
            "target": Words(
                "Add a webhook or a command that gets every alert, remove one, or send it a test.",
                options=kinds(
                    "--webhook=any --authorization --command=any --yes -y --json --url=any "
                    "--token-file=any --ca-file=any --help -h "
                ),
                arguments=("any", "any"),
            ),
        },
    ),
    "wandb": Words(
        "Send ended runs to W&B, and show what of a run is there.",
        options=kinds("--url=any --token-file=any --ca-file=any --help -h "),
        verbs={
            "sync": Words(
                "Send ended runs to W&B in the background: those tracked offline, and those that never used W&B.",
                options=kinds(
                    "--project=any --entity=any --group=any --checkpoints --no-checkpoints --videos "
                    "--no-videos --address=any --http-proxy=any --https-proxy=any --again --yes -y --wait "
                    "-w --json --url=any --token-file=any --ca-file=any --help -h "
                ),
                arguments=("run",),
                endless=True,
            ),
            "status": Words(
                "Show what of a run is at W&B: its page, the state of its upload, and its syncs.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("run",),
                endless=True,
            ),
        },
    ),
    "queue": Words(
        "Manage the runs that wait. Without a verb they are listed.",
        options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
        verbs={
            "list": Words(
                "List the runs that wait, in the order in which they will start.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
            ),
            "hold": Words(
                "Hold waiting runs: they do not start until you release them.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("run",),
                endless=True,
            ),
            "release": Words(
                "Release held runs: they start when it is their turn.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("run",),
                endless=True,
            ),
            "priority": Words(
                "Set the priority of a run that waits.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("run", "any"),
            ),
            "move": Words(
                "Move a waiting run right before or after another one, whose priority it takes over.",
                options=kinds(
                    "--before=run --after=run --json --url=any --token-file=any --ca-file=any --help -h "
                ),
                arguments=("run",),
            ),
        },
    ),
    "secret": Words(
        "Store, list and delete secrets: values that runs receive as files and that are never shown.",
        options=kinds("--url=any --token-file=any --ca-file=any --help -h "),
        verbs={
            "set": Words(
                "Store a secret. Its value is asked for, or read from stdin if that is no terminal.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any",),
            ),
            "ls": Words(
                "List the names of the secrets; their values are never shown.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
            ),
            "rm": Words(
                "Delete a secret. Runs that have it keep it; waiting runs that need it will not start.",
                options=kinds("--json --url=any --token-file=any --ca-file=any --help -h "),
                arguments=("any",),
            ),
        },
    ),
    "backup": Words(
        "Copy the stack's state to one file, while runs go on; restore it into an empty data root.",
        options=kinds("--help -h "),
        verbs={
            "create": Words(
                "Back up runs, events, files, studies and settings. Runs and services go on meanwhile.",
                options=kinds("--with-secrets --json --help -h "),
                arguments=("any",),
            ),
            "restore": Words(
                "Restore a backup into an empty data root (MOSAIC_HOME): all of it, or nothing.",
                options=kinds("--json --help -h "),
                arguments=("any",),
            ),
            "check": Words(
                "Read a backup to its end, compare every digest, and show what is in it. Nothing is restored.",
                options=kinds("--json --help -h "),
                arguments=("any",),
            ),
        },
    ),
    "xmpp": Words(
        "Manage the XMPP server over which agents talk to each other.",
        options=kinds("--help -h "),
        verbs={
            "up": Words(
                "Start the server, now and whenever this machine's stack starts. If no stack is up, start one too.",
                options=kinds("--json --help -h "),
            ),
            "down": Words(
                "Stop the server; the rest of the stack stays up. Runs whose agents talk continue without it.",
                options=kinds("--json --help -h "),
            ),
            "status": Words(
                "Show the state of the server: exit code 0 if it is up, 3 if there is none, else 6.",
                options=kinds("--json --help -h "),
            ),
        },
    ),
    "images": Words(
        "Manage the container images of this checkout. Without a verb they are listed.",
        options=kinds("--json --help -h "),
        verbs={
            "list": Words(
                "List the images that compose.yaml builds, whether they exist, and whether they match this checkout.",
                options=kinds("--json --help -h "),
            ),
            "build": Words(
                "Build images, one after the other, labelled with what they are built from: version, locks, sources, base.",
                options=kinds("--json --help -h "),
                arguments=("any",),
                endless=True,
            ),
            "export": Words(
                "Write a worker's image to a file: Docker's archive, or an Apptainer image (SIF) for a Slurm cluster.",
                options=kinds("--sif -o=any --output=any --json --help -h "),
                arguments=("worker",),
            ),
            "pin": Words(
                "Pin the images that are not built here to digests: bases of the builds, and the broker.",
                options=kinds("--json --help -h "),
            ),
            "add": Words(
                "Build the image of a worker of your own and register it with the stack in containers, which must be up.",
                options=kinds("--json --help -h "),
                arguments=("any",),
            ),
            "remove": Words(
                "Remove a worker of your own from the stack in containers. Its image and its runs stay.",
                options=kinds("--json --help -h "),
                arguments=("worker",),
            ),
        },
    ),
}
GLOBAL = Words("", options=kinds("--url=any --token-file=any --ca-file=any --help -h "))
