// The commands as a module of node-redis: see node-redis.d.ts.
import { commands } from './commands.js';
import { Words, writeCall } from './words.js';

function commandOf(method, command) {
    const { name, readonly, reply } = command;
    return {
        IS_READ_ONLY: readonly,
        parseCommand(parser, ...args) {
            parser.push(...name.split(' '));
            const words = new Words((word) => parser.push(word), (key) => parser.pushKey(key));
            writeCall(method, command, words, args);
        },
        transformReply: (found) => reply.read(found),
    };
}

export const expired = Object.fromEntries(
    Object.entries(commands).map(([method, command]) => [method, commandOf(method, command)]));
export const expiredBuffers = expired;
