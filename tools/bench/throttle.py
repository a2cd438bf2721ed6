"""throttle: CL.THROTTLE and CL.WINDOW beside the script of rate-limiter-flexible, a package of npm, in Redis.

The package itself loads its script into the server, and MONITOR shows how it calls the script. The load
generator then sends the same call with other keys.
"""
import os
import re
import subprocess

from lease import compare, others
from servers import ROOT, Failed, die_with_parent

MODULES = os.path.join(ROOT, "tests", "e2e", "clients")
END = "the package has ended"
CONSUME = """
import Redis from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
const client = new (Redis.default ?? Redis)(Number(process.argv[1]));
const limiter = new RateLimiterRedis({ storeClient: client, points: 30, duration: 60, keyPrefix: 'limit' });
await limiter.consume('user');
await limiter.consume('user');
await client.quit();
"""


def call_of_script(server):
    """The package's call as a template; its script is in the server afterwards."""
    with server.connect() as monitor:
        monitor.call("MONITOR")
        done = subprocess.run(["node", "--input-type=module", "-e", CONSUME, str(server.port)], cwd=MODULES,
                              capture_output=True, text=True, timeout=60, preexec_fn=die_with_parent)
        if done.returncode != 0:
            raise Failed(f"rate-limiter-flexible in {MODULES}: {done.stderr}")
        server.call("ECHO", END)
        lines = []
        while not lines or END not in lines[-1]:
            lines.append(monitor.reply().decode())
    calls = [re.findall(r'"([^"]*)"', line) for line in lines]
    words = [call for call in calls if call[:1] and call[0].upper() == "EVALSHA"][-1]
    return " ".join("limit:{k9}" if word == "limit:user" else word for word in words)


def measure(bench, settings, say):
    """None: the package is missing."""
    ours = next(iter(settings.servers))
    if not os.path.isdir(os.path.join(MODULES, "node_modules", "rate-limiter-flexible")):
        say("throttle needs the packages of npm that make test-all installs: left out")
        return None
    wanted = {(ours, f"CL.THROTTLE, {ours}"): "throttle", (ours, f"CL.WINDOW, {ours}"): "sliding"}
    wanted.update({(name, f"rate-limiter-flexible, {name}"): call_of_script for name in others(settings)})
    return compare(bench, settings, say, wanted)
