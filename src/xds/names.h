/* SPDX-License-Identifier: Apache-2.0 */
/* Names as xDS clients spell them, and as UDPA knows them. */

/* A client's name is a full one only if it lies below one of the namespaces that clients see; any
 * other, whatever slashes it has, is an id in the default namespace. Back again, a name loses the
 * default namespace. What would not come back as the same name cannot be named by clients, and is
 * not visible to them.
 *
 * Names of the form xdstp://… have their namespace in their authority, and their type. Such a
 * client compares names: it is answered by the spelling that it used. */
#ifndef UDPAI_XDS_NAMES_H
#define UDPAI_XDS_NAMES_H

#include "xds/audience.h"

#define UDPAI_XDS_WILDCARD UDPAI_STR("*")

/* What a client's name means. */
typedef struct udpai_xds_name {
    udpai_str full; /* as UDPA knows it; of a glob: as udpai_glob_of_name() has it */
    bool is_xdstp, is_glob;
    udpai_str parameters;      /* of the client that asks for it; to be filled in; empty: none */
    char room[UDPAI_NAME_MAX]; /* what `full` may be a view of */
} udpai_xds_name;

/* A name that was asked for, as the client spells it, and why nothing is sent for it. */
struct udpai_xds_missing {
    udpai_str name;
    udpai_str constraints; /* those of the variants of the name that are missing; empty: all */
    udpa_err why;          /* NOT_FOUND or DENIED; INTERNAL: it cannot be written */
    udpai_str reason;
};

#define UDPAI_XDS_NOT_THERE UDPAI_STR("there is no such resource")

/* UDPA_ERR_INVAL: it cannot be the name of anything; UDPA_ERR_DENIED: it may be, in a namespace
 * that these clients do not see. The wildcard is no name. */
udpa_err udpai_xds_name_resolve(const udpai_xds_audience *audience,
                                udpai_str type_url,
                                udpai_str name,
                                udpai_xds_name *ret_name,
                                udpa_error **ret_error);

/* The same for a name that is not of the form xdstp://…: a view of it or of `room`; false: it
 * cannot be the name of anything. */
bool udpai_xds_name_from_client(const udpai_xds_audience *audience,
                                udpai_str name,
                                char room[UDPAI_NAME_MAX],
                                udpai_str *ret_name);

/* A view of a full name (or alias) as the client knows it; false: clients cannot name it. */
bool
udpai_xds_name_to_client(const udpai_xds_audience *audience, udpai_str name, udpai_str *ret_name);

/* Is it in the default namespace, which clients do not spell? */
bool udpai_xds_name_is_plain(const udpai_xds_audience *audience, udpai_str name);

/* The prefixes of a client's wildcard: 1 + audience->n_namespaces. A view, or of `room`. */
udpai_str udpai_xds_wildcard_prefix(const udpai_xds_audience *audience,
                                    size_t index,
                                    char room[UDPAI_NAME_MAX]);

#endif
