#!/bin/sh
# expireAt of node-redis cuts a Date to its second: a key that should live for 0.9 s more is deleted at once.
#
# The type Date has milliseconds, and pExpireAt keeps them. expireAt sends EXPIREAT with the whole seconds below, so
# keys end up to a second early; within the current second the command deletes the key, and the reply is still 1.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import subprocess

from lib import npm, redis_server, verdict

folder = npm("@redis/client", "6.3.1")
PROGRAM = """
import { createClient } from '@redis/client';
const client = await createClient({ socket: { path: process.argv[2] } }).connect();
let now;
do now = Date.now(); while (now % 1000 > 100); // early in a second
await client.set('k', 'v');
const reply = await client.expireAt('k', new Date(now - now % 1000 + 999));
console.log(reply, await client.exists('k'), 999 - Date.now() % 1000 > 0);
await client.close();
"""
done = subprocess.run(["node", "--input-type=module", "-", redis_server()], input=PROGRAM, cwd=folder,
                      capture_output=True, text=True, check=True)
verdict("1 1 true: the key lives until the Date", done.stdout.strip() + " (reply, EXISTS, is the Date still to come?)",
        done.stdout.strip() == "1 0 true")
END
