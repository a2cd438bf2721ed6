#!/usr/bin/python3 -B
"""Random patterns of Lua against redis-server 7.0.15: find, match, gmatch and gsub must return the
same, and their errors must have the same texts."""
import sys
from contextlib import ExitStack
from random import Random

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, encode, equal, main, oracle

SCRIPT = """
local subject, pattern, replacement, from = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local out = {}
local function try(...)
    local all = {pcall(...)}
    for i = 1, select('#', ...) + 34 do out[#out + 1] = tostring(all[i]) end
end
try(string.find, subject, pattern, from)
try(string.find, subject, pattern, from, true)
try(string.match, subject, pattern, from)
try(string.gsub, subject, pattern, replacement)
try(string.gsub, subject, pattern, replacement, from)
try(string.gsub, subject, pattern, {a = 1, b = false, ab = 'x', [''] = 'e'})
try(string.gsub, subject, pattern, function(...) return select('#', ...) .. tostring((...)) end)
try(function()
    local n = 0
    for a, b in string.gmatch(subject, pattern) do
        n = n + 1
        out[#out + 1] = tostring(a) .. tostring(b)
        if n == 40 then break end
    end
end)
return out"""
PIECES = ["a", "b", "c", ".", "%a", "%d", "%s", "%w", "%A", "%z", "%.", "%%", "[ab]", "[^a]", "[a-c]",
          "[%d%s]", "[]a]", "[^]]", "[a-]", "[%]]", "(", ")", "()", "(a)", "(.-)", "%1", "%2", "%bab", "%b()",
          "%f[a]", "%f[%A]", "^", "$", "-", "%", "[", "]", "[^", "%f", "%b", "%0", "%9", "[a%", "\0", "\xff"]
REPEATS = ["", "", "", "*", "+", "-", "?"]
REPLACEMENTS = ["", "x", "%0", "%1", "<%0%1>", "%2", "%%", "%", "%x", "a\0b", "%9"]
BYTES = "aaabbc().%1 -]\0\xff"
ROUNDS = 1500


def arguments(random):
    subject = "".join(random.choice(BYTES) for _ in range(random.randrange(12)))
    pattern = "".join(random.choice(PIECES) + random.choice(REPEATS)
                      for _ in range(random.randrange(6)))
    return [text.encode("latin-1") for text in (subject, pattern, random.choice(REPLACEMENTS))] + [
        random.randrange(-3, 14)]


@beside_redis
def random_patterns_match_as_in_redis():
    random = Random(5)
    with ExitStack() as stack:
        servers = [stack.enter_context(Daemon()), stack.enter_context(Daemon(binary=oracle()))]
        raws = [server.raw() for server in servers]
        calls = [arguments(random) for _ in range(ROUNDS)]
        for raw in raws:
            raw.send(b"".join(encode("EVAL", SCRIPT, 0, *call) for call in calls))
        for call, here, there in zip(calls, *(raw.replies(ROUNDS) for raw in raws)):
            equal(here, there, call)


main()
