/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of metrics: what each is called, what it means, and which label it has. What counts
 * (meters.h) and what is filled in when it is asked for (snapshot.h) names a family by its number;
 * docs/reference/metrics.md is made of this list by docs/reference/make.py. */
#ifndef UDPAI_METRICS_LIST_H
#define UDPAI_METRICS_LIST_H

/* X(number, kind, label, where it is counted, name, what it means). A name has neither "_total" nor
 * "_created", which are added where they belong; it ends with its unit, if that is one of seconds
 * and bytes. NODE: the process of the node. PROCESSES: the node and its workers, added up. WORKER:
 * each worker by itself. LARGEST: the process
 * that has most. */
#define UDPAI_METRIC_MAP(X)                                                                        \
    /* the node */                                                                                 \
    X(BUILD_INFO, GAUGE, VERSION, NODE, "udpa_build_info",                                         \
      "Always 1; the label is the version of the program.")                                        \
    X(WORKER_UP, GAUGE, WORKER, WORKER, "udpa_worker_up",                                          \
      "Whether the worker has sent its counters in the last 3 seconds.")                           \
    X(CERTIFICATE_EXPIRY, GAUGE, USE, NODE, "udpa_certificate_expiry_timestamp_seconds",           \
      "When the first of the node's own certificates of this use expires.")                        \
    X(CONFIGURATION_LOADED, GAUGE, NONE, NODE, "udpa_configuration_loaded_timestamp_seconds",      \
      "When the bootstrap file that is in effect was read.")                                       \
    X(CONFIGURATION_REJECTED, GAUGE, NONE, NODE, "udpa_configuration_rejected_timestamp_seconds",  \
      "Since when the bootstrap file is rejected, and a former one in effect; 0: it is not.")      \
    X(CONFIGURATION_RELOADS, COUNTER, OUTCOME, NODE, "udpa_configuration_reloads",                 \
      "How often a running node has read its bootstrap file: it was taken_over, or rejected.")     \
    X(CLOCK, GAUGE, NONE, NODE, "udpa_clock_timestamp_seconds",                                    \
      "The clock of the node when this page was made, in seconds since 1970.")                     \
    X(LOOP_TURN, HISTOGRAM, NONE, NODE, "udpa_loop_turn_seconds",                                  \
      "How long the node's loop has worked between two waits.")                                    \
    X(STREAM_THREAD_TURN, HISTOGRAM, NONE, PROCESSES, "udpa_stream_thread_turn_seconds",           \
      "How long a stream thread has worked between two waits.")                                    \
    /* streams and connections */                                                                  \
    X(SESSIONS, GAUGE, PROTOCOL, PROCESSES, "udpa_sessions",                                       \
      "Streams that are open, of both directions, by their protocol.")                             \
    X(SESSIONS_OPENED, COUNTER, PROTOCOL, PROCESSES, "udpa_sessions_opened",                       \
      "Streams that were opened, of both directions, by their protocol.")                          \
    X(CLIENT_STREAMS, GAUGE, NONE, PROCESSES, "udpa_client_streams",                               \
      "Streams of xDS clients that are open.")                                                     \
    X(CLIENT_STREAMS_SHARE, GAUGE, NONE, NODE, "udpa_client_streams_share",                        \
      "How many streams of xDS clients are this replica's share; 0: all.")                         \
    X(STREAMS_REFUSED, COUNTER, NONE, PROCESSES, "udpa_streams_refused",                           \
      "Streams that were rejected: a limit, an unclear identity, an unknown method.")              \
    X(STREAMS_LIMITED, COUNTER, NONE, PROCESSES, "udpa_streams_limited",                           \
      "Streams that were rejected, or ended, because a limit was reached.")                        \
    X(STREAMS_CUT_OFF, COUNTER, NONE, PROCESSES, "udpa_streams_cut_off",                           \
      "Streams that ended because the peer's certificate was revoked or has expired.")             \
    X(MESSAGES_TOO_LARGE, COUNTER, NONE, PROCESSES, "udpa_messages_too_large",                     \
      "Messages above the size limit; each has ended its stream.")                                 \
    X(MESSAGES_HELD_BACK, COUNTER, NONE, PROCESSES, "udpa_messages_held_back",                     \
      "Messages that had to wait for their turn to be read.")                                      \
    X(STREAMS_AGED, COUNTER, NONE, PROCESSES, "udpa_streams_aged",                                 \
      "Streams that were ended at timing.max_stream_age.")                                         \
    X(STREAMS_MOVED, COUNTER, NONE, PROCESSES, "udpa_streams_moved",                               \
      "Streams that were ended so that their clients connect to another replica.")                 \
    X(STREAMS_ABOVE_SHARE, COUNTER, NONE, PROCESSES, "udpa_streams_above_share",                   \
      "Streams that were rejected because this replica has its share.")                            \
    X(CONNECTIONS_REFUSED, COUNTER, REASON, PROCESSES, "udpa_connections_refused",                 \
      "Connections that were closed because of a limit, or for lack of memory.")                   \
    X(CONNECTIONS_ENDED, COUNTER, NONE, PROCESSES, "udpa_connections_ended",                       \
      "Connections that were ended because of floods of resets or of empty frames.")               \
    X(HANDSHAKES, COUNTER, NONE, PROCESSES, "udpa_handshakes",                                     \
      "TLS handshakes of peers that have succeeded.")                                              \
    X(HANDSHAKES_FAILED, COUNTER, REASON, PROCESSES, "udpa_handshakes_failed",                     \
      "TLS handshakes of peers, and heads of the PROXY protocol, that have failed.")               \
    X(SUBSCRIPTIONS_DENIED, COUNTER, NONE, PROCESSES, "udpa_subscriptions_denied",                 \
      "Requests on streams that the ACL has denied, or would deny in a dry run.")                  \
    X(ADMIN_CONNECTIONS, GAUGE, NONE, NODE, "udpa_admin_connections",                              \
      "Connections to the admin sockets that are open.")                                           \
    X(ADMIN_REJECTED, COUNTER, NONE, NODE, "udpa_admin_connections_rejected",                      \
      "Connections to the admin sockets that were closed because there are too many.")             \
    X(ADMIN_REPLACED, COUNTER, NONE, NODE, "udpa_admin_connections_replaced",                      \
      "Idle connections to the admin sockets that were ended for new ones.")                       \
    X(ADMIN_UNAUTHENTICATED, COUNTER, NONE, NODE, "udpa_admin_requests_unauthenticated",           \
      "Requests for pages without a token, or with a wrong one.")                                  \
    /* what is sent */                                                                             \
    X(DELIVERIES, COUNTER, TYPE, PROCESSES, "udpa_deliveries",                                     \
      "Responses of xDS and publications of UDPA that subscribers were sent.")                     \
    X(DELIVERY_BYTES, COUNTER, TYPE, PROCESSES, "udpa_delivery_bytes",                             \
      "Bytes of what udpa_deliveries_total counts, before TLS.")                                   \
    X(ACKS, COUNTER, TYPE, PROCESSES, "udpa_acks", "Deliveries that their peer has acknowledged.") \
    X(NACKS, COUNTER, TYPE, PROCESSES, "udpa_nacks",                                               \
      "Deliveries that their peer has answered with a NACK.")                                      \
    X(COALESCED, COUNTER, TYPE_OF_FEWER, PROCESSES, "udpa_coalesced_changes",                      \
      "Changes that a newer one has replaced before the slowest subscriber was sent them.")        \
    X(PUSH_HELD_CHANGES, COUNTER, TYPE_OF_FEWER, PROCESSES, "udpa_push_held_changes",              \
      "Changes that have waited for others by push.debounce before clients were sent them.")       \
    X(PUSH_HELD_TIME, HISTOGRAM, NONE, PROCESSES, "udpa_push_held_seconds",                        \
      "How long changes have waited by push.debounce, the first of those that go together.")       \
    X(UNANSWERED_STREAMS, GAUGE, NONE, PROCESSES, "udpa_unanswered_streams",                       \
      "Streams of clients that have not answered all that they were sent.")                        \
    X(OLDEST_UNANSWERED, LARGEST, NONE, LARGEST, "udpa_oldest_unanswered_seconds",                 \
      "How long the slowest client has not answered what it was sent.")                            \
    X(PROPAGATION_TIME, HISTOGRAM, TYPE_OF_FEWER, NODE, "udpa_propagation_seconds",                \
      "From the commit of a change until the last of its clients has acknowledged it.")            \
    X(PROPAGATIONS, COUNTER, OUTCOME, NODE, "udpa_propagations",                                   \
      "Changes: acknowledged by all, nacked by one, clients gone, or open after 60 s.")            \
    /* what is received */                                                                         \
    X(RESOURCES, GAUGE, TYPE, NODE, "udpa_resources", "Effective resources.")                      \
    X(UPDATES_ACCEPTED, COUNTER, TYPE, NODE, "udpa_updates_accepted",                              \
      "Resources and removals of sources and publishers, and reports of clients, accepted.")       \
    X(UPDATES_REJECTED, COUNTER, CODE, NODE, "udpa_updates_rejected",                              \
      "Resources and removals of sources and publishers, and reports of clients, rejected.")       \
    X(RECEIPTS, COUNTER, CODE, PROCESSES, "udpa_receipts",                                         \
      "Receipts to publishers, by the first error in them.")                                       \
    X(ACL_DENIALS, COUNTER, NONE, NODE, "udpa_publications_denied",                                \
      "Resources that the ACL has not let a peer publish, or would not in a dry run.")             \
    X(LOOPS, COUNTER, NONE, NODE, "udpa_loops",                                                    \
      "Resources that have come back to this node over other nodes, and are ignored.")             \
    X(SIGNATURES_REJECTED, COUNTER, NONE, NODE, "udpa_signatures_rejected",                        \
      "Resources that were rejected or withdrawn because of their signatures.")                    \
    X(SIGNATURES_MADE, COUNTER, NONE, NODE, "udpa_signatures_made",                                \
      "Resources that this node has signed.")                                                      \
    /* sources */                                                                                  \
    X(SOURCES, GAUGE, KIND, NODE, "udpa_sources",                                                  \
      "ConfigSources: configured, dynamic, of client groups; and peers that it dials.")            \
    X(SOURCE_CONNECTED, GAUGE, SOURCE, NODE, "udpa_source_connected",                              \
      "Whether the source has a stream, or was read.")                                             \
    X(SOURCE_ACTIVE, GAUGE, SOURCE, NODE, "udpa_source_active",                                    \
      "Whether the source is active: connected, and something was received.")                      \
    X(SOURCE_CONTACT, LARGEST, SOURCE, NODE, "udpa_source_last_contact_timestamp_seconds",         \
      "When the source last had a stream, or was read; the present time while it has one.")        \
    X(SOURCE_CONNECTS, COUNTER, SOURCE, NODE, "udpa_source_connects",                              \
      "Streams of the source that were opened.")                                                   \
    X(SOURCE_FAILURES, COUNTER, SOURCE, NODE, "udpa_source_failures",                              \
      "Streams of the source that could not be opened, or have ended.")                            \
    X(SOURCE_DIAL_FAILURES, COUNTER, SOURCE, NODE, "udpa_source_dial_failures",                    \
      "Those of them that could not be opened.")                                                   \
    X(SOURCE_FAIL_OVERS, COUNTER, SOURCE, NODE, "udpa_source_fail_overs",                          \
      "How often another source has replaced this one, which was lost, for a type or name.")       \
    X(SOURCE_FAIL_BACKS, COUNTER, SOURCE, NODE, "udpa_source_fail_backs",                          \
      "How often a source before this one has replaced it again, for a type or name.")             \
    X(SOURCE_HELD, GAUGE, SOURCE, NODE, "udpa_source_held",                                        \
      "Resources that the source or directory no longer names, and that are held.")                \
    X(UNSYNCHRONIZED, GAUGE, TYPE, NODE, "udpa_unsynchronized",                                    \
      "Sources and directories that the node still waits for; any: all types.")                    \
    X(UNSYNCHRONIZED_TIME, GAUGE, NONE, NODE, "udpa_unsynchronized_seconds",                       \
      "For how long the node has waited for the first of them; 0: for none.")                      \
    X(FREEZES, GAUGE, NONE, NODE, "udpa_freezes",                                                  \
      "Freezes: prefixes of names of which nothing changes until an operator thaws them.")         \
    X(FROZEN_CHANGES, GAUGE, NONE, NODE, "udpa_frozen_changes",                                    \
      "Changes of files and sources that wait until their names are thawed.")                      \
    /* the store */                                                                                \
    X(STORE_CONTRIBUTIONS, GAUGE, NONE, NODE, "udpa_store_contributions",                          \
      "Contributions: versions of resources, of each origin one.")                                 \
    X(STORE_QUEUED, GAUGE, NONE, NODE, "udpa_store_queued_batches",                                \
      "Batches that the durable engine has not committed yet.")                                    \
    X(STORE_COMMIT_TIME, HISTOGRAM, NONE, NODE, "udpa_store_commit_seconds",                       \
      "How long the durable engine, or etcd, has taken to commit a batch, from the queue on.")     \
    X(STORE_COMMITTED, COUNTER, NONE, NODE, "udpa_store_committed_batches",                        \
      "Batches that the durable engine has committed.")                                            \
    X(STORE_FAILED, COUNTER, NONE, NODE, "udpa_store_failed_batches",                              \
      "Batches that the durable engine could not commit.")                                         \
    X(STORE_TRANSACTIONS, COUNTER, NONE, NODE, "udpa_store_transactions",                          \
      "Transactions of the durable engine, each of one or more batches.")                          \
    X(STORE_SIZE, GAUGE, NONE, NODE, "udpa_store_size_bytes",                                      \
      "Size of the database of the durable engine on disk.")                                       \
    X(STORE_LOG_SIZE, GAUGE, NONE, NODE, "udpa_store_log_size_bytes",                              \
      "Size of what the database has committed, and has yet to be written into it.")               \
    X(STORE_DISK_SIZE, GAUGE, NONE, NODE, "udpa_store_disk_size_bytes",                            \
      "Size of the file system that has the state directory.")                                     \
    X(STORE_DISK_FREE, GAUGE, NONE, NODE, "udpa_store_disk_free_bytes",                            \
      "What the node may still write to that file system.")                                        \
    X(STORE_UNREADABLE, GAUGE, NONE, NODE, "udpa_store_unreadable_secrets",                        \
      "Secrets that were not loaded, because their key is missing.")                               \
    /* the audit */                                                                                \
    X(AUDIT_RECORDS, COUNTER, NONE, NODE, "udpa_audit_records",                                    \
      "Records of who has changed what, in the database.")                                         \
    X(AUDIT_SIZE, GAUGE, NONE, NODE, "udpa_audit_size_bytes",                                      \
      "Size of all records in the database.")                                                      \
    X(AUDIT_WRITTEN, COUNTER, NONE, NODE, "udpa_audit_output_records",                             \
      "Records written to audit.file and to journald.")                                            \
    X(AUDIT_BEHIND, GAUGE, NONE, NODE, "udpa_audit_output_behind",                                 \
      "Records that are still to be written there.")                                               \
    X(AUDIT_FAILED, COUNTER, NONE, NODE, "udpa_audit_output_failures",                             \
      "Attempts to write records there that have failed.")                                         \
    X(AUDIT_LOST, COUNTER, NONE, NODE, "udpa_audit_output_lost_records",                           \
      "Records that the database has deleted before they could be written there.")                 \
    X(TRACE_SPANS, COUNTER, OUTCOME, NODE, "udpa_trace_spans",                                     \
      "Spans that the collector has taken, that it has rejected, and that did not fit its queue.") \
    X(TRACE_FAILURES, COUNTER, NONE, NODE, "udpa_trace_failures",                                  \
      "Attempts to send spans to the collector that have failed.")                                 \
    X(TRACE_QUEUE, GAUGE, NONE, NODE, "udpa_trace_queue_bytes",                                    \
      "Spans that wait for the collector.")                                                        \
    X(LIMIT_USED, RATIO, LIMIT, LARGEST, "udpa_limit_used_ratio",                                  \
      "How much of a limit is used, from 0 to 1, by what uses most of it.")                        \
    /* replicas */                                                                                 \
    X(REPLICA_IS_CURRENT, GAUGE, NONE, NODE, "udpa_replica_is_current",                            \
      "Whether this replica has all that etcd has committed.")                                     \
    X(REPLICA_IS_HELD, GAUGE, NONE, NODE, "udpa_replica_is_held",                                  \
      "Whether this replica waits for the decision of an operator.")                               \
    X(REPLICA_NOT_CURRENT, GAUGE, NONE, NODE, "udpa_replica_not_current_seconds",                  \
      "For how long this replica has not been current; 0: it is.")                                 \
    X(REPLICA_REVISION, GAUGE, NONE, NODE, "udpa_replica_revision",                                \
      "Revision of etcd up to which this replica has applied all.")                                \
    X(REPLICA_ETCD_REVISION, GAUGE, NONE, NODE, "udpa_replica_etcd_revision",                      \
      "Last known revision of etcd.")                                                              \
    X(REPLICA_ETCD_SIZE, GAUGE, NONE, NODE, "udpa_replica_etcd_size_bytes",                        \
      "Size of etcd's database.")                                                                  \
    X(REPLICA_ETCD_QUOTA, GAUGE, NONE, NODE, "udpa_replica_etcd_quota_bytes",                      \
      "Size that etcd's database may have.")                                                       \
    X(REPLICA_ETCD_HAS_ALARM, GAUGE, NONE, NODE, "udpa_replica_etcd_has_alarm",                    \
      "Whether etcd has an alarm, and takes no more.")                                             \
    X(REPLICA_OVERDUE, GAUGE, NONE, NODE, "udpa_replica_overdue",                                  \
      "Resources whose ttl is over, and that etcd still has.")                                     \
    X(REPLICA_BARRIERS_GIVEN_UP, COUNTER, NONE, NODE, "udpa_replica_barriers_given_up",            \
      "Streams that were served without knowing that this replica was current.")                   \
    X(REPLICA_WOULD_BE_LOST, GAUGE, NONE, NODE, "udpa_replica_would_be_lost",                      \
      "Resources that udpactl store accept would remove.")                                         \
    X(REPLICA_DIRECTORIES_WAITING, GAUGE, NONE, NODE, "udpa_replica_directories_waiting",          \
      "Directories that most replicas have not read alike yet.")                                   \
    X(REPLICA_DIRECTORIES_DIFFERING, GAUGE, NONE, NODE, "udpa_replica_directories_differing",      \
      "Directories that another replica has read differently.")                                    \
    X(REPLICAS, GAUGE, NONE, NODE, "udpa_replicas", "Replicas that have a place in etcd.")         \
    /* the runtime */                                                                              \
    X(RUNTIME_OVERRIDES, GAUGE, NONE, NODE, "udpa_runtime_admin_overrides_active",                 \
      "Whether an admin layer has values.")                                                        \
    X(RUNTIME_DEPRECATED_SEEN, GAUGE, NONE, NODE,                                                  \
      "udpa_runtime_deprecated_feature_seen_since_process_start",                                  \
      "Uses of deprecated fields since the node has started.")                                     \
    X(RUNTIME_DEPRECATED_USE, COUNTER, NONE, NODE, "udpa_runtime_deprecated_feature_use",          \
      "Uses of deprecated fields.")                                                                \
    X(RUNTIME_LOAD_ERROR, COUNTER, NONE, NODE, "udpa_runtime_load_error",                          \
      "Readings of layers that have failed.")                                                      \
    X(RUNTIME_LOAD_SUCCESS, COUNTER, NONE, NODE, "udpa_runtime_load_success",                      \
      "Readings of layers that have succeeded.")                                                   \
    X(RUNTIME_KEYS, GAUGE, NONE, NODE, "udpa_runtime_num_keys", "Keys of the runtime.")            \
    X(RUNTIME_LAYERS, GAUGE, NONE, NODE, "udpa_runtime_num_layers",                                \
      "Layers of the runtime that are in use.")                                                    \
    X(RUNTIME_OVERRIDE_EXISTS, COUNTER, NONE, NODE, "udpa_runtime_override_dir_exists",            \
      "Readings of a disk layer with an override directory.")                                      \
    X(RUNTIME_OVERRIDE_NOT_EXISTS, COUNTER, NONE, NODE, "udpa_runtime_override_dir_not_exists",    \
      "Readings of a disk layer without an override directory.")                                   \
    /* processes */                                                                                \
    X(PROCESS_CPU, COUNTER, NONE, NODE, "process_cpu_seconds",                                     \
      "Processor time of the node's process, of user and system.")                                 \
    X(PROCESS_RESIDENT, GAUGE, NONE, NODE, "process_resident_memory_bytes",                        \
      "Resident memory of the node's process.")                                                    \
    X(PROCESS_VIRTUAL, GAUGE, NONE, NODE, "process_virtual_memory_bytes",                          \
      "Virtual memory of the node's process.")                                                     \
    X(PROCESS_OPEN_FDS, GAUGE, NONE, NODE, "process_open_fds",                                     \
      "Open file descriptors of the node's process.")                                              \
    X(PROCESS_MAX_FDS, GAUGE, NONE, NODE, "process_max_fds",                                       \
      "File descriptors that the node's process may have open.")                                   \
    X(PROCESS_THREADS, GAUGE, NONE, NODE, "process_threads", "Threads of the node's process.")     \
    X(PROCESS_START, GAUGE, NONE, NODE, "process_start_time_seconds",                              \
      "When the node's process has started, in seconds since 1970.")                               \
    X(WORKER_CPU, COUNTER, WORKER, WORKER, "udpa_worker_cpu_seconds",                              \
      "Processor time of a worker, of user and system.")                                           \
    X(WORKER_RESIDENT, GAUGE, WORKER, WORKER, "udpa_worker_resident_memory_bytes",                 \
      "Resident memory of a worker.")                                                              \
    X(WORKER_OPEN_FDS, GAUGE, WORKER, WORKER, "udpa_worker_open_fds",                              \
      "Open file descriptors of a worker.")                                                        \
    X(MEMORY, GAUGE, MODULE, PROCESSES, "udpa_memory_bytes",                                       \
      "Memory that a part of the program has, as far as its main structures go.")                  \
    /* this list */                                                                                \
    X(SERIES, GAUGE, NONE, NODE, "udpa_metrics_series", "Series on this page.")

#endif
