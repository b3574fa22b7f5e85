/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint states of itself when it connects: the public Node message, as a value. */
#ifndef UDPAI_NODE_INFO_H
#define UDPAI_NODE_INFO_H

#include "base/bytes.h"
#include "base/error.h"

/* Features announced in Node.client_features. */
#define UDPAI_FEATURE_EXTENSIONS "udpa.ext.v1" /* the peer knows our extensions */
#define UDPAI_FEATURE_NODE "udpa.node.v1"      /* the peer is a management node */
#define UDPAI_FEATURE_TRIAL "udpa.trial.v1"    /* the peer reports what a trial would do */
/* The peer may have client resources: it is asked for those that have subscriptions. */
#define UDPAI_FEATURE_CLIENT "udpa.client.v1"
/* It shows to people what it is sent: secrets come without their payloads … */
#define UDPAI_FEATURE_REDACTED "udpa.redacted.v1"
/* … or keeps a copy of it, secrets included, which is for peers that may administer, by TLS. */
#define UDPAI_FEATURE_SECRETS "udpa.secrets.v1"

/* Immutable; counted atomically. */
typedef struct udpai_node_info udpai_node_info;

typedef struct udpai_node_parts {
    udpai_str id, cluster, region, zone, sub_zone, user_agent_name, user_agent_version;
    const udpai_str *features;
    size_t n_features;
    udpai_str metadata;   /* serialised Struct */
    udpai_str parameters; /* dynamic_parameters: serialised fields of that number of a Node */
} udpai_node_parts;

/* Copies everything. */
udpa_err udpai_node_info_new(udpai_node_info **ret_info, const udpai_node_parts *parts);
udpai_node_info *udpai_node_info_ref(udpai_node_info *info);
udpai_node_info *udpai_node_info_unref(udpai_node_info *info);
UDPA_DEFINE_CLEANUP(udpai_node_info, udpai_node_info_unref)
/* Bytes that it takes; NULL: 0. */
size_t udpai_node_info_size(const udpai_node_info *info);

/* Views owned by @p info. */
const udpai_node_parts *udpai_node_info_parts(const udpai_node_info *info);
bool udpai_node_info_equal(const udpai_node_info *a, const udpai_node_info *b);
/* Does it have something for all that the other one has? */
bool udpai_node_info_is_as_full(const udpai_node_info *info, const udpai_node_info *other);
bool udpai_node_info_has_feature(const udpai_node_info *info, const char *feature);

/* Strings directly in the metadata: what management nodes announce of themselves. */
#define UDPAI_NODE_KEY_INSTANCE "udpa.instance" /* which of those with this id it is */
#define UDPAI_NODE_KEY_RUN "udpa.run"         /* which process of that: another number each time */
#define UDPAI_NODE_KEY_EPOCH "udpa.epoch"     /* of its store */
#define UDPAI_NODE_KEY_COMMIT "udpa.commit"   /* the number of its last one, decimal */
#define UDPAI_NODE_KEY_WHOLE "udpa.whole"     /* "true": what it had as the epoch began is meant */
#define UDPAI_NODE_KEY_TWINS "udpa.twins"     /* nodes of one id, see model/twin_notices.h */
#define UDPAI_NODE_KEY_REPLICA "udpa.replica" /* which of its replicas it is (replica_id.h) */

#define UDPAI_EPOCH_MAX 640 /* bytes, with its openings (lineage.h) */

typedef struct udpai_node_metadata {
    const char *key;
    udpai_str value;
} udpai_node_metadata;

/* The string of this key, a view; empty: it has none. */
udpai_str udpai_node_info_metadata(const udpai_node_info *info, const char *key);
/* Which node it is, where loops are looked for: its instance, or without one its id. */
udpai_str udpai_node_info_instance(const udpai_node_info *info);
/* Which of the replicas of its node it is; empty: it is none, or states the id of none. */
udpai_str udpai_node_info_replica(const udpai_node_info *info);
/* The id with which it reports: that, or else the one of its Node. */
udpai_str udpai_node_info_reporter(const udpai_node_info *info);
/* The same Node, with these besides; of a key that is there already the last one counts. */
udpa_err udpai_node_info_with_metadata(udpai_node_info **ret_info,
                                       const udpai_node_info *info,
                                       const udpai_node_metadata *metadata,
                                       size_t n_metadata);

/* What its store was when it sent this: its lineage, a view, and the number of the last commit.
 * False: it has neither, or nothing that can be read. */
bool udpai_node_info_epoch(const udpai_node_info *info, udpai_str *ret_epoch, uint64_t *ret_commit);
/* It was sent for that epoch: what it did not have as it began was removed. */
bool udpai_node_info_is_whole(const udpai_node_info *info);

#endif
