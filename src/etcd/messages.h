/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to etcd as bytes, and its responses read. */
#ifndef UDPAI_ETCD_MESSAGES_H
#define UDPAI_ETCD_MESSAGES_H

#include "base/bytes.h"
#include "etcd/etcd.h"
#include "wire/arena.h"

/* ---- requests; NULL without memory ---- */

udpa_bytes *udpai_etcd_encode_range(const udpai_etcd_range *range);
udpa_bytes *udpai_etcd_encode_txn(const udpai_etcd_txn *txn);
udpa_bytes *udpai_etcd_encode_lease_grant(int64_t ttl_s);
/* Also to revoke it. */
udpa_bytes *udpai_etcd_encode_lease_keep_alive(int64_t lease);
udpa_bytes *udpai_etcd_encode_status(void);
udpa_bytes *udpai_etcd_encode_authenticate(const char *user, const char *password);
udpa_bytes *udpai_etcd_encode_watch(udpai_str key, udpai_str end, int64_t revision);
udpa_bytes *udpai_etcd_encode_watch_progress(void);

/* ---- responses: what refers to the arena; UDPA_ERR_MALFORMED, UDPA_ERR_NOMEM ---- */

typedef udpa_err (*udpai_etcd_decode_fn)(udpai_arena *arena,
                                         udpai_str message,
                                         udpai_etcd_result *ret_result);

udpa_err
udpai_etcd_decode_range(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result);
udpa_err
udpai_etcd_decode_txn(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result);
/* A lease that could not be granted is no error: it is 0. */
udpa_err
udpai_etcd_decode_lease_grant(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result);
udpa_err udpai_etcd_decode_lease_keep_alive(udpai_arena *arena,
                                            udpai_str message,
                                            udpai_etcd_result *ret_result);
udpa_err udpai_etcd_decode_lease_revoke(udpai_arena *arena,
                                        udpai_str message,
                                        udpai_etcd_result *ret_result);
udpa_err
udpai_etcd_decode_status(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result);
udpa_err
udpai_etcd_decode_authenticate(udpai_arena *arena, udpai_str message, udpai_str *ret_token);

typedef struct udpai_etcd_changes {
    udpai_etcd_header header;
    const udpai_etcd_event *events;
    size_t n_events;
    bool is_created, is_part, is_cancelled;
    int64_t compact_revision; /* of one that is cancelled */
    udpai_str reason;         /* the same; may be empty */
} udpai_etcd_changes;

udpa_err
udpai_etcd_decode_watch(udpai_arena *arena, udpai_str message, udpai_etcd_changes *ret_changes);

#endif
