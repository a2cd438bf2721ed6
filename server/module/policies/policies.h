/* Folder server/module/policies: policies in the module. They are configuration of the node and not
 * data, because the keys of a prefix are spread over many slots of a cluster. node_policies stores
 * the policies, key_policies applies them to keys that were written or have expired; read_ahead
 * copies values into last_values shortly before their keys expire, for expiry logs. Depends on
 * server/module/api, keys and values, and on the parser of POLICY in server/cmd/key. Start with
 * node_policies.h.
 *
 * May use: proto/resp server/base server/cmd server/cmd/call server/cmd/key server/disk/effect
 * server/module/api server/module/keys server/module/values store/. */
