"""scripts: what a script costs in addition to its commands.

A lock is taken and dropped by a script that compares and deletes, and by the same commands without a script.
A script that only returns a number shows what it costs to call one.
"""
from lease import compare

WORK = {
    "commands": "SET lock:{k9} {n12} NX PX 30000\nGET lock:{k9}\nDEL lock:{k9}",
    "script": "lock",
    "nothing": "eval-nothing",
}


def measure(bench, settings, say):
    """{server: {what of WORK: {pipeline: {"ops", "cpu_ns"}}}}"""
    names = [name for name in settings.servers if name != "bare"]
    found = compare(bench, settings, say, {(name, f"scripts: {what}, {name}"): mix
                                           for what, mix in WORK.items() for name in names})
    return {name: {what: found[f"scripts: {what}, {name}"] for what in WORK} for name in names}
