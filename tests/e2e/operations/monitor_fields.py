"""monitor_fields: the fields of INFO that monitoring tools read, as of 2025: names only, so that a
test notices when one is missing. Fields of other servers (Tile38, KeyDB, Dragonfly), of Sentinel, of
modules and of the hosts of clouds are left out.
"""

# oliver006/redis_exporter: the maps of gauges and counters.
EXPORTER = """
    uptime_in_seconds process_id io_threads_active redis_version redis_build_id redis_mode os
    tcp_port run_id configured_hz hz connected_clients blocked_clients tracking_clients
    clients_in_timeout_table pubsub_clients watching_clients total_watched_keys
    total_blocking_keys total_blocking_keys_on_nokey maxclients cluster_connections
    client_recent_max_output_buffer client_recent_max_input_buffer allocator_active
    allocator_allocated allocator_resident allocator_frag_ratio allocator_frag_bytes
    allocator_rss_ratio allocator_rss_bytes allocator_muzzy used_memory used_memory_rss
    used_memory_peak used_memory_lua used_memory_vm_eval used_memory_scripts_eval
    used_memory_overhead used_memory_startup used_memory_dataset number_of_cached_scripts
    number_of_functions number_of_libraries used_memory_vm_functions used_memory_scripts
    used_memory_functions maxmemory total_system_memory mem_fragmentation_ratio
    mem_fragmentation_bytes mem_clients_slaves mem_clients_normal mem_cluster_links
    mem_aof_buffer mem_replication_backlog mem_total_replication_buffers
    mem_overhead_db_hashtable_rehashing expired_stale_perc mem_not_counted_for_evict
    lazyfree_pending_objects lazyfreed_objects active_defrag_running migrate_cached_sockets
    active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses
    expired_time_cap_reached_count loading async_loading rdb_changes_since_last_save
    rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec
    rdb_current_bgsave_time_sec rdb_saves rdb_last_cow_size rdb_last_load_keys_expired
    rdb_last_load_keys_loaded aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled
    aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_cow_size aof_current_size
    aof_base_size aof_pending_rewrite aof_buffer_length aof_rewrite_buffer_length
    aof_pending_bio_fsync aof_delayed_fsync aof_last_bgrewrite_status aof_last_write_status
    module_fork_in_progress module_fork_last_cow_size current_eviction_exceeded_time
    pubsub_channels pubsub_patterns pubsubshard_channels latest_fork_usec tracking_total_keys
    tracking_total_items tracking_total_prefixes connected_slaves repl_backlog_size
    repl_backlog_active repl_backlog_first_byte_offset repl_backlog_histlen master_repl_offset
    second_repl_offset slave_expires_tracked_keys slave_priority sync_full sync_partial_ok
    sync_partial_err total_connections_received total_commands_processed rejected_connections
    total_net_input_bytes total_net_output_bytes total_net_repl_input_bytes
    total_net_repl_output_bytes expired_subkeys expired_keys expire_cycle_cpu_milliseconds
    evicted_keys evicted_clients evicted_scripts total_eviction_exceeded_time keyspace_hits
    keyspace_misses eventloop_cycles eventloop_duration_sum eventloop_duration_cmd_sum
    used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children
    used_cpu_sys_main_thread used_cpu_user_main_thread unexpected_error_replies
    total_error_replies dump_payload_sanitizations total_reads_processed total_writes_processed
    acl_access_denied_auth acl_access_denied_cmd acl_access_denied_key acl_access_denied_channel
    role maxmemory_policy master_replid
    """

# DataDog/integrations-core, redisdb: gauges and rates.
DATADOG = """
    io_threads_active active_defrag_running active_defrag_hits active_defrag_misses
    active_defrag_key_hits active_defrag_key_misses aof_last_rewrite_time_sec
    aof_rewrite_in_progress aof_current_size aof_buffer_length loading_total_bytes
    loading_loaded_bytes loading_loaded_perc loading_eta_seconds connected_clients
    connected_slaves rejected_connections blocked_clients client_recent_max_input_buffer
    client_recent_max_output_buffer evicted_keys expired_keys latest_fork_usec
    instantaneous_input_kbps instantaneous_output_kbps instantaneous_ops_per_sec
    total_connections_received pubsub_channels pubsub_patterns rdb_bgsave_in_progress
    rdb_changes_since_last_save rdb_last_bgsave_time_sec mem_fragmentation_bytes
    mem_fragmentation_ratio mem_total_replication_buffers mem_clients_slaves mem_clients_normal
    used_memory used_memory_lua used_memory_peak used_memory_rss used_memory_startup
    used_memory_overhead used_memory_dataset used_memory_vm_eval used_memory_vm_functions
    used_memory_vm_total used_memory_functions used_memory_scripts_eval used_memory_scripts
    maxmemory master_last_io_seconds_ago master_sync_in_progress master_sync_left_bytes
    repl_backlog_histlen master_repl_offset slave_repl_offset total_net_repl_input_bytes
    total_net_repl_output_bytes allocator_active allocator_allocated allocator_muzzy
    allocator_resident allocator_rss_bytes allocator_rss_ratio acl_access_denied_auth
    acl_access_denied_channel acl_access_denied_cmd acl_access_denied_key allocator_active_lua
    allocator_allocated_lua allocator_frag_bytes_lua allocator_resident_lua aof_base_size
    aof_current_rewrite_time_sec aof_delayed_fsync aof_enabled aof_last_cow_size
    aof_pending_bio_fsync aof_pending_rewrite aof_rewrite_buffer_length aof_rewrite_scheduled
    aof_rewrites client_output_buffer_limit_disconnections
    client_query_buffer_limit_disconnections clients_in_timeout_table evicted_clients
    watching_clients pubsub_clients pubsubshard_channels cluster_connections cluster_enabled
    unexpected_error_replies total_error_replies current_active_defrag_time
    total_active_defrag_time current_eviction_exceeded_time total_eviction_exceeded_time
    current_cow_peak current_cow_size current_cow_size_age total_forks
    rdb_current_bgsave_time_sec rdb_last_cow_size rdb_last_load_keys_expired
    rdb_last_load_keys_loaded rdb_last_save_time rdb_saves master_port
    master_sync_last_io_seconds_ago master_sync_read_bytes master_sync_total_bytes
    second_repl_offset repl_backlog_active repl_backlog_first_byte_offset repl_backlog_size
    replica_announced slave_expires_tracked_keys slave_priority slave_read_only
    slave_read_repl_offset sync_full sync_partial_err sync_partial_ok
    instantaneous_input_repl_kbps instantaneous_output_repl_kbps min_slaves_good_slaves
    eventloop_cmd_per_cycle_max eventloop_cycles eventloop_duration_aof_sum
    eventloop_duration_cmd_sum eventloop_duration_cron_sum eventloop_duration_max
    eventloop_duration_sum instantaneous_eventloop_cycles_per_sec
    instantaneous_eventloop_duration_usec expire_cycle_cpu_milliseconds expired_subkeys
    expired_time_cap_reached_count total_blocking_keys total_blocking_keys_on_nokey
    total_watched_keys evicted_scripts number_of_cached_scripts number_of_functions
    number_of_libraries loading loading_rdb_used_mem loading_start_time migrate_cached_sockets
    reply_buffer_expands reply_buffer_shrinks total_net_input_bytes total_net_output_bytes
    rss_overhead_bytes rss_overhead_ratio mem_aof_buffer mem_cluster_links
    mem_not_counted_for_evict mem_overhead_db_hashtable_rehashing mem_replication_backlog
    used_memory_peak_time total_commands_processed total_reads_processed total_writes_processed
    tracking_clients tracking_total_items tracking_total_keys tracking_total_prefixes
    used_cpu_sys used_cpu_sys_children used_cpu_user used_cpu_user_children
    used_cpu_sys_main_thread used_cpu_user_main_thread keyspace_hits keyspace_misses
    io_threaded_reads_processed io_threaded_writes_processed role redis_version
    """

# open-telemetry/opentelemetry-collector-contrib, redisreceiver.
OPENTELEMETRY = """
    blocked_clients client_recent_max_input_buffer client_recent_max_output_buffer
    connected_clients connected_slaves evicted_keys expired_keys instantaneous_ops_per_sec
    keyspace_hits keyspace_misses latest_fork_usec master_repl_offset maxmemory
    mem_fragmentation_ratio rdb_changes_since_last_save rejected_connections
    repl_backlog_first_byte_offset slave_repl_offset total_commands_processed
    total_connections_received total_net_input_bytes total_net_output_bytes uptime_in_seconds
    used_cpu_sys used_cpu_sys_children used_cpu_sys_main_thread used_cpu_user
    used_cpu_user_children used_cpu_user_main_thread used_memory used_memory_lua
    used_memory_peak used_memory_rss role redis_version redis_mode cluster_enabled
    """

# Why some of them are not in INFO. Redis 7.0.15 lacks them as well, in the same situation.
ABSENT = {field: why for why, fields in {
    "of a replica, and this is a master": """
        master_last_io_seconds_ago master_sync_in_progress master_sync_left_bytes
        slave_repl_offset slave_read_repl_offset slave_read_only slave_priority
        replica_announced master_port master_sync_last_io_seconds_ago master_sync_read_bytes
        master_sync_total_bytes""",
    "with min-replicas-to-write only": "min_slaves_good_slaves",
    "while data is being loaded": """
        loading_total_bytes loading_loaded_bytes loading_loaded_perc loading_eta_seconds
        loading_start_time loading_rdb_used_mem""",
    "of Redis before 7.0": "aof_rewrite_buffer_length",
    "of an allocator of Lua's own, from Redis 7.4 on": """
        allocator_active_lua allocator_allocated_lua allocator_frag_bytes_lua
        allocator_resident_lua""",
    "in the section Debug of Redis 7.2, which is shown on request only": """
        eventloop_cmd_per_cycle_max eventloop_duration_aof_sum eventloop_duration_cron_sum""",
    "of ACLs": """
        acl_access_denied_auth acl_access_denied_cmd acl_access_denied_key
        acl_access_denied_channel""",
}.items() for field in fields.split()}
