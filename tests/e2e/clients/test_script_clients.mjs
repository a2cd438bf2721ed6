#!/usr/bin/env node
// Libraries of node that use scripts, unchanged: redlock, rate-limiter-flexible, ioredis' defineCommand
// and node-redis' scripts and functions; in RESP2 and RESP3 where the library lets one choose.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { createClient, defineScript } from 'redis';
import Redlock, { ResourceLockedError } from 'redlock';
import Redlock4 from 'redlock-4';

import { Daemon, main, stepped, test } from './daemon.mjs';

const ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
const LIBRARY = `#!lua name=shop
redis.register_function('add', function(keys, args)
    return redis.call('INCRBY', keys[1], args[1])
end)
redis.register_function{function_name='get', flags={'no-writes'}, callback=function(keys)
    return redis.call('GET', keys[1])
end}`;
const MINUTE = 60_000;

async function ioredis(daemon, options = {}) {
    const client = new Redis({ path: daemon.path, lazyConnect: true, retryStrategy: null,
        ...options });
    await client.connect();
    return client;
}

async function nodeRedis(daemon, options = {}) {
    const client = createClient({ socket: { path: daemon.path }, ...options });
    client.on('error', () => {});
    await client.connect();
    return client;
}

function withDaemon(declare, name, run) {
    declare(name, async () => {
        const daemon = await Daemon.start();
        await run(daemon);
        await daemon.stop();
    });
}

function inBoth(declare, name, run) {
    for (const version of [2, 3]) {
        withDaemon(declare, `${name}, RESP${version}`, (daemon) => run(daemon, version));
    }
}

// ---- redlock -------------------------------------------------------------------------------------

function redlockOver(client, options = {}) {
    const redlock = new Redlock([client], { retryCount: 0, ...options });
    const refused = [];
    redlock.on('error', (error) => refused.push(error));
    return { redlock, refused };
}

inBoth(test, 'redlock acquires, extends and releases', async (daemon, protocol) => {
    const client = await ioredis(daemon, { protocol });
    const { redlock, refused } = redlockOver(client);
    let lock = await redlock.acquire(['a', 'b'], MINUTE);
    assert.equal(await client.get('a'), lock.value);
    assert.equal(await client.get('b'), lock.value);
    await assert.rejects(redlock.acquire(['b'], MINUTE), /quorum/);
    assert.ok(refused.length > 0 && refused.every((error) => error instanceof ResourceLockedError));
    lock = await lock.extend(10 * MINUTE);
    assert.ok(await client.pttl('a') > 9 * MINUTE);
    await lock.release();
    assert.equal(await client.exists('a', 'b'), 0);
    const second = await redlock.acquire(['b'], MINUTE);
    await assert.rejects(lock.extend(MINUTE));
    await second.release();
    await client.quit();
});

withDaemon(test, 'redlock.using runs one routine after the other', async (daemon) => {
    const clients = [await ioredis(daemon), await ioredis(daemon), await ioredis(daemon)];
    let inside = 0;
    let most = 0;
    await Promise.all(clients.map(async (client) => {
        const { redlock } = redlockOver(client, { retryCount: -1, retryDelay: 5, retryJitter: 5 });
        for (let round = 0; round < 10; round++) {
            await redlock.using(['room'], MINUTE, async (signal) => {
                most = Math.max(most, ++inside);
                await client.incr('rounds');
                assert.equal(signal.aborted, false);
                inside--;
            });
        }
    }));
    assert.equal(most, 1);
    assert.equal(await clients[0].get('rounds'), '30');
    await Promise.all(clients.map((client) => client.quit()));
});

withDaemon(test, 'redlock works after SCRIPT FLUSH', async (daemon) => {
    const client = await ioredis(daemon);
    const { redlock } = redlockOver(client);
    const lock = await redlock.acquire(['a'], MINUTE);
    await client.script('FLUSH');
    await lock.release();
    assert.equal(await client.exists('a'), 0);
    await client.quit();
});

withDaemon(stepped, 'a lock of redlock ends at its deadline', async (daemon) => {
    await daemon.hold();
    const client = await ioredis(daemon);
    const { redlock } = redlockOver(client);
    await redlock.acquire(['a'], MINUTE);
    await daemon.step(MINUTE + 1);
    const second = await redlock.acquire(['a'], MINUTE);
    assert.equal(await client.get('a'), second.value);
    await client.quit();
});

inBoth(test, 'redlock 4 acquires, extends and releases', async (daemon, protocol) => {
    const client = await ioredis(daemon, { protocol });
    const redlock = new Redlock4([client], { retryCount: 0 });
    let lock = await redlock.lock(['a', 'b'], MINUTE);
    assert.equal(await client.get('b'), lock.value);
    await assert.rejects(redlock.lock('a', MINUTE), /Exceeded 0 attempts to lock/);
    lock = await lock.extend(10 * MINUTE);
    assert.ok(await client.pttl('a') > 9 * MINUTE);
    await lock.unlock();
    assert.equal(await client.exists('a', 'b'), 0);
    await assert.rejects(lock.unlock(), /Unable to fully release/);
    await client.quit();
});

// ---- rate-limiter-flexible -----------------------------------------------------------------------

const LIMITERS = [
    ['ioredis', async (daemon, version) => {
        const client = await ioredis(daemon, { protocol: version });
        return { client, options: {}, close: () => client.quit() };
    }],
    ['node-redis', async (daemon, version) => {
        const client = await nodeRedis(daemon, { RESP: version });
        return { client, options: { useRedisPackage: true }, close: () => client.close() };
    }],
];

for (const [label, connect] of LIMITERS) {
    inBoth(stepped, `rate-limiter-flexible counts and blocks (${label})`, async (daemon, version) => {
        await daemon.hold();
        const { client, options, close } = await connect(daemon, version);
        const limiter = new RateLimiterRedis({ storeClient: client, keyPrefix: 'limit', points: 3,
            duration: 10, ...options });
        const first = await limiter.consume('ann');
        assert.deepEqual([first.consumedPoints, first.remainingPoints, first.msBeforeNext,
            first.isFirstInDuration], [1, 2, 10_000, true]);
        await daemon.step(4000);
        const second = await limiter.consume('ann', 2);
        assert.deepEqual([second.consumedPoints, second.remainingPoints, second.msBeforeNext,
            second.isFirstInDuration], [3, 0, 6000, false]);
        await assert.rejects(limiter.consume('ann'), (refused) => {
            assert.ok(refused instanceof RateLimiterRes, String(refused));
            return refused.consumedPoints === 4 && refused.msBeforeNext === 6000;
        });
        assert.equal((await limiter.consume('bob')).remainingPoints, 2);
        assert.equal((await limiter.reward('ann', 2)).consumedPoints, 2);
        assert.equal((await limiter.penalty('ann', 1)).consumedPoints, 3);
        assert.equal((await limiter.get('ann')).consumedPoints, 3);
        await daemon.step(6001);
        assert.equal(await limiter.get('ann'), null);
        assert.equal((await limiter.consume('ann')).consumedPoints, 1);
        await limiter.block('ann', 100);
        await assert.rejects(limiter.consume('ann'),
            (refused) => refused.msBeforeNext === 100_000);
        assert.equal(await limiter.delete('ann'), true);
        assert.equal(await limiter.get('ann'), null);
        await close();
    });
}

// ---- ioredis -------------------------------------------------------------------------------------

inBoth(test, 'ioredis runs its defined commands', async (daemon, protocol) => {
    const client = await ioredis(daemon, { protocol,
        scripts: { last: { numberOfKeys: 1, readOnly: true,
            lua: "return redis.call('LINDEX', KEYS[1], -1)" } } });
    client.defineCommand('add', { numberOfKeys: 1, lua: ADD });
    client.defineCommand('echo2', { lua: 'return {KEYS[1], KEYS[2], ARGV[1], 3.99}' });
    assert.equal(await client.add('n', 5), 5);
    assert.equal(await client.add('n', 6), 11);
    await client.script('FLUSH');
    assert.equal(await client.add('n', 1), 12);
    assert.deepEqual(await client.echo2(2, 'a', 'b', 'c'), ['a', 'b', 'c', 3]);
    assert.deepEqual((await client.echo2Buffer(1, 'a', Buffer.from([0, 255])))[0],
        Buffer.from('a'));
    await client.rpush('l', 'x', 'y');
    assert.equal(await client.last('l'), 'y');
    await client.script('FLUSH');
    const replies = await client.pipeline().add('n', 1).set('k', 'v').add('k', 1).last('l').exec();
    assert.deepEqual([replies[0][1], replies[1][1], replies[3][1]], [13, 'OK', 'y']);
    assert.match(replies[2][0].message, /not an integer/);
    const done = await client.multi().add('n', 1).get('n').exec();
    assert.deepEqual(done.map(([, reply]) => reply), [14, '14']);
    await assert.rejects(client.eval('return +', 0), /Error compiling script/);
    await client.quit();
});

inBoth(test, 'ioredis calls functions', async (daemon, protocol) => {
    const client = await ioredis(daemon, { protocol });
    assert.equal(await client.function('LOAD', LIBRARY), 'shop');
    assert.equal(await client.fcall('add', 1, 'n', 5), 5);
    assert.equal(await client.fcall_ro('get', 1, 'n'), '5');
    await assert.rejects(client.fcall_ro('add', 1, 'n', 5), /Can not execute a script with write/);
    assert.equal(await client.function('DELETE', 'shop'), 'OK');
    await assert.rejects(client.fcall('add', 1, 'n', 5), /Function not found/);
    await client.quit();
});

// ---- node-redis ----------------------------------------------------------------------------------

const add = {
    NUMBER_OF_KEYS: 1,
    parseCommand(parser, key, by) {
        parser.pushKey(key);
        parser.push(String(by));
    },
    transformReply: undefined,
};
const get = {
    NUMBER_OF_KEYS: 1,
    IS_READ_ONLY: true,
    parseCommand(parser, key) { parser.pushKey(key); },
    transformReply: undefined,
};

inBoth(test, 'node-redis runs its defined scripts', async (daemon, RESP) => {
    const client = await nodeRedis(daemon, { RESP,
        scripts: { add: defineScript({ ...add, SCRIPT: ADD }) } });
    assert.equal(await client.add('n', 5), 5);
    assert.equal(await client.add('n', 6), 11);
    await client.scriptFlush();
    assert.equal(await client.add('n', 1), 12);
    const sha = await client.scriptLoad('return {KEYS, ARGV}');
    assert.deepEqual(await client.evalSha(sha, { keys: ['a'], arguments: ['b', 'c'] }),
        [['a'], ['b', 'c']]);
    assert.deepEqual((await client.scriptExists([sha, 'f'.repeat(40)])).map(Number), [1, 0]);
    assert.equal(await client.eval('return 3.99', {}), 3);
    assert.deepEqual(await client.multi().add('n', 1).get('n').exec(), [13, '13']);
    await assert.rejects(client.evalRo("return redis.call('SET', 'k', 'v')", {}), /read-only/);
    await client.close();
});

inBoth(test, 'node-redis calls functions', async (daemon, RESP) => {
    const client = await nodeRedis(daemon, { RESP, functions: { shop: { add, get } } });
    assert.equal(await client.functionLoad(LIBRARY, { REPLACE: true }), 'shop');
    assert.equal(await client.shop.add('n', 5), 5);
    assert.equal(await client.shop.get('n'), '5');
    assert.deepEqual(await client.multi().shop.add('n', 1).shop.get('n').exec(), [6, '6']);
    const [library] = await client.functionList();
    assert.deepEqual([library.library_name, library.functions.length], ['shop', 2]);
    const payload = await client.functionDump();
    await client.functionFlush();
    await assert.rejects(client.shop.add('n', 1), /Function not found/);
    assert.ok(payload !== null);
    await client.close();
});

main();
