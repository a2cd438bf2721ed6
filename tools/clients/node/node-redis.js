// The commands as a module of node-redis: see node-redis.d.ts.
import { commands } from './commands.js';
import { Words } from './words.js';

function commandOf({ name, readonly, write, reply }) {
    return {
        IS_READ_ONLY: readonly,
        parseCommand(parser, ...args) {
            parser.push(...name.split(' '));
            write(new Words((word) => parser.push(word), (key) => parser.pushKey(key)), ...args);
        },
        transformReply: (found) => reply.read(found),
    };
}

export const expired = Object.fromEntries(
    Object.entries(commands).map(([method, command]) => [method, commandOf(command)]));
export const expiredBuffers = expired;
