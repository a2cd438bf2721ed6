/* Folder store/type: values of keys. Start with object.h: struct object is the value of a key. Then
 * read one type from its header, for example set.h.
 *
 *     object                         a value of any type
 *     type_rows                      a row for each type, with its functions
 *     string
 *     hyperloglog                    inside a string
 *     list
 *     set, hash
 *     zset                           sorted sets
 *       zset_packed, zset_front        the small form
 *     dehydrator                     delay queues
 *       elements, element              their elements, by id and by deadline
 *       dehydrator_extras, schedules   what only few dehydrators need
 *       delivery_counts                their statistics
 *       drained                        the statistics of those that became empty
 *     lease                          locks and permits
 *     stream/                        streams
 *
 * Small collections are packed records, and large ones tables or trees; the types hide the form. No
 * file here knows the keyspace or transactions.
 *
 * May use: store/base store/mem store/struct store/type/stream. */
