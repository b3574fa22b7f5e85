/* SPDX-License-Identifier: Apache-2.0 */
/* Do the names in a set of resources lead to resources of that set? Routes and other users name
 * clusters, EDS clusters their endpoints, listeners and scopes their routes, contexts of TLS their
 * secrets. And do regular expressions compile, in the dialect of Envoy (RE2)? A client takes such a
 * error, and fails when a request comes (docs/guide/validation.md).
 *
 * Fields are found by the descriptors, in whatever is packed at whatever depth; what is named from
 * a file (path_config_source) or by xdstp is not looked for. Pure computation; one thread at a
 * time. */
#ifndef UDPAI_REFERENCES_H
#define UDPAI_REFERENCES_H

#include "codec/validate.h"

UDPA_BEGIN_DECLS

/* A set of resources, by the names under which others may name them. */
typedef struct udpai_references udpai_references;

/* Takes a reference to the schema, to which nothing may be added any more. */
udpa_err
udpai_references_new(udpai_references **ret_set, udpai_schema *schema, udpa_error **ret_error);
void udpai_references_free(udpai_references *set);

/* A resource, all borrowed. */
typedef struct udpai_referrer {
    udpai_str type_url;
    udpai_str name; /* in full */
    udpai_str value_type, value;
} udpai_referrer;

/* The resource is in the set, under its name and the name that its payload has. */
udpa_err udpai_references_add(udpai_references *set, const udpai_referrer *resource);
/* So is this name: an alias, or what clients have from elsewhere; empty: all of the type. */
udpa_err udpai_references_know(udpai_references *set, udpai_str type_url, udpai_str name);

/* UDPA_OK; UDPA_ERR_INVAL after @p report was called for each name that leads nowhere and each
 * expression that does not compile, at most UDPAI_VIOLATIONS_MAX times. A payload that cannot be
 * parsed, or of an unknown type, has none: that is for udpai_validate(). */
udpa_err udpai_references_check(const udpai_references *set,
                                const udpai_referrer *resource,
                                udpai_violation_fn report,
                                void *userdata);

UDPA_END_DECLS

#endif
