/* SPDX-License-Identifier: Apache-2.0 */
/* A source that is configured otherwise while the node runs. What can fail is done before anything
 * changes. */
#ifndef UDPAI_FEDERATION_SOURCE_CHANGE_H
#define UDPAI_FEDERATION_SOURCE_CHANGE_H

#include "federation/source.h"

typedef struct udpai_source_change udpai_source_change;

/* The source is to be what @p config has. UDPA_ERR_NOMEM, UDPA_ERR_INVAL. */
udpa_err udpai_source_change_new(udpai_source_change **ret_change,
                                 udpai_source *source,
                                 const udpai_source_config *config,
                                 udpa_error **ret_error);
/* It is: what it has brought stays. With the kind, peer and target that it had its stream goes on;
 * else it ends, and another one begins, which is no failure of the source. Frees the change. */
void udpai_source_change_apply(udpai_source_change *change);
/* Is it another target? */
bool udpai_source_change_moves(const udpai_source_change *change);
/* Nothing changes. NULL does nothing. */
void udpai_source_change_free(udpai_source_change *change);

#endif
