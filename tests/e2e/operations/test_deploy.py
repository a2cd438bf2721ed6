#!/usr/bin/python3 -B
"""What tools/container and tools/backup promise, without an engine for containers: the configuration
and the probes of the manifests work with the daemon, and a backup can be restored."""
import os
import re
import subprocess
import sys

import yaml

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, die_with_parent, equal, folder, main, own

CONTAINER = os.path.join(ROOT, "tools/container")
TOOLS = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools")
PASSWORD = "a-password"


def read(name):
    with open(os.path.join(CONTAINER, name), encoding="utf-8") as file:
        return file.read()


def run(words, **env):
    return subprocess.run(words, capture_output=True, text=True, check=False,
                          env={**os.environ, **env}, preexec_fn=die_with_parent)


def at(port, script):
    """A probe's script for the daemon at this port."""
    return run(["sh", "-c", script.replace("redis-cli", f"redis-cli -p {port}")],
               REDISCLI_AUTH=PASSWORD).returncode


# --- manifests ----------------------------------------------------------------------------------


def kubernetes():
    return {part["kind"]: part for part in yaml.safe_load_all(read("kubernetes.yaml"))}


@own
def the_parts_of_the_kubernetes_manifest_fit():
    parts = kubernetes()
    state = parts["StatefulSet"]["spec"]
    pod = state["template"]
    container, = pod["spec"]["containers"]
    labels = pod["metadata"]["labels"]
    equal(parts["Service"]["spec"]["selector"], labels)
    equal(state["selector"]["matchLabels"], labels)
    equal(state["serviceName"], parts["Service"]["metadata"]["name"])
    equal(parts["Service"]["spec"]["ports"][0]["port"], container["ports"][0]["containerPort"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    equal(mounts, {"data": "/data", "configuration": "/etc/expired"})
    equal(pod["spec"]["volumes"][0]["configMap"]["name"], parts["ConfigMap"]["metadata"]["name"])
    equal(state["volumeClaimTemplates"][0]["metadata"]["name"], "data")
    user = int(re.search(r"--gid (\d+) expired", read("Containerfile"))[1])
    equal(pod["spec"]["securityContext"]["runAsUser"], user)
    assert "expired.conf" in parts["ConfigMap"]["data"]
    assert re.search(r'^ENTRYPOINT \["expired", "/etc/expired/expired.conf"\]$', read("Containerfile"), re.M)


@own
def the_configuration_and_the_probes_of_kubernetes_work():
    parts = kubernetes()
    container, = parts["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    ready, alive = (container[name]["exec"]["command"][2] for name in ("readinessProbe", "livenessProbe"))
    with folder() as where:
        conf = os.path.join(where, "expired.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(parts["ConfigMap"]["data"]["expired.conf"].replace("/data", where))
        done = run([BINARY, "--check-config", conf])
        equal((done.returncode, done.stderr), (0, ""))
    with Daemon("--requirepass", PASSWORD, tcp=True) as daemon:
        equal([at(daemon.port, ready), at(daemon.port, alive)], [0, 0])
        with daemon.raw() as raw:
            raw.call("AUTH", PASSWORD)
            raw.call("CONFIG", "SET", "requirepass", "another")
        equal([at(daemon.port, ready), at(daemon.port, alive)], [1, 1])


@own
def the_compose_file_starts_the_image_with_options_that_exist():
    compose = yaml.safe_load(read("compose.yaml"))
    service = compose["services"]["expired"]
    equal(service["build"], {"context": "../..", "dockerfile": "tools/container/Containerfile"})
    equal(service["volumes"], [f"{name}:/data" for name in compose["volumes"]])
    words = [re.sub(r"^\$\{.*", PASSWORD, word) for word in service["command"]]
    with Daemon(*words, tcp=True) as daemon:
        kind, script = service["healthcheck"]["test"]
        equal((kind, at(daemon.port, script)), ("CMD-SHELL", 0))


# --- backup -------------------------------------------------------------------------------------


def backup(daemon, *words, cli=None):
    return run([os.path.join(ROOT, "tools/backup"), *words], EXPIRED_CLI=cli or f"redis-cli -s {daemon.path}",
               EXPIRED_BACKUP_WAIT="0.05", PATH=f"{TOOLS}:{os.environ['PATH']}")


def fill(raw):
    for i in range(100):
        raw.call("SET", f"key:{i}", i, "PX", 10 ** 9)
        raw.call("SADDEX", "set", "PX", 10 ** 9, "MEMBERS", 1, i)
        raw.call("REDE.PUSH", "later", 10 ** 9, i, i)


@own
def a_backup_can_be_restored():
    with folder() as where, Daemon("--appendonly", "yes") as daemon:
        with daemon.raw() as raw:
            fill(raw)
            digest = raw.call("DEBUG", "DIGEST")
        done = backup(daemon, where)
        equal((done.returncode, done.stderr), (0, ""))
        copy = done.stdout.strip()
        equal(os.listdir(where), [os.path.basename(copy)])
        daemon.kill()
        with Daemon("--appendonly", "yes") as fresh:
            fresh.stop()
            for name in os.listdir(os.path.join(fresh.dir, "appendonlydir")):
                os.unlink(os.path.join(fresh.dir, "appendonlydir", name))
            os.rename(copy, os.path.join(fresh.dir, "dump.exp"))
            fresh.start()
            with fresh.raw() as raw:
                equal(raw.call("DEBUG", "DIGEST"), digest)


@own
def a_backup_keeps_the_latest_copies_only():
    with folder() as where, Daemon() as daemon:
        old = [f"expired-2020010{i}T000000Z.exp" for i in range(1, 6)]
        for name in (*old, "expired-notes.exp"):
            with open(os.path.join(where, name), "w", encoding="utf-8"):
                pass
        done = backup(daemon, where, "3")
        equal(done.returncode, 0, done.stderr)
        equal(sorted(os.listdir(where)),
              sorted([*old[-2:], os.path.basename(done.stdout.strip()), "expired-notes.exp"]))


# A client of a daemon whose snapshot takes as long as two looks.
SLOW_SNAPSHOT = """#!/bin/sh
looks={state}/looks
case "$*" in
"BGSAVE SCHEDULE") echo 0 >$looks; echo Background saving scheduled ;;
"INFO persistence")
    [ -e $looks ] || exec redis-cli -s {path} "$@"
    n=$(($(cat $looks) + 1))
    echo $n >$looks
    saving=1
    [ $n -lt 3 ] || saving=0
    [ $n -ne 3 ] || redis-cli -s {path} SAVE >/dev/null
    redis-cli -s {path} "$@" |
        sed "s/^rdb_saves:.*/rdb_saves:99/; s/^rdb_bgsave_in_progress:.*/rdb_bgsave_in_progress:$saving/" ;;
*) exec redis-cli -s {path} "$@" ;;
esac
"""


@own
def a_backup_waits_for_the_end_of_the_snapshot():
    with folder() as where, folder() as state, Daemon() as daemon, daemon.raw() as raw:
        cli, dump = os.path.join(state, "cli"), os.path.join(daemon.dir, "dump.exp")
        with open(cli, "w", encoding="utf-8") as file:
            file.write(SLOW_SNAPSHOT.format(state=state, path=daemon.path))
        os.chmod(cli, 0o755)
        raw.call("SAVE")
        with open(dump, "rb") as file:
            old = file.read()
        raw.call("SET", "new", "value")
        done = backup(daemon, where, cli=cli)
        equal(done.returncode, 0, done.stderr)
        with open(done.stdout.strip(), "rb") as copy, open(dump, "rb") as file:
            new = file.read()
            equal(copy.read(), new)
        assert new != old


@own
def a_backup_that_fails_prints_why_and_leaves_nothing():
    with folder() as where, Daemon("--requirepass", PASSWORD) as daemon:
        for words, text in (((), "usage"), ((where, "0"), "KEEP"), ((where + "/none",), "no folder"),
                            ((where,), "NOAUTH")):
            done = backup(daemon, *words)
            assert done.returncode == 1 and text in done.stderr, (words, done)
        equal(os.listdir(where), [])
    with folder() as where, Daemon("--dbfilename", "dump.exp") as daemon:
        os.mkdir(os.path.join(daemon.dir, "dump.exp"))  # the snapshot can't take this name
        done = backup(daemon, where)
        assert done.returncode == 1 and "is not replaced" in done.stderr, done
        equal(os.listdir(where), [])


main()
