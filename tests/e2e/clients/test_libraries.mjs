#!/usr/bin/env node
// Rows of doc/libraries.md whose remedy is a command of expired: what the library does, and what the command does.
import assert from 'node:assert/strict';
import { expired } from 'expired-clients/ioredis';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { IoredisAdapter, createLock } from 'redlock-universal';

import { Daemon, main, stepped, until } from './daemon.mjs';

function row(name, run) {
    stepped(name, async () => {
        const daemon = await Daemon.start();
        const clients = [];
        const connect = (options = {}) => {
            clients.push(new Redis({ path: daemon.path, ...options }));
            return clients.at(-1);
        };
        try {
            await run({ daemon, redis: connect(), connect });
        } finally {
            clients.forEach((client) => client.disconnect());
            await daemon.stop();
        }
    });
}

const calls = async (redis, command) => Number(
    (await redis.info('commandstats')).match(new RegExp(`cmdstat_${command}:calls=(\\d+)`))?.[1] ?? 0);

row('rate-limiter-flexible blocks for ever below a second, CL.THROTTLEMS does not', async ({ daemon, redis }) => {
    await daemon.hold();
    const limiter = new RateLimiterRedis({ storeClient: redis, points: 1, duration: 0.5 });
    await limiter.consume('ann');
    await assert.rejects(limiter.consume('ann'), { msBeforeNext: -1 });
    assert.equal(await redis.pttl('rlflx:ann'), -1);

    const db = expired(redis);
    assert.equal((await db.clThrottlems('api:ann', 0, 1, 500))[0], 0);
    assert.deepEqual((await db.clThrottlems('api:ann', 0, 1, 500)).slice(0, 4), [1, 1, 0, 500]);
    await daemon.step(500);
    assert.equal((await db.clThrottlems('api:ann', 0, 1, 500))[0], 0);
    await assert.rejects(limiter.consume('ann'), { msBeforeNext: -1 });
});

row('blockingTimeout of ioredis loses an element, CLAIM does not', async ({ redis, connect }) => {
    const waiting = connect({ blockingTimeout: 50, blockingTimeoutGrace: 1 });
    assert.equal(await waiting.blpop('list', 0), null);
    await redis.rpush('list', 'lost');
    assert.ok(await until(async () => await redis.llen('list') === 0));

    const db = expired(redis);
    const lost = connect();
    lost.call('REDE.CLAIM', 'jobs', 100, 'BLOCK', 0).catch(() => {}); // the client is lost with its reply
    assert.ok(await until(async () => (await redis.info('clients')).includes('blocked_clients:1\r\n')));
    await db.redePush('jobs', 0, 'kept', 'j1');
    lost.disconnect();
    assert.deepEqual(await db.redeClaim('jobs', 1000, { block: 5 }), [['j1', 'kept', 2]]);
});

row('using of redlock-universal floods the server for a short ttl, a lease needs two calls', async ({ redis }) => {
    const lock = createLock({ adapter: new IoredisAdapter(redis), key: 'report', ttl: 1000 });
    const flooded = await lock.using(() => until(async () => await calls(redis, 'evalsha') >= 10, 500)); // half the ttl
    assert.ok(flooded, String(await calls(redis, 'evalsha')));

    const db = expired(redis);
    await redis.config('RESETSTAT');
    const [token] = await db.leaseTake('lease:report', 'ann', 1000);
    assert.equal(await db.leaseDrop('lease:report', token), 1);
    assert.equal(await calls(redis, 'lease.take') + await calls(redis, 'lease.drop'), 2);
});

await main();
