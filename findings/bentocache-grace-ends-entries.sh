#!/bin/sh
# A grace period of bentocache that is shorter than the TTL ends entries before their TTL.
#
# A grace period is for serving stale values a little longer when their source fails, so "ttl 2 s, grace 0.4 s" reads as
# 2.4 s at most. Bentocache stores the entry in Redis for the grace period alone: it is gone after 0.4 s, while it is
# fresh, and without any message. A short grace that is added to a long TTL makes every entry as short-lived as the grace.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import subprocess

from lib import npm, redis_server, verdict

npm("ioredis", "5.11.1")
folder = npm("bentocache", "1.6.1")
PROGRAM = """
import { BentoCache, bentostore } from 'bentocache';
import { redisDriver } from 'bentocache/drivers/redis';
import { Redis } from 'ioredis';
const connection = new Redis(process.argv[2]);
const store = bentostore().useL2Layer(redisDriver({ connection }));
const cache = new BentoCache({ default: 'redis', stores: { redis: store } });
await cache.set({ key: 'plain', value: 'v', ttl: 5000 });
await cache.set({ key: 'graced', value: 'v', ttl: 5000, grace: 400 });
await new Promise((next) => setTimeout(next, 700));
for (const key of ['plain', 'graced']) console.log(await cache.get({ key }));
connection.disconnect();
"""
done = subprocess.run(["node", "--input-type=module", "-", redis_server()], input=PROGRAM, cwd=folder,
                      capture_output=True, text=True, check=True)
verdict("v, v: the TTL of 5 s has not ended", ", ".join(done.stdout.split()) + " (without grace, with 0.4 s; after 0.7 s)",
        done.stdout.split() == ["v", "undefined"])
END
