/* SPDX-License-Identifier: Apache-2.0 */
/* Every name of another resource in a payload, and every regular expression. */
#ifndef UDPAI_REFERENCE_WALK_HH
#define UDPAI_REFERENCE_WALK_HH

#include <functional>

#include "codec/world.hh"

namespace udpai
{

/* What is named: @p type is the full name of a resource's type, @p word what people call it. */
struct ReferenceKind {
    const char *type, *word;
};

extern const ReferenceKind kClusterReference, kEndpointReference, kRouteReference, kSecretReference,
    kRegexReference; /* of the last the type is NULL */

using OnReference = std::function<void(
    const ReferenceKind &kind, const std::string &path, const std::string &text)>;

/* False: it cannot be parsed. */
bool walk_references(const udpai_schema *schema,
                     const pb::Descriptor *type,
                     udpai_str value,
                     const OnReference &visit);

/* The name that a payload has: its field `name` or `cluster_name`; "" if it has none. */
std::string payload_name(const udpai_schema *schema, const pb::Descriptor *type, udpai_str value);

} /* namespace udpai */

#endif
