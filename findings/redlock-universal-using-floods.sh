#!/bin/sh
# `using` of redlock-universal with a ttl of 1250 ms or less extends its lock all the time, thousands of times a second.
#
# `using` plans the next extension after four fifths of the ttl, but at once if that is no more than its shortest interval,
# 1 s. So with a ttl of up to 1250 ms each extension starts the next one. Short locks are common, since nobody wants to
# wait long for a crashed holder; every such holder keeps a processor and the server busy, and no result is wrong.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import subprocess

from lib import npm, redis_server, verdict

npm("ioredis", "5.11.1")
folder = npm("redlock-universal", "0.8.5")
PROGRAM = """
import { Redis } from 'ioredis';
import { IoredisAdapter, createLock } from 'redlock-universal';
const redis = new Redis(process.argv[2]);
for (const ttl of [2000, 1000]) {
    await redis.config('RESETSTAT');
    const lock = createLock({ adapter: new IoredisAdapter(redis), key: 'k', ttl });
    await lock.using(() => new Promise((done) => setTimeout(done, 300)));
    const calls = (await redis.info('commandstats')).match(/cmdstat_evalsha?:calls=\\d+/g) ?? [];
    console.log(calls.reduce((sum, one) => sum + Number(one.split('=')[1]), 0));
}
redis.disconnect();
"""
done = subprocess.run(["node", "--input-type=module", "-", redis_server()], input=PROGRAM, cwd=folder,
                      capture_output=True, text=True, check=True)
long, short = map(int, done.stdout.split())
verdict("a few scripts in 300 ms of work, whatever the ttl", f"{long} with a ttl of 2000 ms, {short} with 1000 ms",
        long < 10 < 50 < short)
END
