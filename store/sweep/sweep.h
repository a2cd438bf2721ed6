/* Folder store/sweep: work on the data that no request asked for, in slices that the caller bounds.
 * Start with expiry.h: expiry_run is the shortest of them and shows the pattern.
 *
 *     expiry         removes overdue data
 *     evict          frees memory
 *     policy_walk    applies new policies to existing keys
 *     defrag         moves blocks out of sparse slabs
 *     outlook        reports what will expire when
 *     upcoming       the same while something is overdue
 *     key_scan       visits all keys in steps, for outlook and upcoming
 *
 * The server decides when a slice runs (server/engine/background.h).
 *
 * May use: store store/base store/mem store/policy store/struct store/type/ store/txn. */
