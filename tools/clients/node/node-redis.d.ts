/**
 * The commands of expired that Redis 7.0 does not have, as a module of node-redis 5 and later:
 *
 *     const client = createClient({ modules: { expired } });
 *     await client.expired.redePush('jobs', 5000, 'payload', 'job-1');
 *
 * They also work in `client.multi()`, in pools, clusters and sentinels.
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
