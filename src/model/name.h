/* SPDX-License-Identifier: Apache-2.0 */
/* Resource names, namespaces, prefixes and aliases; the rules are those of docs/design/names.md. */

/* A name is "<namespace>/<id>"; the first '/' divides; the namespace is labels [a-z0-9-] with dots.
 *
 * A prefix is empty, a namespace, or a namespace and the beginning of an id; it covers what follows
 * it at a label border ('.', in the namespace) or a path border ('/'): com.acme covers com.acme/x
 * and com.acme.foo/x, never com.acmecorp/x.
 *
 * An alias is a name; right after a '/' it may have a '*', which matches one or more characters
 * other than '/'. */
#ifndef UDPAI_NAME_H
#define UDPAI_NAME_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_NAME_MAX 1024 /* as UDPA_NAME_MAX */

/* Where each node speaks of itself alone. */
#define UDPAI_NODE_NAMESPACE "udpa.node"

/* Is it a full name? Reports why not. */
udpa_err udpai_name_check(udpai_str name, udpa_error **ret_error);
/* Is it a prefix, such as a Subscribe's namespace? Empty is one. */
udpa_err udpai_prefix_check(udpai_str prefix, udpa_error **ret_error);
/* The part before the first '/'; the whole text if there is none. */
udpai_str udpai_name_namespace(udpai_str name);
/* The part after the first '/'; empty if there is none. */
udpai_str udpai_name_id(udpai_str name);
/* Of what somebody has written down: is it a full name, and not an id in the default namespace?
 * What it begins with is that, or looks like a namespace, which has a dot. */
bool udpai_name_is_full(udpai_str written, udpai_str default_namespace);
/* Is it "" or "*", a subscription's word for "all"? */
bool udpai_name_is_wildcard(udpai_str name);

/* Does the prefix cover the name, or the other prefix? */
bool udpai_prefix_covers(udpai_str prefix, udpai_str name_or_prefix);

/* Every prefix that covers a name, shortest (the empty one) first:
 * `size_t at = 0; udpai_str prefix; while (udpai_name_next_prefix(name, &at, &prefix))`. */
bool udpai_name_next_prefix(udpai_str name, size_t *position, udpai_str *ret_prefix);

/* Sorts prefixes and drops those that others cover; returns how many are left. */
size_t udpai_prefix_minimal_cover(udpai_str *prefixes, size_t n);

/* Is it a name that an alias may have in the namespace of its resource? */
udpa_err udpai_alias_check(udpai_str alias, udpai_str resource_name, udpa_error **ret_error);
bool udpai_alias_is_pattern(udpai_str alias);
/* Does an alias that is a pattern match a name? */
bool udpai_alias_matches(udpai_str pattern, udpai_str name);

#endif
