/* SPDX-License-Identifier: Apache-2.0 */
/* What resources configure: providers of single names (delegation.h) and ConfigSources
 * (dynamic_sources.h). */
#ifndef UDPAI_FEDERATION_DYNAMIC_H
#define UDPAI_FEDERATION_DYNAMIC_H

#include "federation/sources.h"

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

/* ---- configured sources that come and go while the node runs ---- */

typedef struct udpai_dynamic_leaving udpai_dynamic_leaving;

/* What is needed for a configured source to be so no more; NULL without memory. */
udpai_dynamic_leaving *udpai_dynamic_leaving_new(udpai_dynamic *dynamic, udpai_source *source);
/* It is as one whose resource was removed: absent, and what came by it goes after interest_linger.
 * Frees what was needed. */
void udpai_dynamic_leaving_apply(udpai_dynamic_leaving *leaving);
/* It stays. NULL does nothing. */
void udpai_dynamic_leaving_free(udpai_dynamic_leaving *leaving);
/* May sources that are named and not configured come by resources? */
bool udpai_dynamic_has_sources(const udpai_dynamic *dynamic);
/* It is configured from now on, also if it came by a resource. */
void udpai_dynamic_configure(udpai_dynamic *dynamic, udpai_source *source);
/* Providers of the configuration are these now, which may name some that are not there. */
void udpai_dynamic_take_providers(udpai_dynamic *dynamic, const udpai_node_config *config);

#endif
