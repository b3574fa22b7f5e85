/* SPDX-License-Identifier: Apache-2.0 */
#include "model/type_url.h"

bool
udpai_type_is_leaf(udpai_str type_url)
{
    static const char *const leaves[] = {
        "envoy.config.endpoint.v3.ClusterLoadAssignment",
        "envoy.extensions.transport_sockets.tls.v3.Secret",
        "envoy.service.runtime.v3.Runtime",
    };
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(leaves); i++)
        if (udpai_str_eq(name, udpai_str_from(leaves[i])))
            return true;
    return false;
}
