/* SPDX-License-Identifier: Apache-2.0 */
#include "model/removal.h"

udpa_err
udpai_removal_make(udpa_resource **ret_removal,
                   udpai_str type_url,
                   const udpai_resource_parts *parts)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(type_url, (udpai_str){0});
    if (!any)
        return UDPA_ERR_NOMEM;
    const udpai_resource_parts removal = {
        .name = parts->name,
        .authority = parts->authority,
        .any = any,
        .type = parts->type,
        .generation = parts->generation,
        .signature = parts->signature,
        .hops = parts->hops,
        .n_hops = parts->n_hops ? 1 : 0,
    };
    return udpai_resource_make(ret_removal, &removal);
}

udpa_resource *
udpai_removal_of(const udpa_resource *resource, uint64_t generation)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *removal = NULL;
    parts.generation = generation;
    if (udpai_removal_make(&removal, udpai_resource_type_url(resource), &parts) != UDPA_OK)
        return NULL;
    return removal;
}
