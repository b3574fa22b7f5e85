/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that a node has when it has read its bootstrap file again: the file, with the
 * fields that take a restart as they were before (docs/design/reload.md). */
#ifndef UDPAI_CONFIG_MERGE_H
#define UDPAI_CONFIG_MERGE_H

#include "base/error.h"
#include "udpa/config/v1/bootstrap.pb-c.h"
#include "wire/arena.h"

/* Which fields are taken over is in the tables of fields.h. @p *ret_merged: in the arena, with
 * pointers into both. UDPA_ERR_NOMEM. */
udpa_err udpai_config_merge(const Udpa__Config__V1__Bootstrap *in_effect,
                            const Udpa__Config__V1__Bootstrap *read,
                            udpai_arena *arena,
                            Udpa__Config__V1__Bootstrap **ret_merged);

#endif
