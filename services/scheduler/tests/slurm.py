"""A real Slurm on this machine: munged, slurmctld and three slurmd in a temporary folder, on free ports.

Needs root and the packages of `PACKAGES`; `why_not` says what is missing. With the cgroups of version 1 it has memory
limits and a wall around its fake GPUs; without them those are missing (`has_cgroups`).
"""

import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from mosaic_servicekit.testing.broker import free_ports

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "munge",
    "slurm-wlm-basic-plugins",
)
"""Packages of Debian and Ubuntu, for `apt-get install --no-install-recommends`."""
DEADLINE_S = 60.0
_END_OF_JOBS_S = 20.0
PARTITIONS = ("main", "low")
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
_CGROUPS = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpuset", "memory", "devices", "freezer", "cpuacct")
_NVIDIA_MAJOR = 195
"""Devices of this number exist where there is a GPU. With the number of /dev/null a wall would shut that too."""
_GPUS = 2
FEATURE = "usual"
"""What every node has, for jobs with a constraint."""
_CPUS = 4
_MEMORY_MB = 4000


def why_not() -> str:
    """Why no Slurm can be started here; empty: it can."""
    missing = [name for name in _PROGRAMS if _find(name) is None]
    if missing:
        return (
            f"no {', '.join(missing)}: apt-get install --no-install-recommends {' '.join(PACKAGES)}"
        )
    return "" if os.geteuid() == 0 else "slurmd needs root"


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class SlurmCluster:
    """Three nodes of four cores and two GPUs each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tag = secrets.token_hex(3)
        self.nodes = [f"m{tag}n{number}" for number in (1, 2, 3)]
        """Unlike those of any other cluster on this machine: cgroups are named after them."""
        self.has_cgroups = all((_CGROUPS / name).is_dir() for name in _CONTROLLERS)
        self.conf = folder / "slurm.conf"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._tag = tag

    @property
    def environment(self) -> dict[str, str]:
        """What a client of this cluster needs."""
        return {"SLURM_CONF": str(self.conf)}

    def __enter__(self) -> "SlurmCluster":
        """Start it, or leave nothing of it behind."""
        with ExitStack() as undo:
            undo.callback(self.stop)
            self.start()
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start everything and wait until the nodes are idle."""
        self._write()
        socket_path = str(self.folder / "munge.socket")
        self._spawn(
            *("munged", "--foreground", "--force", f"--socket={socket_path}"),
            *(f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munge.pid"),
            *(f"--seed-file={self.folder}/munge.seed", f"--log-file={self.folder}/log/munge.log"),
        )
        _until(lambda: Path(socket_path).exists(), "munged has no socket")
        self.start_controller(is_new=True)
        for node in self.nodes:
            self.start_node(node)
        _until(self._is_idle, f"the nodes are not idle; see {self.folder}/log")

    def stop(self) -> None:
        """End every job and every daemon, and remove what they left in the system."""
        with ExitStack() as ending:
            ending.callback(self._remove_cgroups)
            ending.callback(self._kill_jobs)
            ending.callback(self._kill_daemons)
            if self._is_up("slurmctld"):
                for node in self.nodes:
                    if not self._is_up(node):
                        self.start_node(node)
                for partition in PARTITIONS:  # scancel takes one; of a list it cancels nothing
                    self.run("scancel", f"--partition={partition}", check=False)
                # A controller repeats a lost message to a node only after minutes: not worth a wait.
                with suppress(TimeoutError):
                    _until(self._has_no_jobs, "jobs do not end", _END_OF_JOBS_S)

    def start_controller(self, *, is_new: bool = False) -> None:
        """Start slurmctld; it takes up the jobs that it knew, unless it `is_new`."""
        self._spawn("slurmctld", "-D", *(["-c"] if is_new else []))
        _until(self._answers, f"slurmctld does not answer; see {self.folder}/log")

    def wait_saved(self, job_id: str) -> None:
        """Wait until the controller has written down that a job runs.

        It does so up to 5 s late. After a crash before that it ends the job and starts it again.
        """
        state = self.folder / "state" / "job_state"
        now = time.time()
        self.run("scontrol", "update", f"JobId={job_id}", "Comment=saved")
        _until(
            lambda: state.exists() and state.stat().st_mtime > now, "the controller saves nothing"
        )

    def kill(self, daemon: str) -> None:
        """SIGKILL `slurmctld` or the slurmd of a node. Jobs go on."""
        process = self._daemons.pop(daemon)
        process.kill()
        process.wait()

    def start_node(self, node: str, hidden: Sequence[Path] = (), size: str = "") -> None:
        """Start the slurmd of a node.

        Args:
            node: its name.
            hidden: folders that it has empty ones of its own in place of.
            size: of each of these, as `mount` takes it; empty: as the kernel gives it.
        """
        slurmd = [str(_find("slurmd")), "-D", "-N", node]
        if not hidden:
            self._spawn(*slurmd, name=node)
            return
        limit = f"-o size={size}" if size else ""
        mounts = [f"mount -t tmpfs {limit} tmpfs {shlex.quote(str(folder))}" for folder in hidden]
        script = " && ".join([*mounts, f"exec {shlex.join(slurmd)}"])
        self._spawn("unshare", "--mount", "--propagation", "private", "sh", "-c", script, name=node)

    def kill_node(self, node: str) -> None:
        """SIGKILL a slurmd and every process of the jobs on that node, as a power cut does."""
        self.kill(node)
        for pid in self._pids_of_jobs(node):
            _kill(pid)

    def run(self, *argv: str, check: bool = True) -> str:
        """Run a client program and return what it printed."""
        done = subprocess.run(
            [str(_find(argv[0])), *argv[1:]],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(argv)}: {done.stdout}")
        return done.stdout

    def _is_idle(self) -> bool:
        return (
            self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%t", check=False).split()
            == ["idle"] * 3
        )

    def _answers(self) -> bool:
        return " UP" in self.run("scontrol", "ping", check=False).replace("is UP", " UP")

    def _is_up(self, daemon: str) -> bool:
        process = self._daemons.get(daemon)
        return process is not None and process.poll() is None

    def _spawn(self, program: str, *argv: str, name: str = "") -> None:
        with (self.folder / "log" / f"{name or program}.out").open("ab") as log:
            self._daemons[name or program] = subprocess.Popen(
                [str(_find(program)), *argv],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def _has_no_jobs(self) -> bool:
        """Whether no job is left; ends what a cancelled one would go on with until KillWait."""
        for node in self.nodes:
            for pid in self._pids_of_jobs(node, with_daemons=False):
                _kill(pid)
        return not self.run("squeue", "-h", "-o", "%A", check=False).split()

    def _kill_jobs(self) -> None:
        """SIGKILL what the daemons did not end."""
        for node in self.nodes:
            for pid in self._pids_of_jobs(node):
                _kill(pid)

    def _pids_of_jobs(self, node: str, *, with_daemons: bool = True) -> list[int]:
        """Processes below the step daemons of a node, and those daemons."""
        parents = _parents()
        roots = {
            pid for pid in parents if "slurmstepd: [" in _title(pid) and self._is_of(pid, node)
        }
        found = set(roots)
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found if with_daemons else found - roots)

    def _is_of(self, pid: int, node: str) -> bool:
        """Whether a step daemon belongs to a node of this cluster; without cgroups: to this cluster."""
        try:
            if self.has_cgroups:
                return f"slurm_{node}" in Path(f"/proc/{pid}/cgroup").read_text()
            return (
                b"SLURM_CONF=%s\0" % bytes(self.conf) in Path(f"/proc/{pid}/environ").read_bytes()
            )
        except OSError:
            return False

    def _kill_daemons(self) -> None:
        for name in reversed(list(self._daemons)):
            process = self._daemons.pop(name)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _remove_cgroups(self) -> None:
        if not self.has_cgroups:
            return
        for controller in _CGROUPS.iterdir():
            for top in controller.glob(f"slurm_m{self._tag}*"):
                for path in sorted((p for p in top.rglob("*") if p.is_dir()), reverse=True):
                    _rmdir(path)
                _rmdir(top)

    def _write(self) -> None:
        for name in ("state", "log", *(f"spool/{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        devices = [
            f"NodeName={node} Name=gpu Type=fake File={self.folder}/gpu{at}[0-{_GPUS - 1}]\n"
            for at, node in enumerate(self.nodes, 1)
        ]
        for at in range(1, len(self.nodes) + 1):
            for number in range(_GPUS):
                device = os.makedev(_NVIDIA_MAJOR, 100 + _GPUS * at + number)
                os.mknod(self.folder / f"gpu{at}{number}", 0o600 | 0o020000, device)
        (self.folder / "gres.conf").write_text("".join(devices))
        (self.folder / "cgroup.conf").write_text(_CGROUP_CONF)
        self.conf.write_text(self._settings())

    def _settings(self) -> str:
        controller, *ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        kind = "cgroup" if self.has_cgroups else ""
        nodes = "".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={_CPUS} "
            f"RealMemory={_MEMORY_MB} Gres=gpu:fake:{_GPUS} Feature={FEATURE} State=UNKNOWN\n"
            for node, port in zip(self.nodes, ports, strict=True)
        )
        return _SLURM_CONF.format(
            folder=self.folder,
            host=host,
            port=controller,
            track=kind or "linuxproc",
            task=kind or "none",
            gather=f"jobacct_gather/{kind or 'linux'}",
            nodes=nodes,
            names=",".join(self.nodes),
        )


_CGROUP_CONF = """CgroupPlugin=cgroup/v1
CgroupAutomount=no
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainDevices=yes
MinRAMSpace=30
"""
_SLURM_CONF = """ClusterName=mosaic
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmdParameters=config_overrides
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/{track}
TaskPlugin=task/{task}
JobAcctGatherType={gather}
JobAcctGatherFrequency=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,batch_sched_delay=1,sched_min_interval=500000
PriorityType=priority/multifactor
ReturnToService=2
SlurmdTimeout=20
SlurmctldTimeout=20
InactiveLimit=0
MinJobAge=300
KillWait=60
Waittime=0
MessageTimeout=10
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
GresTypes=gpu
{nodes}PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE DefMemPerCPU=400 State=UP PriorityTier=10
PartitionName=low Nodes={names} MaxTime=1:00:00 DefMemPerCPU=400 State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=5
"""


def _until(holds: Callable[[], bool], otherwise: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait for what announces itself nowhere: the state of other programs."""
    end = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.1)


def _parents() -> dict[int, int]:
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                found[int(path.name)] = int(
                    (path / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    return found


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _rmdir(path: Path) -> None:
    with suppress(OSError):  # not empty: the kernel still ends what is in it
        path.rmdir()
