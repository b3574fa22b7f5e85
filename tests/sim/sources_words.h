/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in the scene of sources: owners' words, and where names come from. */
#ifndef SIM_SOURCES_WORDS_H
#define SIM_SOURCES_WORDS_H

#include <udpa/resource.h>

#include "federation/node_config.h"

#define SOURCES_SPACE "com.acme"
#define SOURCES_TYPE "type.googleapis.com/envoy.config.cluster.v3.Cluster"
#define SOURCES_DELEGATION "type.googleapis.com/udpa.config.v1.ResourceProvider"
#define SOURCES_SOURCE "type.googleapis.com/udpa.config.v1.ConfigSource"
#define SOURCES_LIST_MAX 3

/* Of one name: whose word counts. */
typedef struct sources_delegation {
    int owners[SOURCES_LIST_MAX];
    const char *ids[SOURCES_LIST_MAX]; /* of these */
    udpai_continuation continuations[SOURCES_LIST_MAX];
    size_t n; /* 0: there is none */
} sources_delegation;

/* A Cluster, whose name is field 1; field 28 (alt_stat_name) has whose word it is, and the version.
 */
udpa_resource *sources_make_cluster(const char *owner, int key, int version);
udpa_resource *
sources_make_delegation(const char *authority, int key, const sources_delegation *said);
/* That this owner is a source, called as it is. */
udpa_resource *sources_make_source(const char *authority, const char *owner);

#endif
