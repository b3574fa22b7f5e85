/* SPDX-License-Identifier: Apache-2.0 */
/* Who may publish what, as the rules of the node say. */
#ifndef UDPAI_FEDERATION_ACCESS_H
#define UDPAI_FEDERATION_ACCESS_H

#include "federation/node_internal.h"

udpa_err udpai_access_check_publication(udpai_node *node,
                                        const udpai_peer *peer,
                                        const udpa_resource *resource,
                                        udpa_error **ret_error);
/* Would it let in what is refreshed, if it is of this type? */
bool udpai_access_may_refresh(const udpai_node *node,
                              const udpai_peer *peer,
                              udpai_str type_url,
                              const udpa_resource *news);
/* The origin is this peer's, by its certificate (NULL: it has none). What there was of it since
 * before a restart is judged by that. */
void udpai_access_know(udpai_node *node, udpai_origin *origin, udpai_identity *identity);
/* The same for a source, which the peer is. */
void udpai_access_know_source(udpai_node *node, const udpai_peer *peer);

#endif
