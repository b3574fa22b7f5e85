/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS: what clients have of what they asked for, as this node knows it, by the public service of
 * that name (docs/design/csds.md). A session that reports the hub's other sessions, a slice at a
 * time: no client waits for a question about ten thousand. */
#ifndef UDPAI_CSDS_H
#define UDPAI_CSDS_H

#include "base/regex.h"
#include "session/hub.h"

#define UDPAI_CSDS_STREAM "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus"
#define UDPAI_CSDS_FETCH "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"
#define UDPAI_CSDS_REST "/v3/discovery:client_status"

/* What the rules of an ACL call it: a peer that may ask has the action admin for this. */
#define UDPAI_CSDS_TYPE "type.googleapis.com/envoy.service.status.v3.ClientConfig"
#define UDPAI_CSDS_NAME UDPAI_NODE_NAMESPACE "/clients"

/* A request is at most so large. */
#define UDPAI_CSDS_REQUEST_MAX ((size_t)256 << 10)
/* A response of a stream is closed at this size, and another one goes on … */
#define UDPAI_CSDS_RESPONSE_BYTES ((size_t)512 << 10)
/* … and the one of a Fetch must be smaller than what a client of gRPC takes by default. */
#define UDPAI_CSDS_FETCH_BYTES ((size_t)4000 << 10)
/* The body of a resource that is larger is left out, … */
#define UDPAI_CSDS_BODY_MAX ((size_t)2 << 20)
/* … and so is, of a larger Node, everything but its identity. */
#define UDPAI_CSDS_NODE_MAX ((size_t)64 << 10)

/* How long others are waited for, by default; and at most. */
#define UDPAI_CSDS_WAIT_MS ((uint64_t)3000)
#define UDPAI_CSDS_WAIT_MAX_MS ((uint64_t)60000)

/* So many answers are made, or read, at a time: what each takes in memory is bounded, too. */
#define UDPAI_CSDS_ANSWERS_MAX 32
/* A client that has not read a response after so long is given up. */
#define UDPAI_CSDS_PATIENCE_MS 30000

/* What all its methods share; belongs to the hub's owner, and outlives the hub. */
typedef struct udpai_csds {
    const udpai_regex_ops *regex;  /* NULL: there are no regular expressions */
    const udpai_str *secret_types; /* bodies of these are never sent, besides those of SDS */
    size_t n_secret_types;
    bool has_workers; /* other stream sides have clients of this node that the hub does not know */
    bool asks_tree;   /* every client is sent the clients of all nodes below, too */
    uint64_t wait_ms; /* so long they are waited for */
    size_t n_answers; /* that are being made, or read; the sessions count them */
} udpai_csds;

typedef struct udpai_csds_method {
    udpai_csds *csds;
    bool is_fetch; /* one request, one response; else streams of both */
} udpai_csds_method;

/* Begins a session on a new stream, whose info->context is a udpai_csds_method. */
udpa_err
udpai_csds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
