#!/usr/bin/python3
"""Checks the source tree against the layers and the smells of doc/design.md.

Layers: which folder may include which, and no cycle among the includes. Smells: what can be seen in
one line. Prints file:line: what is wrong; exits with status 1 if it printed anything.

    tools/lint/tree.py           check
    tools/lint/tree.py --draw    print the picture of the layers that doc/design.md shows
"""
import collections
import pathlib
import re
import subprocess
import sys

FOLDERS = ("proto", "conf", "store", "server", "tests", "tools")
CODE = ("proto/", "conf/", "store/", "server/")
PAGE = "doc/design.md"

# Each folder of code: its name, what it is, and which other folders it may include. A
# folder names only folders above it in this list, so the order proves that there is no cycle.
# "x/*" stands for x and every folder in it.
ROOMS = (
    ("store/base", "bytes, instants, hashing, numbers and JSON as text, UTF-8, histograms, assertions", ""),
    ("store/mem", "the allocator and its pools; shared blocks, growing output", "store/base"),
    ("proto/resp", "requests and replies, RESP2 and RESP3", "store/base store/mem"),
    ("proto/rdb", "Redis' files and DUMP payloads", "store/base store/mem"),
    ("conf", "options: parsing, CONFIG, the example file; command lines, --help", "store/base store/mem"),
    ("store/struct", "tables, trees, agendas; no Redis type", "store/base store/mem"),
    ("store/type/stream", "streams, their groups and pending entries", "store/base store/mem store/struct"),
    ("store/type", "string, list, set, hash, sorted set, dehydrator, stream, lease",
     "store/base store/mem store/struct store/type/stream"),
    ("store/policy", "rules by key prefix, and the keys that they write to",
     "store/base store/mem"),
    ("store", "the data set: keys, values, deadlines, policies, libraries",
     "store/base store/mem store/policy store/struct store/type/*"),
    ("store/txn", "the write path", "store store/base store/mem store/policy store/struct store/type/*"),
    ("store/sweep", "background work on the data: expiry, eviction, defragmentation",
     "store store/base store/mem store/policy store/struct store/type/* store/txn"),
    ("server/base", "loop, clock, log, process", "store/base store/mem"),
    ("server/cmd/call", "the interface of commands: call, arguments, errors, rows, session",
     "proto/resp server/base store/*"),
    ("server/engine/acl", "users and their permissions",
     "conf server/base server/cmd/call store/*"),
    ("server/engine/observe", "counts, times, slow log, latency, MONITOR",
     "conf proto/resp server/base server/cmd/call store/*"),
    ("server/disk/effect", "effects as canonical commands, and back; tools link this",
     "proto/resp store/*"),
    ("server/disk/format", "journal records, snapshots, the manifest; tools link this",
     "conf proto/resp server/disk/effect store/*"),
    ("server/replica/stream", "the replication stream as text, and its backlog",
     "server/disk/effect server/disk/format store/*"),
    ("server/disk/import", "reads Redis' files as effects",
     "proto/rdb server/disk/effect server/disk/format store/*"),
    ("server/disk", "journal, snapshots, loading; the processes that write them",
     "conf server/base server/disk/effect server/disk/format server/disk/import store/*"),
    ("server/engine/react", "reactions to a commit: WATCH, blocked clients, tracking, events",
     "conf proto/resp server/base server/cmd/call server/disk server/replica/stream store/*"),
    ("server/engine", "a request from the gates to its commit; background work of a turn",
     "conf proto/resp server/engine/acl server/base server/cmd/call server/engine/observe server/disk"
     " server/engine/react store/*"),
    ("server/net/tls", "encryption of connections, certificates", "conf server/base store/base store/mem"),
    ("server/net", "sockets, connections, reading ahead",
     "conf proto/resp server/engine/acl server/base server/cmd/call server/engine/observe"
     " server/disk server/engine/react server/engine server/net/tls store/*"),
    ("server/replica", "masters and replicas: the role, full copies, the link, WAIT",
     "conf proto/resp server/base server/cmd/call server/net server/engine/observe server/disk"
     " server/disk/effect server/disk/format server/disk/import server/engine/react server/replica/stream server/engine server/net/tls store/*"),
    ("server/cmd", "shared by data commands of several types",
     "proto/resp server/cmd/call store/*"),
    ("server/cmd/member", "deadlines of members", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/string", "strings, bits, HyperLogLog", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/list", "lists", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/set", "sets", "proto/resp server/cmd/call server/cmd server/cmd/member store/*"),
    ("server/cmd/hash", "hashes", "proto/resp server/cmd/call server/cmd server/cmd/member store/*"),
    ("server/cmd/zset", "sorted sets", "proto/resp server/cmd/call server/cmd server/cmd/member store/*"),
    ("server/cmd/geo", "geographic positions in sorted sets", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/dehydrator", "dehydrators", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/lease", "leases", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/stream", "streams and their groups", "proto/resp server/cmd/call server/cmd store/*"),
    ("server/cmd/key", "keys of any type, SORT, DUMP, POLICY",
     "proto/resp server/cmd/call server/cmd store/*"),
    ("server/script/lua", "the Lua interpreter with its limits, and the libraries of scripts",
     "server/base store/base store/mem"),
    ("server/script", "scripts in Lua, functions",
     "conf proto/rdb proto/resp server/engine/acl server/base server/cmd/call server/cmd server/engine/observe"
     " server/disk/effect server/disk/format server/engine/react server/engine server/script/lua store/*"),
    ("server/admin", "CONFIG, INFO, DEBUG, MEMORY and other commands about the server",
     "conf proto/resp server/engine/acl server/base server/cmd/call server/net server/engine/observe"
     " server/disk server/engine/react server/replica server/replica/stream server/engine server/script server/net/tls store/*"),
    ("server/admin/info", "INFO: its sections",
     "conf proto/resp server/admin server/base server/cmd/call server/net"
     " server/engine/observe server/disk server/engine/react server/replica server/replica/stream server/engine server/script server/net/tls store/*"),
    ("server/admin/acl", "ACL",
     "conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net"
     " server/engine/observe server/disk server/engine/react server/engine store/*"),
    ("server/admin/client", "CLIENT, HELLO, AUTH",
     "conf proto/resp server/engine/acl server/admin server/base server/cmd/call server/net"
     " server/engine/observe server/disk server/engine/react server/replica server/replica/stream server/engine store/*"),
    ("server/admin/command", "COMMAND",
     "conf proto/resp server/admin server/base server/cmd/call server/net"
     " server/engine/observe server/disk server/engine/react server/engine store/*"),
    ("server/http", "the metrics port: HTTP, figures for Prometheus, a status page",
     "conf server/engine/acl server/admin server/admin/client server/base server/cmd/call server/net"
     " server/engine/observe server/disk server/engine/react server/replica server/replica/stream server/engine server/script server/net/tls store/*"),
    ("server/module/api", "the module API of the host, the server that loads the module",
     "proto/resp server/base server/cmd/call store/*"),
    ("server/module/keys", "deadlines of the host's own keys",
     "server/base server/module/api store/*"),
    ("server/module/values", "our types as values of the host",
     "proto/resp server/base server/cmd/call server/disk/effect server/disk/format"
     " server/module/api server/module/keys store/*"),
    ("server/module/policies", "policies of a node, and its expiry logs",
     "proto/resp server/base server/cmd server/cmd/call server/cmd/key server/disk/effect"
     " server/module/api server/module/keys server/module/values store/*"),
    ("server/module", "expired.so: the store inside Redis and Valkey",
     "proto/resp server/base server/cmd server/cmd/call server/cmd/key server/disk/effect"
     " server/disk/format server/module/api server/module/keys server/module/policies"
     " server/module/values store/*"),
    ("server/daemon", "creates and connects the parts: turns, signals, start and stop",
     "conf proto/resp server/engine/acl server/base server/cmd/call server/cmd/* server/engine/observe server/disk"
     " server/engine/react server/replica server/engine server/net server/http server/script server/net/tls server/admin/*"
     " store/*"),
)

# Single files that may include more than their folder.
EXCEPTIONS = (
    # main is the process that the daemon runs in.
    (r"server/main\.c", r"(server|proto|conf|store)/"),
    # DUMP and RESTORE carry a payload in Redis' format.
    (r"server/cmd/key/dump\.c", r"server/disk/payload\.h"),
    (r"server/disk/payload\.c", r"proto/rdb/"),
)

# Headers that only some files may include, whatever their layer.
PRIVATE = {"store/txn/txn_internal.h": r"store/", "store/txn/txn_type.h": r"store/"}

# Tests and tools, as patterns of paths from the root. The first row that fits a file counts.
OTHERS = (
    (r"tests/unit/(?P<own>proto|conf|store)/", 
     r"(?P=own)/|store/(base|mem)/|tests/support/|tests/unit/(?P=own)/"),
    (r"tests/", r"tests/|server/|proto/|conf/|store/"),
    (r"tools/bench/deadlines\.c", r"store/"),
    (r"tools/(command_reference\.c|reference/)", r"tools/reference/|server/|store/"),
    (r"tools/(files/|expired-)",
     r"tools/files/|server/disk/(effect|format)/|server/base/version\.h|proto/|conf/|store/"),
    (r"tools/manual", r"tools/manual/|tools/files/usages\.h|server/base/version\.h|conf/"),
    (r"tools/", r"tools/(?!files/)|proto/|conf/|store/(base|mem)/"),
)

CLOCKS = r"\b(clock_gettime|gettimeofday|clock|time|timespec_get|ftime)\s*\("
SLEEPS = r"\b(sleep|usleep|nanosleep|clock_nanosleep)\s*\("

OUTSIDE = ("server/", "proto/", "conf/", "tools/")  # tests look inside

# (files, pattern, files in which it is allowed, message)
SMELLS = (
    (CODE, CLOCKS, r"server/base/clock\.c", "only server/base/clock.c reads a clock"),
    (CODE, r"event2/", r"server/base/loop\.c|server/http/.*",
     "only server/base/loop.c and server/http/ include libevent"),
    (CODE, r"\bloop_event_base\b", r"server/base/loop\.[ch]|server/http/.*",
     "only server/http/ needs libevent's loop"),
    (CODE, r"\bout(->|\.)version\s*[=!<>]=?\s*[23]\b(?!;)", r"proto/resp/resp_write\.c",
     "only proto/resp/resp_write.c tells RESP2 from RESP3"),
    (CODE, r"\bstruct server\b", None, "no struct server"),
    (("store/", "server/"), r"\b(now|until|next_due|expires_at|deadline)\s*[-+]\s*1\b",
     r"store/base/instant\.h", "a millisecond before or after is in store/base/instant.h"),
    (("store/",), r"\b(malloc|calloc|realloc|free|strdup)\s*\(", r"store/mem/(mem|shared)\.c",
     "only store/mem/mem.c and shared.c allocate"),
    (OUTSIDE, r"(?<!conf)(->|\.)databases\b|\bks(->|\.)dict\b", None,
     "struct database is private to store/; use store_database, keyspace_count ..."),
    (OUTSIDE, r"\btxn(->|\.)ks\s*=[^=]", None, "txn_call changes the database of a transaction"),
    (OUTSIDE, r"\b(keyspace_(init|drop|add|remove|replace|set_deadline|rearm|relocate)"
     r"|policies_(set|remove|drop|begin_pass)|access_(begin|note|set)"
     r"|(object|set|hash|zset)_widen|rewind_(note|entry|swapped)|reclaim_keyspace)\s*\(",
     None, "only store/ changes data this way; use a mutator of store/txn/txn.h"),
    (OUTSIDE, r"(->|\.)(accessed\s*[-+|]?=[^=]|policies\s*=[^=]|emptied|ruled_entry)", None,
     "only store/ writes this; use a mutator of store/txn/txn.h"),
    (FOLDERS, r"\bextern\b", r".*\.h", "no extern in a .c file"),
    (("tests/",), SLEEPS, r"tests/sim/kernel/calls_time\.c", "a test does not sleep"),
)
SCRIPT_SMELLS = (
    (r"\btime\.sleep\(|\basyncio\.sleep\(", "a test does not sleep"),
    (r"\bsetTimeout\(|timers/promises", "a test does not sleep"),
)
WIDEST = 30
DATA_FILES = r"(^|/)(appendonlydir|data|build)/|\.(aof|exp|rdb|o|so|a)$"

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# Comments and literals are not checked. Their newlines are kept for the line numbers.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

problems = []


def complain(path, line, text):
    problems.append(f"{path}:{line}: {text}")


# ---- layers ----

def allowed_folders(names):
    """The folders that a row's last column stands for."""
    found = set()
    for name in names.split():
        base = name.removesuffix("/*")
        found.add(base)
        if name != base:
            found |= {room for room, _, _ in ROOMS if room.startswith(base + "/")}
    return found


MAY = {room: allowed_folders(names) | {room} for room, _, names in ROOMS}


def check_rooms():
    seen = set()
    for room, _, names in ROOMS:
        for other in sorted(allowed_folders(names) - seen):
            complain("tools/lint/tree.py", 1, f"{room} names {other}, which does not stand above it")
        seen.add(room)


def folder_of(path):
    return path.rpartition("/")[0]


def may_include(path, target):
    if target in PRIVATE and not re.match(PRIVATE[target], path):
        return False
    for own, others in EXCEPTIONS:
        if re.fullmatch(own, path) and re.match(others, target):
            return True
    if path.startswith(CODE):
        return folder_of(target) in MAY.get(folder_of(path), ())
    for own, others in OTHERS:
        match = re.match(own, path)
        if match:
            names = match.groupdict()
            pattern = others.replace("(?P=own)", names["own"]) if "own" in names else others
            return re.match(pattern, target) is not None
    return False


def draw():
    """The layers as text, lowest last: a folder is above all folders that it includes."""
    level = {}
    for room, _, names in ROOMS:
        level[room] = 1 + max((level[other] for other in allowed_folders(names)), default=0)
    wide = max(len(room) for room in level)
    rows = [f"{'server/main':{wide}}  the command line and the process"]
    for step in range(max(level.values()), 0, -1):
        rows.append("-" * (wide + 2))
        rows += [f"{room:{wide}}  {what}" for room, what, _ in ROOMS if level[room] == step]
    return "\n".join(rows)


def check_page():
    shown = f"```layers\n{draw()}\n```"
    if shown not in pathlib.Path(PAGE).read_text(encoding="utf-8"):
        complain(PAGE, 1, "the picture of the layers is not what tools/lint/tree.py --draw prints")


def check_openings():
    """Each folder opens with a comment in one of its files: "Folder <name>: ..."."""
    found = {}
    for folder in CODE:
        for file in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            opening = re.search(r"^ \* Folder ([\w/]+): ", file.read_text(encoding="utf-8"), re.M)
            if opening:
                found.setdefault(opening.group(1), []).append(file.as_posix())
    for room in MAY:
        files = found.get(room, [])
        if len(files) != 1 or folder_of(files[0]) != room:
            complain(PAGE, 1, f"one file of {room}/ describes it in a line 'Folder {room}: ...'")


def without_noise(text):
    def blank(match):
        found = match.group()
        return '""' if found[0] in "\"'" else "\n" * found.count("\n")
    kept = []
    # Keep the names on #include lines, which look like literals.
    for part in re.split(r"(^\s*#\s*include[^\n]*$)", text, flags=re.M):
        kept.append(part if re.match(r"\s*#\s*include", part) else NOISE.sub(blank, part))
    return "".join(kept)


def includes_of(path, lines):
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if not pathlib.Path(target).is_file():
            complain(path, number, f'"{target}" is not a path from the root')
        elif not may_include(path, target):
            complain(path, number, f"{target} is not for this file to include")
        else:
            found.append(target)
    return found


def find_cycles(graph):
    state = {}

    def walk(node, trail):
        if state.get(node) == "done":
            return
        if node in trail:
            around = trail[trail.index(node):] + [node]
            complain(node, 1, "includes itself: " + " -> ".join(around))
            return
        for target in graph.get(node, ()):
            walk(target, trail + [node])
        state[node] = "done"

    for node in sorted(graph):
        walk(node, [])


# ---- names ----

STATIC = re.compile(r"^static\s+(?!inline)[\w\s*]*?\b(\w+)\(", re.M)


def check_names():
    """In one folder no two files define a static function of the same name, so that a search finds
    one."""
    homes = {}
    for folder in CODE:
        for file in sorted(pathlib.Path(folder).rglob("*.c")):
            path = file.as_posix()
            for name in set(STATIC.findall(without_noise(file.read_text(encoding="utf-8")))):
                homes.setdefault((folder_of(path), name), []).append(path)
    for (_, name), paths in sorted(homes.items()):
        if len(paths) > 1 and not name.startswith("cmd_"):
            complain(paths[1], 1, f"{name} is a static function of {paths[0]} as well")


# ---- smells ----

def find_smells(path, lines):
    for folders, pattern, allowed, wrong in SMELLS:
        if not path.startswith(folders) or (allowed and re.fullmatch(allowed, path)):
            continue
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line):
                complain(path, number, wrong)


def check_c():
    graph = {}
    for folder in FOLDERS:
        for file in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            path = file.as_posix()
            if "node_modules" in path:
                continue
            if path.startswith(CODE) and folder_of(path) not in MAY and path != "server/main.c":
                complain(path, 1, "its folder is not in the list of tools/lint/tree.py")
            lines = without_noise(file.read_text(encoding="utf-8")).split("\n")
            graph[path] = includes_of(path, lines)
            find_smells(path, lines)
    find_cycles(graph)


def check_folders():
    """A folder of tests that can be read at a glance."""
    paths = [path for path in tracked() if path.startswith("tests/")]
    for path in paths:
        if re.fullmatch(r"tests/(e2e|e2e/.*/.*|lib|(crash|sim)/.*)/test_[^/]*", path):
            complain(path, 1, "make does not run it: move it to a folder of tests/e2e/, to tests/crash/ or to tests/sim/")
    files = collections.Counter(path.rpartition("/")[0] for path in paths)
    for folder, count in files.items():
        if count > WIDEST:
            complain(folder, 1, f"{count} files; at most {WIDEST}: group them")


def check_scripts():
    for file in sorted(pathlib.Path("tests/e2e").glob("*/test_*")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            for pattern, wrong in SCRIPT_SMELLS:
                if re.search(pattern, line):
                    complain(file.as_posix(), number, wrong)


def check_makefile():
    lines = pathlib.Path("Makefile").read_text(encoding="utf-8").count("\n")
    if lines >= 270:
        complain("Makefile", lines, "under 270 lines")


def tracked():
    listed = subprocess.run(("git", "ls-files"), capture_output=True, text=True, check=False)
    return listed.stdout.split("\n")


def check_tracked():
    """Files of data or build output have no place in the repository."""
    for path in tracked():
        if re.search(DATA_FILES, path) and not path.startswith("tests/kept/"):
            complain(path, 1, "looks like data or build output; remove it and ignore it")


if sys.argv[1:] == ["--draw"]:
    print(draw())
    sys.exit(0)
check_rooms()
check_page()
check_openings()
check_c()
check_names()
check_folders()
check_scripts()
check_makefile()
check_tracked()
print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
sys.exit(1 if problems else 0)
