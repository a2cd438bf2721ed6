#!/bin/sh
# redis-dump writes one key's value under the name of another if the database has a stream, and reports success.
#
# It reads the types of all keys, then the values of the types that it knows, and pairs both lists by position. A stream
# has no entry in the second list, so every key whose name sorts after it gets the next key's value, and the last one
# "undefined". Loading the dump overwrites good data with it. Nothing is printed, and the exit status is 0.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import Client, npm, redis_server, verdict

# redis-dump connects to TCP ports only: this port leads to the socket of the server.
PROGRAM = """
const net = require('net');
const { execFile } = require('child_process');
const port = net.createServer((client) => client.pipe(net.connect(process.argv[2])).pipe(client));
port.listen(0, '127.0.0.1', () => {
    execFile('node_modules/.bin/redis-dump', ['-p', port.address().port], (error, dump) => {
        console.log(error === null ? dump : `status ${error.code}`);
        process.exit();
    });
});
"""
folder = npm("redis-dump", "0.1.10")
path = redis_server()
client = Client(path)
for key in ("a", "x", "y", "z"):
    client.call("SET", key, "value-of-" + key)


def dumped():
    done = subprocess.run(["node", "-", path], input=PROGRAM, cwd=folder, capture_output=True, text=True, check=True)
    return dict(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("SET"))


before = dumped()
client.call("XADD", "b", "*", "f", "v")
after = dumped()
verdict(f"{before}, with and without a stream named b", f"{after} with it",
        (before["x"], after["x"], after["z"]) == ("value-of-x", "value-of-y", "undefined"))
END
