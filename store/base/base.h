/* Folder store/base: helpers for all other code, which allocate nothing. Start with bytes.h and
 * instant.h.
 *
 *     bytes              views of byte strings
 *     instant            milliseconds, deadlines, and how they are compared
 *     number             numbers to text and back, as Redis prints and accepts them
 *     utf8               recognizes valid UTF-8
 *     json_text          writes text inside JSON
 *     quoted             splits off words with quotes
 *     siphash            the hash function of tables and digests
 *     random             random numbers
 *     histogram          counts spans of time
 *     ring               queues inside a table
 *     little_endian      integers of 1 to 8 bytes
 *     pointer48          pointers in six bytes
 *     prefetch           loads memory into the cache ahead of its use
 *     ensure             assertions
 *     encoding_limits    when OBJECT ENCODING changes its answer; here because options set these
 *                        limits and types read them
 *
 * May use: only libc. */
