/* SPDX-License-Identifier: Apache-2.0 */
/* What resources configure: providers of single names (delegation.h) and ConfigSources
 * (dynamic_sources.h). */
#ifndef UDPAI_FEDERATION_DYNAMIC_H
#define UDPAI_FEDERATION_DYNAMIC_H

#include "federation/parts.h"

typedef struct udpai_dynamic udpai_dynamic;

/* From here on sources that are named and not configured may be there later, if resources become
 * sources. */
udpa_err udpai_dynamic_new(udpai_dynamic **ret_dynamic,
                           const udpai_parts *parts,
                           const udpai_node_config *config);
/* Begins to follow such resources. */
udpa_err udpai_dynamic_start(udpai_dynamic *dynamic);
/* Before the subscribers in the process, and the sources. NULL does nothing. */
void udpai_dynamic_free(udpai_dynamic *dynamic);
/* Makes up for those that there was no memory or no room for. True: there is more to evaluate. */
bool udpai_dynamic_catch_up(udpai_dynamic *dynamic);

#endif
