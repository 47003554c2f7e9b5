"""What the laboratory's configuration files say: values in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# The timers are short so that a test can wait for them; the names and their meaning are Slurm's own.
_SLURM = {
    "ClusterName": "lab",
    "SlurmctldHost": "localhost(127.0.0.1)",
    "SlurmUser": "slurm",
    "AuthType": "auth/munge",
    "CredType": "cred/munge",
    "CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny",
    "MpiDefault": "none",
    "SwitchType": "switch/none",
    "ReturnToService": 2,
    "SlurmdParameters": "config_overrides",
    "SlurmdTimeout": 15,
    "MinJobAge": 60,
    "KillWait": 5,
    "TCPTimeout": 2,
    "MessageTimeout": 20,
    "UnkillableStepTimeout": 60,
    "InactiveLimit": 0,
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=5,sched_interval=5,batch_sched_delay=1,default_queue_depth=2000",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core_Memory",
    "DefMemPerCPU": 1024,
    "GresTypes": "gpu",
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "EnforcePartLimits": "NO",
    "MaxArraySize": 20001,
    "MaxJobCount": 40000,
    "PrologFlags": "Contain",
    "JobAcctGatherType": "jobacct_gather/linux",
    "JobAcctGatherFrequency": 1,
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageHost": "localhost",
    "AccountingStorageTRES": "gres/gpu",
    "AccountingStorageEnforce": "associations,limits,qos",
    "MailProg": "/bin/true",
}

_PARTITIONS = """\
PartitionName=main Nodes=gpu[01-05] Default=YES DefaultTime=60 MaxTime=7-0 PreemptMode=OFF
PartitionName=short Nodes=gpu[01-05] DefaultTime=1 MaxTime=2 PreemptMode=OFF
PartitionName=down Nodes=gpu[01-05] MaxTime=60 PreemptMode=OFF State=DOWN
PartitionName=high Nodes=gpu06 MaxTime=60 PriorityTier=10 PreemptMode=OFF
PartitionName=low Nodes=gpu06 MaxTime=60 PriorityTier=1 PreemptMode=REQUEUE
PartitionName=scrap Nodes=gpu06 MaxTime=60 PriorityTier=1 PreemptMode=CANCEL
"""

# Without accounting there is nobody to ask for associations, and the controller refuses to count GPUs.
NO_ACCOUNTING: dict[str, object] = {
    "AccountingStorageType": "accounting_storage/none",
    "AccountingStorageEnforce": "",
    "AccountingStorageTRES": "",
}


def slurm(directory: Path, ports: Mapping[str, int], cgroups: bool, changes: Mapping[str, object]) -> str:
    """slurm.conf with some settings changed (the empty text removes one).

    Without cgroups a job over its memory is found by sampling instead of by the kernel.
    """
    socket = directory / "munge" / "socket" / "munge.socket.2"
    settings: dict[str, object] = {
        **_SLURM,
        # A requeued job waits this long, and the default of 120 s is too long to wait for in a test.
        "AuthInfo": f"socket={socket},cred_expire=15",
        # Clients of slurmdbd take the socket from here and not from AuthInfo.
        "AccountingStoragePass": socket,
        "AccountingStoragePort": ports["slurmdbd"],
        "SlurmctldPort": ports["slurmctld"],
        "StateSaveLocation": directory / "state",
        "SlurmdSpoolDir": directory / "spool" / "%n",
        "SlurmctldLogFile": directory / "log" / "slurmctld.log",
        "SlurmdLogFile": directory / "log" / "slurmd-%n.log",
        "SlurmctldPidFile": directory / "run" / "slurmctld.pid",
        "SlurmdPidFile": directory / "run" / "slurmd-%n.pid",
        **(
            {"ProctrackType": "proctrack/cgroup", "TaskPlugin": "task/cgroup"}
            if cgroups
            else {
                "ProctrackType": "proctrack/linuxproc",
                "TaskPlugin": "task/none",
                "JobAcctGatherParams": "OverMemoryKill",
            }
        ),
        **changes,
    }
    lines = [f"{key}={value}" for key, value in settings.items() if value != ""]
    for name, port in ports.items():
        if name.startswith("gpu"):
            lines.append(
                f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
                "CPUs=64 RealMemory=262144 Gres=gpu:8 State=UNKNOWN"
            )
    return "\n".join(lines) + "\n" + _PARTITIONS


def gres(directory: Path) -> str:
    """Character devices, because Slurm refuses a mere count and sets CUDA_VISIBLE_DEVICES for nothing else."""
    return f"AutoDetect=off\nNodeName=gpu[01-06] Name=gpu File={directory}/dev/nvidia[0-7]\n"


CGROUP = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
ConstrainCores=no
ConstrainDevices=no
"""


def slurmdbd(directory: Path, ports: Mapping[str, int]) -> str:
    return f"""\
AuthType=auth/munge
AuthInfo={directory}/munge/socket/munge.socket.2
DbdHost=localhost
DbdAddr=127.0.0.1
CommunicationParameters=NoInAddrAny
DbdPort={ports["slurmdbd"]}
SlurmUser=slurm
LogFile={directory}/log/slurmdbd.log
PidFile={directory}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
"""


def mariadb(directory: Path) -> str:
    """Nothing in it survives the laboratory, so nothing is ever synced to a disk."""
    return f"""\
[mariadbd]
user=mysql
datadir={directory}/db/data
socket={directory}/db/socket/mariadb.sock
pid-file={directory}/db/mariadb.pid
log-error={directory}/db/mariadb.err
skip-networking
skip-name-resolve
skip-log-bin
innodb_log_file_size=16M
innodb_buffer_pool_size=64M
innodb_lock_wait_timeout=900
innodb_flush_method=nosync
innodb_flush_log_at_trx_commit=0
innodb_doublewrite=0
sync_frm=0
performance_schema=off
"""


def accounts(users: list[str]) -> str:
    """What the controller must find when it starts: the cluster, one account, and who may use it."""
    return f"""\
add cluster lab
add account research Description=research Organization=lab
add user {",".join(users)} account=research
"""


def limits(users: list[str]) -> str:
    """One quality of service per limit that a job can run into; GPUs are known only since the controller's start."""
    return f"""\
add qos limited set MaxJobsPerUser=1
add qos fewgpus set MaxTRESPerUser=gres/gpu=4
modify user {",".join(users)} set QOS=normal,limited,fewgpus DefaultQOS=normal
"""
