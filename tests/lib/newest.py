"""newest: today's servers from the root that tools/newest makes, for the tests that `make test-newest` runs.

A test fails where the root is missing. NEWEST names another folder with the programs.
"""
import os

from daemon import ROOT, Daemon
from import_data import DATABASES

PROGRAMS = os.path.abspath(os.environ.get("NEWEST") or os.path.join(ROOT, "build", "newest", "bin"))
VALKEY, REDIS = "valkey-server", "redis-server"
SENTINEL = "valkey-sentinel"


def newest_path(program):
    path = os.path.join(PROGRAMS, program)
    assert os.access(path, os.X_OK), f"there is no {path}: run tools/newest as root"
    return path


def newest(program, *options, **how):
    """One of these servers, not started yet."""
    return Daemon("--databases", str(DATABASES), *options, binary=newest_path(program), **how)
