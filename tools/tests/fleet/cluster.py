"""A Slurm cluster of one node on this machine: daemons, state and ports of its own, gone when it is closed.

It has the partitions of the example in docs/fleet.md, and its configuration says that the node has a GPU.
Its limits of time are long, because cores may be busy.
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
HANGS = 600  # seconds: what takes longer does not end, however busy the cores are
PATH = f"{os.environ['PATH']}:/usr/sbin"  # where Debian has daemons

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
KillWait=2
BatchStartTimeout=600
MessageTimeout=100
SlurmdTimeout=3600
TCPTimeout=60
UnkillableStepTimeout=600
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES State=UP
PartitionName=h200 Nodes=ALL State=UP
"""


def missing_programs() -> list[str]:
    return [program for program in (*DAEMONS, *CLIENTS) if not shutil.which(program, path=PATH)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ClusterError(Exception):
    """The cluster does not start; the message holds the end of the daemons' logs."""


class Cluster:
    """`folder` must be empty and must stay until `close`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self) -> None:
        folder, host = self.folder, socket.gethostname().partition(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        configuration = CONFIGURATION.format(
            folder=folder, host=host, user=getpass.getuser(), controller_port=free_port(), node_port=free_port()
        )
        (folder / "slurm.conf").write_text(configuration, encoding="utf-8")
        (folder / "gres.conf").write_text("Name=gpu File=/dev/null\n", encoding="utf-8")  # Slurm believes in a GPU
        own = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self.run("munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *own)
        self.wait("munged", (folder / "munge.socket").exists)
        self.run("slurmctld", "-D", "-i")
        self.run("slurmd", "-D", "-N", host)
        self.wait("the node", lambda: "idle" in self.command("sinfo", "-h", "-o", "%T").split())

    def run(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.output").open("wb") as output:
            self.processes.append(
                subprocess.Popen(command, env=self.environment, stdout=output, stderr=subprocess.STDOUT)
            )

    def command(self, *command: str) -> str:
        """What a command of Slurm prints; the empty string where it fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=HANGS, check=False)
        return done.stdout if done.returncode == 0 else ""

    def wait(self, what: str, ready) -> None:
        deadline = time.monotonic() + HANGS
        while not ready():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                logs = [path.read_text(errors="replace")[-500:] for path in sorted(self.folder.glob("*.output"))]
                raise ClusterError(f"{what} does not come up:\n" + "\n".join(logs))
            time.sleep(0.1)

    def close(self) -> None:
        """Ends the jobs, then the daemons that were started here, and no others."""
        if len(self.processes) == len(DAEMONS):
            self.command("scancel", "--signal=KILL", "--full", f"--user={getpass.getuser()}")
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
