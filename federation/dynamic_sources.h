/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources of the type udpa.config.v1.ConfigSource, for the files of this
 * folder. One that something here names is there as a source before its resource is, and after:
 * absent, it is one that cannot be reached. */
#ifndef UDPAI_DYNAMIC_SOURCES_H
#define UDPAI_DYNAMIC_SOURCES_H

#include "federation/sources.h"
#include "wire/arena.h"

#define UDPAI_DYNAMIC_SOURCE_TYPE "type.googleapis.com/udpa.config.v1.ConfigSource"

/* ---- dynamic_source_read.c ---- */

/* What one states. Texts are those of the message. */
typedef struct udpai_dynamic_source_reading {
    udpai_dynamic_source_config config;
    udpai_arena arena;
} udpai_dynamic_source_reading;

/* To be followed by udpai_dynamic_source_read_done() in any case. */
udpa_err udpai_dynamic_source_read(udpai_dynamic_source_reading *reading,
                                   const udpa_resource *resource,
                                   udpa_error **ret_error);
void udpai_dynamic_source_read_done(udpai_dynamic_source_reading *reading);
bool udpai_dynamic_source_is_name(udpai_str name);

#endif
