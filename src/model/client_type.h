/* SPDX-License-Identifier: Apache-2.0 */
/* Client resources: what data planes report, such as load and health. They are resources as any
 * other, but flow the other way: a subscriber is sent them by the peers that have dialled its node
 * (docs/design/client-resources.md). */
#ifndef UDPAI_CLIENT_TYPE_H
#define UDPAI_CLIENT_TYPE_H

#include "base/error.h"
#include "model/types.h"

bool udpai_type_is_client(udpai_str type_url);

/* The names of all, one after the other; NULL: there are no more. */
const char *udpai_client_type_at(size_t index);
#define UDPAI_CLIENT_TYPES_MAX 64

/* Further types that are, in place of those given before; for the whole process, before anything
 * else is made. Copies the names, of which only what is behind the last slash counts. */
udpa_err udpai_client_types_set(const udpai_str *type_urls, size_t n);

/* One with names that end with the id of the client that publishes it, also where that is a node.
 * Of the others a node publishes for another, a backend that it asks; what is no node may publish
 * them of itself alone. */
bool udpai_type_names_client(udpai_str type_url);

/* What a client publishes about a thing is named `<name of the thing>/<id of the client>`, the id
 * percent-encoded, so that it is one segment. UDPA_ERR_DENIED: the name is that of another client,
 * or of none. */
udpa_err udpai_client_name_check(udpai_str name, udpai_str client_id, udpa_error **ret_error);

#endif
