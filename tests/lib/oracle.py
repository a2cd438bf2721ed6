"""oracle: the redis-server whose answers are the reference of the tests.

A test that needs it fails if it is missing, and is counted as skipped with ALLOW_NO_ORACLE=1. ORACLE
names another path.
"""
import os
import subprocess

ORACLE = os.environ.get("ORACLE") or "/usr/bin/redis-server"
ORACLE_VERSION = "7.0.15"


class Skipped(Exception):
    """The test cannot run here, and the caller has allowed that."""


def version_of(binary):
    return subprocess.run([binary, "--version"], capture_output=True, text=True).stdout


def missing(wrong, consent="ALLOW_NO_ORACLE"):
    """What to raise where something that a test needs is missing."""
    if os.environ.get(consent) == "1":
        return Skipped(wrong)
    return AssertionError(f"{wrong}; {consent}=1 skips the tests that need it")


def oracle():
    """The path of the oracle; AssertionError or Skipped where it is missing."""
    if os.access(ORACLE, os.X_OK) and f"v={ORACLE_VERSION} " in version_of(ORACLE):
        return ORACLE
    raise missing(f"{ORACLE} is not redis-server {ORACLE_VERSION}")


def closing_line(passed, failed, skipped):
    """The last line of a test program, which tests/run reads."""
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
