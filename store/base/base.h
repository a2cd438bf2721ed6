/* Folder store/base: helpers for all other code, which allocate nothing: byte strings (bytes),
 * instants and the rules by which they are compared (instant), numbers to text and back exactly as
 * Redis prints and accepts them (number), UTF-8, quoting, JSON text, SipHash, random numbers,
 * histograms, assertions (ensure). Start with bytes.h and instant.h. encoding_limits.h is here
 * because two sides share it: options set the thresholds at which OBJECT ENCODING changes its
 * answer, and types read them.
 *
 * May use: only libc. */
