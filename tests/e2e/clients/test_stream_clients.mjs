#!/usr/bin/env node
// The stream commands of node-redis and ioredis, whose replies they transform, in RESP2 and RESP3.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { Daemon, main, test } from './daemon.mjs';

const plain = (value) => JSON.parse(JSON.stringify(value));

async function withNodeRedis(RESP, run) {
    const daemon = await Daemon.start();
    const client = createClient({ socket: { path: daemon.path }, RESP });
    client.on('error', () => {});
    await client.connect();
    await run(client, daemon);
    await client.close();
    await daemon.stop();
}

for (const version of [2, 3]) {
    test(`node-redis adds, reads and trims entries, RESP${version}`, () => (
        withNodeRedis(version, async (client) => {
            for (const n of ['1', '2', '3']) await client.xAdd('s', `${n}-0`, { n });
            assert.equal(await client.xLen('s'), 3);
            assert.deepEqual(plain(await client.xRange('s', '2', '+')),
                [{ id: '2-0', message: { n: '2' } }, { id: '3-0', message: { n: '3' } }]);
            assert.deepEqual(plain(await client.xRevRange('s', '+', '-', { COUNT: 1 })),
                [{ id: '3-0', message: { n: '3' } }]);
            const read = await client.xRead({ key: 's', id: '2-0' });
            assert.deepEqual(plain(read),
                [{ name: 's', messages: [{ id: '3-0', message: { n: '3' } }] }]);
            assert.equal(await client.xRead({ key: 's', id: '$' }, { BLOCK: 1 }), null);
            assert.equal(await client.xTrim('s', 'MAXLEN', 2), 1);
            assert.equal(await client.xDel('s', '2-0'), 1);
            assert.equal(await client.xAddNoMkStream('none', '*', { a: 'b' }), null);
        })));

    test(`node-redis reads as a group, claims and acknowledges, RESP${version}`, () => (
        withNodeRedis(version, async (client) => {
            await client.xGroupCreate('s', 'g', '0', { MKSTREAM: true });
            for (const n of ['1', '2', '3']) await client.xAdd('s', `${n}-0`, { n });
            const read = await client.xReadGroup('g', 'ann', { key: 's', id: '>' }, { COUNT: 2 });
            assert.deepEqual(plain(read), [{ name: 's', messages: [
                { id: '1-0', message: { n: '1' } }, { id: '2-0', message: { n: '2' } }] }]);
            assert.deepEqual(plain(await client.xPending('s', 'g')), { pending: 2, firstId: '1-0',
                lastId: '2-0', consumers: [{ name: 'ann', deliveriesCounter: 2 }] });
            const [one] = await client.xPendingRange('s', 'g', '-', '+', 1);
            assert.deepEqual([one.id, one.consumer, one.deliveriesCounter], ['1-0', 'ann', 1]);
            assert.deepEqual(plain(await client.xClaim('s', 'g', 'bob', 0, '1-0')),
                [{ id: '1-0', message: { n: '1' } }]);
            await client.xDel('s', '2-0');
            const claimed = await client.xAutoClaim('s', 'g', 'cy', 0, '0');
            assert.deepEqual(plain(claimed), { nextId: '0-0', deletedMessages: ['2-0'],
                messages: [{ id: '1-0', message: { n: '1' } }] });
            assert.equal(await client.xAck('s', 'g', '1-0'), 1);
            const [group] = await client.xInfoGroups('s');
            assert.deepEqual([group.name, group.pending, group['last-delivered-id']],
                ['g', 0, '2-0']);
            const info = await client.xInfoStream('s');
            assert.deepEqual([info.length, info.groups], [2, 1]);
            assert.deepEqual((await client.xInfoConsumers('s', 'g')).map(({ name }) => name),
                ['ann', 'bob', 'cy']);
        })));

    test(`node-redis waits in a group for an entry, RESP${version}`, () => (
        withNodeRedis(version, async (client) => {
            await client.xGroupCreate('s', 'g', '$', { MKSTREAM: true });
            const other = client.duplicate();
            await other.connect();
            const waiting = other.xReadGroup('g', 'ann', { key: 's', id: '>' }, { BLOCK: 0 });
            await client.xAdd('s', '7-7', { n: '1' });
            assert.deepEqual(plain(await waiting),
                [{ name: 's', messages: [{ id: '7-7', message: { n: '1' } }] }]);
            await other.close();
        })));
}

for (const protocol of [2, 3]) {
    test(`ioredis adds, reads, claims and describes, RESP${protocol}`, async () => {
        const daemon = await Daemon.start();
        const client = new Redis({ path: daemon.path, lazyConnect: true, protocol });
        await client.connect();
        const entries = [['1-0', ['n', '1']], ['2-0', ['n', '2']]];
        for (const [id, fields] of entries) assert.equal(await client.xadd('s', id, ...fields), id);
        assert.deepEqual(await client.xrange('s', '-', '+'), entries);
        await client.xgroup('CREATE', 's', 'g', '0');
        const read = await client.xreadgroup('GROUP', 'g', 'ann', 'STREAMS', 's', '>');
        assert.deepEqual(Array.isArray(read) ? read : Object.entries(read), [['s', entries]]);
        assert.deepEqual(await client.xclaim('s', 'g', 'bob', 0, '1-0', 'JUSTID'), ['1-0']);
        assert.deepEqual(await client.xautoclaim('s', 'g', 'cy', 0, '2-0'), ['0-0', [entries[1]], []]);
        assert.equal(await client.xack('s', 'g', '1-0', '2-0'), 2);
        const results = await client.multi().xadd('s', '3-0', 'n', '3').xlen('s').exec();
        assert.deepEqual(results, [[null, '3-0'], [null, 3]]);
        await client.quit();
        await daemon.stop();
    });
}

main();
