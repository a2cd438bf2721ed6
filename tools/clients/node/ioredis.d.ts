/**
 * The commands of expired that Redis 7.0 does not have, as methods that send them through ioredis:
 *
 *     const redis = new Redis();
 *     await expired(redis).redePush('jobs', 5000, 'payload', 'job-1');
 *
 * Those of a pipeline or a `multi()` return it, and its `exec()` returns their replies as the server has
 * sent them. As with `call`, ioredis adds its `keyPrefix` only for commands that it knows itself.
 *
 * For commands that wait or take something, the limits of a Redis count from the end of the wait, and a
 * command that was sent is rejected, not sent again, when its connection is lost.
 */
import type { Commands } from './commands.js';

type Word = string | Buffer | number;

/** A Redis or Cluster of ioredis. */
export interface Client {
    call(command: string, ...args: Word[]): Promise<unknown>;
    callBuffer(command: string, ...args: Word[]): Promise<unknown>;
}

/** What `pipeline()` and `multi()` return. */
export interface Pipeline {
    readonly length: number;
    exec(): Promise<unknown>;
}

export type Pipelined<P> = {
    [K in keyof Commands<string>]: (...args: Parameters<Commands<string>[K]>) => P;
};

export declare function expired<P extends Pipeline>(pipeline: P): Pipelined<P>;
export declare function expired(client: Client): Commands<string>;
/** The same with Buffers in the replies. */
export declare function expiredBuffers(client: Client): Commands<Buffer>;
