"""What ``--help`` says of the commands of the service."""

from __future__ import annotations

from belated.policies._base.defaults import DEFAULT_POLICY

SERVE = f"""\
Run the policies on real traffic, behind HTTP.

The journal is a SQLite file, or PostgreSQL by its URL; with PostgreSQL several servers may share one database. The
address / shows a dashboard, /openapi.json the interface.

An experiment that is made without a policy has {DEFAULT_POLICY}

Each setting is a flag, or else an environment variable (BELATED_DB, BELATED_HOST, BELATED_PORT, BELATED_LOG), or else
a line of a TOML file (--config, or BELATED_CONFIG):

  db = "bandits.db"
  host = "127.0.0.1"
  port = 8000
  log = "info"

Without keys it listens to this machine alone; see belated keys.
"""

VERIFY = """\
Compute everything anew from the journal, and compare.

Every experiment is lived again from its first event: the decisions must come out the same, the life of each decision
must make sense, and the state must be that of the snapshots, to the bit. The exit status is 1 if something is not.
"""

IMPORT = """\
Restore an export.

FILE.parquet comes from GET /v1/experiments/NAME/export.parquet. What is there already must be the same, and is not
taken in twice; on an error nothing is.
"""

KEYS = """\
Keys: who may do what.

A reader may look, a writer may also make experiments, decide and give feedback, an admin may also stop and change
experiments. Once there is a key, every request needs one: Authorization: Bearer KEY.
"""

DEMO = """\
Look around: a server with simulated traffic.

Three experiments that are hours old, whose feedback comes late or never; visitors go on coming until Ctrl-C. In one,
successes come late and failures fast (OPSE); in one, only successes are ever reported (silence that
means failure, and the usual policy for that); in one, delays have a heavy tail (Thompson sampling).

The dashboard is at the address that is printed, and is opened in a browser if there is one. Everything is in a
temporary file unless --db says where to keep it; the same --db again goes on from there.
"""
