/**
 * The commands of expired that Redis 7.0 does not have, as a module of node-redis 5 and later:
 *
 *     const client = createClient({ modules: { expired } });
 *     await client.expired.redePush('jobs', 5000, 'payload', 'job-1');
 *
 * They also work in `client.multi()`, in pools, clusters and sentinels.
 *
 * node-redis closes a client with a socketTimeout while a command of it waits for longer. `waiting(client)` has the same
 * functions, and those that wait use connections of their own, whose limit counts from the end of the wait:
 *
 *     const db = waiting(client);
 *     await db.redeClaim('jobs', 30_000, { block: 30 });
 */
import type { Commands } from './commands.js';

/** With strings for T, or Buffers if the client maps BLOB_STRING to Buffer. */
export type ExpiredModule<T> = {
    [K in keyof Commands<T>]: {
        IS_READ_ONLY: boolean;
        parseCommand(parser: any, ...args: Parameters<Commands<T>[K]>): void;
        transformReply(reply: any): Awaited<ReturnType<Commands<T>[K]>>;
    };
};

export declare const expired: ExpiredModule<string>;
/** The same object, typed for a client whose replies are Buffers. */
export declare const expiredBuffers: ExpiredModule<Buffer>;

/**
 * The functions of a client of createClient that has the module; always the same object for the same client. Each wait
 * uses a connection of its own, in the database of the client's options, which is kept for half a second for the next
 * wait with the same limit, and ends when the client is closed or gives up. The number of connections has no bound.
 * `waitaof` uses the client itself, whose writes it waits for.
 */
export declare function waiting(client: object): Commands<string>;
/** The same, typed for a client whose replies are Buffers. */
export declare function waitingBuffers(client: object): Commands<Buffer>;
