"""Names of Linux's signals, for a run ends on Linux and may be looked at on another system.

Numbers differ between systems (SIGBUS is 10 on macOS), and Windows lacks most of them: `signal.Signals` does not serve.
Source: signal(7) of the Linux manual, x86-64 and arm64.
"""

NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    16: "SIGSTKFLT",
    17: "SIGCHLD",
    18: "SIGCONT",
    19: "SIGSTOP",
    20: "SIGTSTP",
    21: "SIGTTIN",
    22: "SIGTTOU",
    23: "SIGURG",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    26: "SIGVTALRM",
    27: "SIGPROF",
    28: "SIGWINCH",
    29: "SIGIO",
    30: "SIGPWR",
    31: "SIGSYS",
}
"""Signal number to name."""
NUMBERS = {name: number for number, name in NAMES.items()}
"""Name to signal number."""


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number as text where it has none.

    Args:
        number: a Linux signal number, for example 9.
    """
    return NAMES.get(number, str(number))
