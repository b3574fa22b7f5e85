/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a source that comes by a resource: awaited, there, and absent again. For
 * dynamic_source.c, which decides when. */
#ifndef UDPAI_FEDERATION_SOURCE_DYNAMIC_H
#define UDPAI_FEDERATION_SOURCE_DYNAMIC_H

#include "federation/scope.h"

typedef struct udpai_dynamic_source udpai_dynamic_source;

/* What a version of the resource states of it. */
typedef struct udpai_source_version {
    udpai_source_kind kind;
    udpa_bytes *by; /* the name of the resource */
    udpa_bytes *address;
} udpai_source_version;

/* NULL: it is configured. */
udpai_dynamic_source *udpai_source_dynamic(const udpai_source *source);
/* It is to come by a resource, and is absent until then; NULL: it ends, or is configured now. */
void udpai_source_set_dynamic(udpai_source *source, udpai_dynamic_source *dynamic);
/* Is there no such resource? */
bool udpai_source_is_absent(const udpai_source *source);
/* The name of the resource that it comes by; empty: none. */
udpai_str udpai_source_by(const udpai_source *source);
udpai_source_kind udpai_source_kind_of(const udpai_source *source);

/* Takes the references. To be followed by one of the next two. */
void udpai_source_set_version(udpai_source *source, udpai_source_version *version);
/* It is there, as a source that comes back is: its standby goes on until it is complete. Takes the
 * reference. */
void udpai_source_appear(udpai_source *source, void *target);
/* Another reference, as its configuration takes them. */
void *udpai_source_hold_target(const udpai_source *source, void *target);
/* It was there, and has another target; the target's reference is taken. After a pause if it
 * changes too often (is_quick), as one that fails. */
void udpai_source_move(udpai_source *source, void *target, bool is_quick);
/* The resource was removed: as if its stream were lost, and it is not dialled again. False: without
 * memory nothing has changed. */
bool udpai_source_leave(udpai_source *source);
/* It was configured, and is not any more: the same, by an order to hang up, which it takes. */
void udpai_source_leave_configuration(udpai_source *source, udpai_order *hang_up);
/* What came by it is withdrawn, and nothing is waited for. */
void udpai_source_make_void(udpai_source *source);
/* Of a group of clients: its template is reached otherwise, and so is this one, which was made
 * after it, for this client (NULL: it is not known). False: without memory. */
bool udpai_source_follow_template(udpai_source *source,
                                  udpai_str name_space,
                                  const udpai_node_info *client);

#endif
