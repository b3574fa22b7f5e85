/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of xDS clients, and what each sees: of a list of audiences a client belongs to the first
 * that matches it. They stay as they are and outlive the hub, or what is made after them for a few
 * clients (xds/group.h) its sessions: what was composed for one form of responses is found again by
 * the address of its renderer and the serial number. Belongs to the stream thread. */
#ifndef UDPAI_XDS_AUDIENCE_H
#define UDPAI_XDS_AUDIENCE_H

#include "base/proto.h"
#include "fanout/body.h"
#include "model/identity.h"
#include "model/node_info.h"
#include "model/xdstp.h"

typedef struct udpai_xds_audience udpai_xds_audience;
typedef struct udpai_xds_renderer udpai_xds_renderer;
typedef struct udpai_xds_missing udpai_xds_missing;

/* ---- which clients belong to it ---- */

/* Texts to compare with; in each a * stands for any bytes, also none. */
typedef struct udpai_xds_patterns {
    const udpai_str *items;
    size_t n;
} udpai_xds_patterns;

/* A value in the metadata of a Node. */
typedef struct udpai_xds_metadata_match {
    const udpai_str *path; /* keys, from the outside in */
    size_t n_path;
    udpai_str value; /* a pattern for a string; a number; true or false. Of a list one counts */
} udpai_xds_metadata_match;

/* One of the dynamic parameters of a Node, which a client may change while it is connected. */
typedef struct udpai_xds_parameter_match {
    udpai_str type_url; /* for resources of this type; empty: of any */
    udpai_str key;
    udpai_str value; /* a pattern */
} udpai_xds_parameter_match;

/* All that is given must match; nothing given: everybody does. */
typedef struct udpai_xds_match {
    udpai_xds_patterns identities; /* one of them, one of the names of the client's certificate */
    udpai_xds_patterns node_ids, clusters; /* one of them */
    udpai_str region, zone, sub_zone;      /* patterns; empty: any */
    const udpai_xds_metadata_match *metadata;
    size_t n_metadata;                  /* each of them */
    udpai_xds_patterns client_features; /* each of them */
    const udpai_xds_parameter_match *parameters;
    size_t n_parameters; /* each of them */
} udpai_xds_match;

/* The first of them that matches; NULL: none does. @p identity NULL: the client has none; @p node
 * NULL: it has not sent one. */
udpai_xds_audience *udpai_xds_audience_choose(udpai_xds_audience *audiences,
                                              size_t n_audiences,
                                              const udpai_identity *identity,
                                              const udpai_node_info *node);

/* ---- what they see ---- */

/* The forms that responses have. */
typedef enum udpai_xds_form {
    UDPAI_XDS_DELTA,
    UDPAI_XDS_SOTW,           /* payloads alone: without a ttl */
    UDPAI_XDS_SOTW_WRAPPED,   /* what has a ttl is wrapped in a Resource */
    UDPAI_XDS_SOTW_HEARTBEAT, /* and a ttl is renewed without the payload */
    UDPAI_XDS_FORMS,
} udpai_xds_form;

/* In Node.client_features: the client reads resource_errors. */
#define UDPAI_XDS_FEATURE_ERRORS "udpa.xds.resource-errors.v1"

struct udpai_xds_renderer {
    udpai_renderer renderer; /* first */
    const udpai_xds_audience *audience;
    udpai_xds_form form;
    bool sends_errors; /* what is missing is sent in resource_errors */
    /* Composes a response of the session's own: these names are missing; none: it is empty. */
    udpa_err (*compose_answer)(const udpai_xds_renderer *self,
                               const udpai_subscription *subscription,
                               const udpai_xds_missing *missing,
                               size_t n_missing,
                               udpai_body *body);
};

struct udpai_xds_audience {
    udpai_str name; /* for people */
    udpai_xds_match match;
    uint64_t serial; /* 0, but of what is made after another audience */
    /* The namespace of plain names, such as "local"; or what it is made after, xds/group.h. */
    udpai_str default_namespace;
    /* More namespaces that they see, under full names. */
    const udpai_str *namespaces;
    size_t n_namespaces;
    udpai_xdstp_authorities authorities;
    /* ControlPlane.identifier of every response; empty: none is sent. */
    udpai_str control_plane;
    bool is_canary; /* SotW responses are marked so; delta has no such mark */
    /* They read resource_errors, all of them. Others are sent them only if their Node has the
     * feature of that name. */
    bool resource_errors;
    udpai_xds_renderer renderers[UDPAI_XDS_FORMS], with_errors[UDPAI_XDS_FORMS];
};

/* To be called when the fields above the renderers are filled in; fills in those. */
void udpai_xds_audience_init(udpai_xds_audience *audience);
/* As fields of the SessionStatus of its client. */
void udpai_xds_audience_put(udpai_proto_writer *writer, const udpai_xds_audience *audience);

#endif
