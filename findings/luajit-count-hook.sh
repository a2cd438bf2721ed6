#!/bin/sh
# A count hook of LuaJIT is not called in compiled code: a limit of instructions passes a loop of 10 million turns.
#
# debug.sethook with a count is how programs bound untrusted scripts. In PUC Lua the hook runs every n instructions.
# LuaJIT runs it in its interpreter only, so the limit works until a loop is hot. With jit.off() it works.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import debian, verdict

LIBRARY, VERSION = "libluajit-5.1-2", "2.1.0~beta3+git20220320+dfsg-4.1+deb12u1"
root = debian(LIBRARY, VERSION)
root = debian("luajit", VERSION)
libraries = os.path.join(root, "usr/lib", os.uname().machine + "-linux-gnu")
PROGRAM = """
local calls, sum = 0, 0
debug.sethook(function() calls = calls + 1 end, '', 1000)
for i = 1, 1e7 do sum = sum + i end
print(calls)
"""


def calls(*options):
    [program] = [os.path.join(root, "usr/bin", name) for name in os.listdir(os.path.join(root, "usr/bin"))
                 if name.startswith("luajit")][:1]
    done = subprocess.run([program, *options, "-"], input=PROGRAM, capture_output=True, text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": libraries})
    return int(done.stdout)


interpreted, compiled = calls("-joff"), calls()
verdict("about as many calls with the compiler as without it", f"{interpreted} without, {compiled} with",
        interpreted >= 10_000 and compiled < interpreted // 10)
END
