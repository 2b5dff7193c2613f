"""`./mosaic`: runs the verbs of a checkout, and hands every other verb to the command line in its environment.

Runs on a bare Python 3.11, before any environment exists; `__main__.py` imports it, so that its byte code is kept.
"""

import os
import sys
from collections.abc import Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "packages", "environments", "src")]

from mosaic_environments import command  # noqa: E402 - found by the line above
from mosaic_environments.errors import EnvironmentProblem  # noqa: E402
from mosaic_environments.tree import Tree  # noqa: E402

OVERVIEW = """\
MOSAIC trains reinforcement-learning agents on this machine and keeps every step they take.

Begin here
  ./mosaic demo                  set everything up and train a real agent (about a minute)
  ./mosaic run cleanrl ppo CartPole-v1
                                 train what you like; --help lists the options
  ./mosaic gui                   the same in a window: launch, watch, compare
  ./mosaic up | down | status    the stack that does the work
  ./mosaic ps | show | logs | events | episodes | metrics | beliefs | export | top | gpus
                                 what runs, what it said and did, what it uses
  ./mosaic watch | replay        see a run as it acts, and any episode again, compared with its record
  ./mosaic play | fork           act in an environment, or let a policy act; go on from any recorded step
  ./mosaic evaluate | compare    returns of policies in seeded episodes, and which is better
  ./mosaic sweep                 search for good parameters with Optuna
  ./mosaic tensorboard | wandb   curves in TensorBoard; runs sent to Weights & Biases
  ./mosaic checkpoints | reproduce
                                 checkpoints of all runs; a training once more, compared with the first
  ./mosaic artifacts | download | link
                                 the files of a run, for you and for a browser
  ./mosaic stop | retry | resume | clone | tag | note | rm | restore | queue
                                 an end to it, the same again, order among many
  ./mosaic workers | describe | check | preflight | secret | images | doctor
                                 what a worker can do, whether a run would start, container images, what this machine
                                 lacks
  ./mosaic xmpp up | down | status
                                 the server over which agents of a run talk
  ./mosaic VERB --help           everything about one verb
  source <(./mosaic completion bash)
                                 the Tab key knows all this (zsh and fish too)

For those who change it
  ./mosaic sync [--dev] [COMPONENT...]      make environments (done by itself when needed)
  ./mosaic sync COMPONENT --bundle NAME     add what further environments of a worker need, e.g. mujoco
  ./mosaic test [COMPONENT...] [-- ARGS]    lint, import rules, types and tests; ARGS go to pytest
  ./mosaic test --changed                   the same for what your changes can break, in two minutes
  ./mosaic test --nightly                   all tests, also the long ones that are left for the night
  ./mosaic lint | imports | types [COMPONENT...]
  ./mosaic lock [--check] [COMPONENT...]    pin what the components depend on
  ./mosaic build [FOLDER]                   make the wheels of a release
  ./mosaic release VERSION                  write a new version everywhere it stands
  ./mosaic docs [FOLDER]                    build the documentation site
  ./mosaic pictures [NAME...]               make the pictures of README and docs, from real runs
  ./mosaic words [LANGUAGE|FILE.po]         bring translations of the window up to date with its code
"""
USAGE = {
    "test": "test [COMPONENT... | --changed] [--nightly] [-- ARGS]   lint, imports, types and tests; ARGS go to pytest",
    "types": "types [COMPONENT...]   check the types of these components, or of all",
    "sync": command.SYNC_USAGE,
    "lock": "lock [--check] [COMPONENT...]   pin what the components depend on, or check the pins",
    "lint": "lint   check the style of all code",
    "imports": "imports   check which component imports which",
    "words": "words [LANGUAGE|FILE.po...]   bring translations of the window up to date with its code",
    "release": "release VERSION   write a version everywhere it stands, and the changelog's heading for it",
    "pictures": "pictures [NAME...] [--to FOLDER]   make the pictures of README and docs, from real runs",
    "docs": "docs [FOLDER]   build the documentation site in FOLDER, by default var/site",
    "build": "build [FOLDER]   make the wheels of a release in FOLDER, by default dist",
}
OPTIONS = {
    "sync": ("--dev", "--bundle"),
    "lock": ("--check",),
    "test": ("--changed", "--nightly"),
    "pictures": ("--to",),
}
"""Options of the verbs in USAGE. The help of every other verb is the command line's."""


def main(words: list[str]) -> None:
    """Run a verb; does not return where another program takes over."""
    environ = dict(os.environ)
    venvs = os.path.abspath(environ.get("MOSAIC_VENVS") or os.path.join(ROOT, "var", "venvs"))
    tree = Tree(ROOT, venvs, is_checkout=True)
    if environ.get("_MOSAIC_COMPLETE"):
        complete(tree, environ)
        return
    command.check_path("the checkout", ROOT)
    for name in ("MOSAIC_VENVS", "MOSAIC_HOME"):
        command.check_path(name, environ.get(name, ""))
    verb, rest = (words[0], words[1:]) if words else ("help", [])
    if verb in USAGE and answers_usage(verb, rest):
        return
    if verb in ("help", "--help", "-h"):
        print(f"{OVERVIEW}\nComponents: {' '.join(tree.names())}")
    elif verb in VERBS:
        VERBS[verb](tree, rest)
    elif verb == "gui":
        command.run_gui(tree, rest, stack_environment(tree, environ))
    else:
        command.sync(tree, command.needed(tree, words, environ))
        run_command_line(tree, environ, words)


def answers_usage(verb: str, words: list[str]) -> bool:
    """Answer --help, and refuse an option that the verb does not know. Words behind `--` are pytest's."""
    for word in words:
        if word == "--":
            break
        if word in ("-h", "--help"):
            print(f"Usage: ./mosaic {USAGE[verb]}")
            return True
        if word.startswith("-") and word not in OPTIONS.get(verb, ()):
            print(f"{verb} does not know the option {word}", file=sys.stderr)
            print(f"Usage: ./mosaic {USAGE[verb]}", file=sys.stderr)
            sys.exit(2)
    return False


def complete(tree: Tree, environ: dict[str, str]) -> None:
    """Print what a shell may complete after ./mosaic, a word a line.

    Asked with _MOSAIC_COMPLETE, COMP_WORDS and COMP_CWORD set, as the function that `./mosaic completion` prints does.
    Makes no environment, for it answers a key press.
    """
    words = environ.get("COMP_WORDS", "").split()
    index = int(environ.get("COMP_CWORD") or 0)
    word = words[index] if index < len(words) else ""
    if index <= 1:
        offer(["help", "gui", *USAGE], word)
    elif words[1] in ("lint", "imports", "help", "words", "build", "docs", "pictures", "release"):
        return
    elif words[1] == "gui":
        offer(command.GUI_OPTIONS.split(), word)
        return
    elif words[1] in USAGE:
        offer([*OPTIONS.get(words[1], ()), *tree.names()], word)
        return
    if os.access(tree.find("cli").python, os.X_OK):
        run_command_line(tree, environ, [])


def offer(words: list[str], beginning: str) -> None:
    """Print those words that begin so."""
    for word in words:
        if word.startswith(beginning):
            print(word)
    sys.stdout.flush()


def run_command_line(tree: Tree, environ: dict[str, str], words: list[str]) -> None:
    """Replace this program by the command line in its environment."""
    python = tree.find("cli").python
    argv = [python, "-I", "-m", "mosaic_cli", *words]
    os.execve(python, argv, stack_environment(tree, environ))


def stack_environment(tree: Tree, environ: dict[str, str]) -> dict[str, str]:
    """The environment of the command line and of the desktop client: data in `var` unless the user named a folder."""
    home, program = os.path.join(tree.root, "var"), os.path.join(tree.root, "mosaic")
    return command.stack_environment(tree, environ, home=home, program=program)


def run_tool(tree: Tree, program: str, *words: str) -> None:
    """Replace this program by one of the tools, in their environment."""
    # Tests make data roots of their own; a person's runs are not theirs to touch. No package of another workspace
    # is to be imported.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "MOSAIC_HOME" and not name.startswith("PYTHON")
    }
    environ = {**kept, "MOSAIC_ROOT": tree.root, "MOSAIC_VENVS": tree.venvs}
    python = tree.find("tools").python
    os.execve(python, [python, os.path.join(tree.root, "tools", program), *words], environ)


def test(tree: Tree, words: list[str]) -> None:
    """Run `test`; the environments of what is looked at are made first."""
    # tests keep the byte code of what they import (`run_tool`), so nothing need be compiled beforehand
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    names = words[: words.index("--")] if "--" in words else words
    names = [name for name in names if name != "--nightly"]
    if not names or "--changed" in names:
        command.sync(tree, tree.names(), dev=True)
    else:
        if "tests" in names:
            # what crosses services starts the whole stack
            others = [
                "worker_play",
                "worker_script",
                "worker_spade",
                "worker_sweep",
                "exporter",
                "analysis",
            ]
            command.sync(tree, ["cli", *command.STACK, *others])
        command.sync(tree, ["tools", *names], dev=True)
    run_tool(tree, "check.py", "test", *words)


def types(tree: Tree, words: list[str]) -> None:
    """Run `types`; the environments of what is looked at are made first."""
    command.sync(tree, ["tools", *(words or tree.names())], dev=True)
    run_tool(tree, "check.py", "types", *words)


def check(verb: str) -> Callable[[Tree, list[str]], None]:
    """A verb that needs no environment but the tools' own."""

    def run(tree: Tree, words: list[str]) -> None:
        command.sync(tree, ["tools"], dev=True)
        run_tool(tree, "check.py", verb, *words)

    return run


def words_verb(tree: Tree, words: list[str]) -> None:
    """Run `words`."""
    command.sync(tree, ["tools"], dev=True)
    run_tool(tree, "words.py", *words)


def docs(tree: Tree, words: list[str]) -> None:
    """Run `docs`."""
    command.sync(tree, ["docs"])
    folder = os.path.abspath(words[0]) if words else os.path.join(tree.root, "var", "site")
    python = tree.find("docs").python
    program = os.path.join(tree.root, "docs", "src", "build_site.py")
    os.execve(python, [python, program, "--to", folder], dict(os.environ))


def pictures(tree: Tree, words: list[str]) -> None:
    """Run `pictures`; the commands that it calls make the other environments."""
    command.sync(tree, ["docs"])
    python = tree.find("docs").python
    program = os.path.join(tree.root, "docs", "src", "pictures.py")
    os.execve(python, [python, program, *words], dict(os.environ))


def release(tree: Tree, words: list[str]) -> None:
    """Run `release`."""
    command.sync(tree, ["tools"], dev=True)
    run_tool(tree, "release.py", *words)


def lock(tree: Tree, words: list[str]) -> None:
    """Run `lock`."""
    from locking import lock_verb

    lock_verb(tree, words)


def build(tree: Tree, words: list[str]) -> None:
    """Run `build`."""
    from building import build_verb

    build_verb(tree, words)


VERBS: dict[str, Callable[[Tree, list[str]], None]] = {
    "test": test,
    "types": types,
    "lint": check("lint"),
    "imports": check("imports"),
    "words": words_verb,
    "lock": lock,
    "build": build,
    "docs": docs,
    "pictures": pictures,
    "release": release,
    "sync": command.sync_verb,
}


def run() -> None:
    """Run the verb of this process's command line."""
    try:
        main(sys.argv[1:])
    except EnvironmentProblem as problem:
        print(f"mosaic: {problem}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
