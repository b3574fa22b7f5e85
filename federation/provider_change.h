/* SPDX-License-Identifier: Apache-2.0 */
/* Other ConfigProviders in the place of those that are configured, while the node runs. What can
 * fail is done before anything changes; docs/design/reload.md has what follows. */
#ifndef UDPAI_PROVIDER_CHANGE_H
#define UDPAI_PROVIDER_CHANGE_H

#include "federation/provider.h"

typedef struct udpai_providers_next udpai_providers_next;

/* Makes those of the configuration; sources that it has are in the table already. To be ended by
 * one of the next two, with nothing done in between. UDPA_ERR_NOMEM, UDPA_ERR_INVAL. */
udpa_err udpai_providers_prepare(udpai_providers_next **ret_next,
                                 udpai_providers *providers,
                                 const udpai_node_config *config,
                                 udpa_error **ret_error);
/* They take the place of the others. A descriptor that both have goes on: nothing is asked again.
 * What came by one that only the others have is effective for interest_linger more, behind all
 * else, and then it goes. */
void udpai_providers_take(udpai_providers_next *next);
/* All is as before. NULL does nothing. */
void udpai_providers_leave(udpai_providers_next *next);
/* How many resources that clients have now would go then, unless another source brings them until
 * then that does not now. */
size_t udpai_providers_n_withdrawn(const udpai_providers_next *next);

/* Descriptors of which the time is over go, with what came by them. */
void udpai_providers_let_go(udpai_providers *providers);

#endif
