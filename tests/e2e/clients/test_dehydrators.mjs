#!/usr/bin/env node
// Dehydrators as node's clients call them, which know no such commands: through node-redis'
// sendCommand and ioredis' call, each in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { RESP_TYPES, createClient } from 'redis';

import { Daemon, main, stepped, test } from './daemon.mjs';

const BINARY = Buffer.from([0, 13, 10, 255, 254, 36, 0]);
const SHORT = 50; // milliseconds, of which nothing depends on the length

// send replies texts, sendBytes Buffers.
class NodeRedis {
    static async connect(daemon, RESP) {
        const it = new NodeRedis();
        it.errors = [];
        it.client = createClient({ socket: { path: daemon.path }, RESP });
        it.client.on('error', (error) => it.errors.push(error));
        await it.client.connect();
        return it;
    }
    send(...args) { return this.client.sendCommand(args.map(String)); }
    sendBytes(...args) {
        const asBuffers = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
        const words = args.map((arg) => (Buffer.isBuffer(arg) ? arg : String(arg)));
        return this.client.sendCommand(words, asBuffers);
    }
    async another() {
        const other = new NodeRedis();
        other.errors = this.errors;
        other.client = await this.client.duplicate().connect();
        return other;
    }
    transaction(...commands) {
        const multi = this.client.multi();
        for (const args of commands) multi.addCommand(args.map(String));
        return multi.exec();
    }
    close() { return this.client.close(); }
}

class IoRedis {
    static async connect(daemon, protocol) {
        const it = new IoRedis();
        it.errors = [];
        it.client = new Redis({ path: daemon.path, protocol, lazyConnect: true,
            retryStrategy: null });
        it.client.on('error', (error) => it.errors.push(error));
        await it.client.connect();
        return it;
    }
    send(...args) { return this.client.call(...args); }
    sendBytes(...args) { return this.client.callBuffer(...args); }
    async another() {
        const other = new IoRedis();
        other.errors = this.errors;
        other.client = this.client.duplicate();
        await other.client.connect();
        return other;
    }
    transaction(...commands) {
        const multi = this.client.multi();
        for (const args of commands) multi.call(...args);
        return multi.exec().then((replies) => replies.map(([error, reply]) => error ?? reply));
    }
    close() { return this.client.quit(); }
}

const CLIENTS = [
    ['node-redis RESP2', NodeRedis, 2], ['node-redis RESP3', NodeRedis, 3],
    ['ioredis RESP2', IoRedis, 2], ['ioredis RESP3', IoRedis, 3],
];

// A test for each client: run(client, daemon).
function each(declare, name, run) {
    for (const [label, Client, version] of CLIENTS) {
        declare(`${name} (${label})`, async () => {
            const daemon = await Daemon.start();
            const client = await Client.connect(daemon, version);
            await run(client, daemon);
            assert.deepEqual(client.errors, []);
            await client.close();
            await daemon.stop();
        });
    }
}

// Until as many clients wait as should: then a step of the clock is one that they wait for.
async function areWaiting(client, count) {
    for (;;) {
        const info = String(await client.send('INFO', 'clients'));
        if (info.includes(`blocked_clients:${count}\r`)) return;
    }
}

each(stepped, 'elements come back in order when they are due', async (client, daemon) => {
    await daemon.hold();
    assert.equal(await client.send('REDE.PUSH', 'd', 100, 'later', 'a'), 'OK');
    assert.equal(Number(await client.send('REDE.MPUSH', 'd', 50, 'soon', 'b', 50, 'too', 'c')), 2);
    const made = await client.send('REDE.GIDPUSH', 'd', 50, 'made');
    assert.match(made, /^[0-9A-Z]{31}$/);
    await assert.rejects(client.send('REDE.PUSH', 'd', 1, 'again', 'a'), /already dehydrating/);
    await assert.rejects(client.send('REDE.PUSH', 'd', 'x', 'p', 'new'), /ttl is not an integer/);
    assert.deepEqual(await client.send('REDE.POLL', 'd'), []);
    await daemon.step(50);
    assert.deepEqual(await client.send('REDE.XPOLL', 'd'), ['b', 'c', made]);
    assert.deepEqual(await client.send('REDE.POLL', 'd', 'COUNT', 1), ['soon']);
    assert.deepEqual(await client.send('REDE.POLL', 'd', 'WITHIDS'),
        [['c', 'too'], [made, 'made']]);
    assert.equal(await client.send('REDE.PULL', 'd', 'a'), 'later');
    assert.equal(await client.send('REDE.PULL', 'd', 'a'), null);
    assert.equal(await client.send('TYPE', 'd'), 'none');
});

each(stepped, 'who waits is served first come, first served', async (client, daemon) => {
    await daemon.hold();
    const [first, second] = [await client.another(), await client.another()];
    const served = [];
    const waits = [];
    for (const [who, name] of [[first, 'first'], [second, 'second']]) {
        waits.push(who.send('REDE.BPOLL', 'd', 0, 'COUNT', 1)
            .then((reply) => served.push([name, ...reply])));
        await areWaiting(client, waits.length);
    }
    await client.send('REDE.PUSH', 'd', 100, 'x', '1');
    await client.send('REDE.PUSH', 'd', 60, 'y', '2');
    await daemon.step(59);
    await areWaiting(client, 2);
    await daemon.step(1);
    await waits[0];
    assert.deepEqual(served, [['first', 'y']]);
    await daemon.step(40);
    await waits[1];
    assert.deepEqual(served, [['first', 'y'], ['second', 'x']]);
    await first.close();
    await second.close();
});

each(test, 'a wait ends by itself, in real time too', async (client) => {
    assert.equal(await client.send('REDE.BPOLL', 'd', SHORT / 1000), null);
    await client.send('REDE.PUSH', 'd', SHORT, 'p', 'i');
    assert.deepEqual(await client.send('REDE.BPOLL', 'd', 20, 'WITHIDS'), [['i', 'p']]);
    const due = Date.now() + SHORT;
    await client.send('ZADD', 'z', due / 1000, 'm');
    const popped = await client.send('BZTSPOP', 'z', 5, 20);
    assert.ok(Date.now() >= due - 10);
    assert.equal(popped.flat()[0], 'm');
});

each(stepped, 'claims are acknowledged, given back, or come again', async (client, daemon) => {
    await daemon.hold();
    const numbers = (claims) => claims.map(([id, text, times]) => [id, text, Number(times)]);
    await client.send('REDE.MPUSH', 'd', 0, 'pa', 'a', 0, 'pb', 'b', 0, 'pc', 'c');
    assert.deepEqual(numbers(await client.send('REDE.CLAIM', 'd', 1000, 'COUNT', 2)),
        [['a', 'pa', 1], ['b', 'pb', 1]]);
    assert.deepEqual(numbers(await client.send('REDE.CLAIM', 'd', 500)), [['c', 'pc', 1]]);
    assert.deepEqual(await client.send('REDE.CLAIM', 'd', 1000), []);
    assert.equal(Number(await client.send('REDE.LEN', 'd', 'CLAIMED')), 3);
    assert.deepEqual(await client.send('REDE.XACK', 'd', 'a', 'nosuch'), ['pa', null]);
    assert.equal(Number(await client.send('REDE.NACK', 'd', 700, 'b', 'a')), 1);
    const other = await client.another();
    const claim = other.send('REDE.CLAIM', 'd', 1000, 'BLOCK', 0);
    await areWaiting(client, 1);
    await daemon.step(500);
    assert.deepEqual(numbers(await claim), [['c', 'pc', 2]]);
    await daemon.step(200);
    assert.deepEqual(numbers(await client.send('REDE.CLAIM', 'd', 1000)), [['b', 'pb', 2]]);
    assert.deepEqual(await client.send('REDE.XACK', 'd', 'b', 'c'), ['pb', 'pc']);
    assert.equal(Number(await client.send('EXISTS', 'd')), 0);
    await other.close();
});

each(stepped, 'ids and payloads are bytes', async (client, daemon) => {
    await daemon.hold();
    const big = Buffer.alloc(1 << 20, BINARY);
    await client.sendBytes('REDE.PUSH', BINARY, 0, big, BINARY);
    await client.sendBytes('REDE.PUSH', BINARY, 0, Buffer.alloc(0), Buffer.from([0]));
    assert.deepEqual(await client.sendBytes('REDE.LOOK', BINARY, BINARY), big);
    assert.deepEqual(await client.sendBytes('REDE.XPOLL', BINARY), [BINARY, Buffer.from([0])]);
    const [[id, payload, times]] = await client.sendBytes('REDE.CLAIM', BINARY, 10, 'COUNT', 1);
    assert.deepEqual([id, payload, Number(times)], [BINARY, big, 1]);
    assert.deepEqual(await client.sendBytes('REDE.XACK', BINARY, BINARY), [big]);
    assert.deepEqual(await client.sendBytes('REDE.BPOLL', BINARY, 1, 'WITHIDS'),
        [[Buffer.from([0]), Buffer.alloc(0)]]);
});

each(stepped, 'a transaction does not wait', async (client, daemon) => {
    await daemon.hold();
    assert.deepEqual(await client.transaction(['REDE.BPOLL', 'd', 0],
        ['REDE.PUSH', 'd', 0, 'p', 'i'], ['REDE.BPOLL', 'd', 0]), [null, 'OK', ['p']]);
});

await main();
