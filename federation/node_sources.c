/* SPDX-License-Identifier: Apache-2.0 */
/* Configured sources that change while the node runs, and are left to another process. */
#include "federation/node_internal.h"
#include "federation/source_dynamic.h"
#include "federation/sources.h"

udpa_err
udpai_node_move_source(udpai_node *node, udpai_str name, udpai_str address, void *target)
{
    udpai_source_version version = {.kind = UDPAI_SOURCE_UDPA};
    udpai_source *source = udpai_sources_get(node->parts.sources, name);
    if (!source || udpai_source_dynamic(source) ||
        udpai_source_kind_of(source) != UDPAI_SOURCE_UDPA)
        return UDPA_ERR_INVAL;
    udpa_err err = udpa_bytes_new(&version.address, address.data, address.len);
    if (err != UDPA_OK)
        return err;
    udpai_source_set_version(source, &version);
    udpai_source_move(source, udpai_source_hold_target(source, target), false);
    udpai_context_touch(&node->context);
    return UDPA_OK;
}

void
udpai_node_set_silent(udpai_node *node, bool is_silent)
{
    udpai_sources_set_silent(node->parts.sources, is_silent);
    udpai_context_touch(&node->context);
}
