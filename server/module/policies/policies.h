/* Folder server/module/policies: policies in the module. In a cluster the keys of a prefix are
 * spread over many slots, so a policy can't be data in one of them: policies are configuration of
 * the node. node_policies stores them, key_policies applies them to keys that were written or have
 * expired. For logs of expired keys, read_ahead copies values into last_values shortly before their
 * keys expire. Start with node_policies.h.
 *
 * May use: proto/resp server/base server/cmd server/cmd/call server/cmd/key server/disk/effect
 * server/module/api server/module/keys server/module/values store/. */
