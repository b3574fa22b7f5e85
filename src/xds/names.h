/* SPDX-License-Identifier: Apache-2.0 */
/* Names as xDS clients spell them, and as UDPA knows them.
 *
 * A client's name is a full one only if it lies below one of the namespaces that clients are shown;
 * any other, whatever slashes it has, is an id in the default namespace. Back again, a name loses
 * the default namespace. What would not come back as the same name cannot be named by clients, and
 * is not shown to them. */
#ifndef UDPAI_XDS_NAMES_H
#define UDPAI_XDS_NAMES_H

#include "model/name.h"
#include "xds/audience.h"

#define UDPAI_XDS_WILDCARD UDPAI_STR("*")

/* The full name that a client's name stands for, a view of it or of `room`; false: it cannot be the
 * name of anything (empty, or too long). The wildcard is no name. */
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
