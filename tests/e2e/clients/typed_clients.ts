// Uses of the types of tools/clients/node. test_typed_clients.mjs compiles it; nothing runs it.
import { expired, expiredBuffers } from 'expired-clients/ioredis';
import { expired as asModule, expiredBuffers as asBuffers, waiting, waitingBuffers } from 'expired-clients/node-redis';
import { Cluster, Redis } from 'ioredis';
import { RESP_TYPES, createClient, createClientPool, createCluster } from 'redis';

// Compiles if both types are the same.
function same<A>() {
    return <B>(_value: B, ..._fits: [A] extends [B] ? ([B] extends [A] ? [] : [never]) : [never]) => {};
}

export async function nodeRedis() {
    const client = createClient({ modules: { expired: asModule } });
    const db = client.expired;
    same<'OK' | null>()(await db.redePush('d', 50, 'payload', 'id', { keep: true, remember: 1000 }));
    same<(readonly [string, string, number])[] | (readonly [string, string, number, number])[]>()(
        await db.redeClaim('d', 50, { count: 1, block: 0.5 }));
    same<string | null>()(await db.redeLook(Buffer.from('d'), 'id'));
    same<number | null>()((await db.redeInfo('d'))['next-deadline']);
    same<(readonly [string, number])[] | null>()(await db.bztspop('z', 1, 0));
    same<number>()(await db.zaddex('z', [[1, 'a'], [2, Buffer.from('b')]], { ex: 5 }));
    same<number[]>()(await db.sexpire('s', 5, ['a', 'b'], { nx: true }));
    await db.policySet('s:*', { refresh: 'WRITE', ttl: '5m', expiredTo: 'log', expiredValue: true });
    client.multi().expired.redePush('d', 50, 'payload', 'id').get('k');
    same<string | null>()(await createClientPool({ modules: { expired: asModule } }).expired.redeLook('d', 'id'));
    const cluster = createCluster({ rootNodes: [], modules: { expired: asModule } });
    same<string | null>()(await cluster.expired.redeLook('d', 'id'));
    const bytes = createClient({
        modules: { expired: asBuffers },
        commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    same<Buffer | null>()(await bytes.expired.redeLook('d', 'id'));
    same<string[] | null>()(await waiting(client).redeBpoll('d', 5));
    same<Buffer | null>()(await waitingBuffers(bytes).redeLook('d', 'id'));
    // @ts-expect-error: a lease is a number
    await db.redeClaim('d', 'soon');
    // @ts-expect-error: there is no such option
    await db.redePoll('d', { counts: 1 });
}

export async function ioRedis() {
    const redis = new Redis();
    const db = expired(redis);
    same<string[]>()(await db.redePoll('d'));
    same<string[]>()(await db.redePoll('d', { count: 1, withids: false }));
    same<(readonly [string, string])[]>()(await db.redePoll('d', { withids: true }));
    same<readonly [number, number]>()(await db.increx('n', { byfloat: 1.5 }));
    same<Buffer | null>()(await expiredBuffers(redis).redeLook('d', 'id'));
    same<string | null>()(await expired(new Cluster([])).redeLook('d', 'id'));
    same<number>()(await db.xnack('x', 'g', 'FAIL', ['1-1'], { delay: 5 }));
    await expired(redis.pipeline()).redePush('d', 50, 'payload', 'id').get('k').exec();
    // @ts-expect-error: no such mode
    await db.xnack('x', 'g', 'OTHER', '1-1');
    // @ts-expect-error: the id is missing
    await db.redePush('d', 50, 'payload');
}
