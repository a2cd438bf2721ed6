#!/bin/sh
# A limit of rate-limiter-flexible whose duration is half a second blocks whoever exceeds it for ever.
#
# duration is a number of seconds, and the memory store takes 0.5 as half a second. The store for Redis rounds it down to
# 0, which means that points are never reset: the key has no TTL, and one point each half second becomes one point for all
# time. A program that was tested with the memory store locks its users out with Redis, one by one.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import subprocess

from lib import npm, redis_server, verdict

npm("ioredis", "5.11.1")
folder = npm("rate-limiter-flexible", "11.4.0")
PROGRAM = """
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
const redis = new Redis(process.argv[2]);
const rule = { points: 1, duration: 0.5 };
for (const limiter of [new RateLimiterMemory(rule), new RateLimiterRedis({ storeClient: redis, ...rule })]) {
    await limiter.consume('ann');
    await new Promise((next) => setTimeout(next, 1200));
    console.log(await limiter.consume('ann').then(() => 'allowed', () => 'refused'));
}
console.log('PTTL', await redis.pttl('rlflx:ann'));
redis.disconnect();
"""
done = subprocess.run(["node", "--input-type=module", "-", redis_server()], input=PROGRAM, cwd=folder,
                      capture_output=True, text=True, check=True)
verdict("allowed, allowed: a second has passed, and the duration is half of it",
        ", ".join(done.stdout.split("\n")[:3]) + " (memory, Redis, TTL of the key in Redis)",
        done.stdout.split("\n")[:3] == ["allowed", "refused", "PTTL -1"])
END
