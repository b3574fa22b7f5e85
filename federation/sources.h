/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a node: look-up by name and by link, and what all parts may know of each. */
#ifndef UDPAI_SOURCES_H
#define UDPAI_SOURCES_H

#include "federation/parts.h"
#include "federation/peers.h"

typedef struct udpai_sources udpai_sources;
typedef struct udpai_demand udpai_demand;
typedef struct udpai_roots udpai_roots;
typedef struct udpai_named_table udpai_named_table;
typedef struct udpai_sync udpai_sync;

typedef enum udpai_awaited_by {
    UDPAI_AWAITED_BY_CONFIGURATION,
    UDPAI_AWAITED_BY_RESOURCE, /* of which any publisher may make many */
    UDPAI_AWAITED_BY_CONTENTS, /* that were kept over a restart */
} udpai_awaited_by;

/* Finds a source by its name, or makes one that may be there later. See udpai_sources_set_finder().
 */
typedef udpa_err (*udpai_source_finder)(void *userdata,
                                        udpai_str name,
                                        udpai_awaited_by by,
                                        const udpai_source **ret_source,
                                        udpa_error **ret_error);

/* It has the directories, and the names with a provider of their own. */
udpa_err udpai_sources_new(udpai_sources **ret_sources, const udpai_parts *parts);
/* With all of them. NULL does nothing. */
void udpai_sources_free(udpai_sources *sources);
/* Finds sources that are not in the table; one, once. */
void udpai_sources_set_finder(udpai_sources *sources, udpai_source_finder find, void *userdata);
/* Makes one that is of no group of clients. */
udpa_err udpai_sources_add(udpai_sources *sources,
                           const udpai_source_config *config,
                           bool serves_us,
                           udpa_error **ret_error);
/* Makes an endpoint that this node serves by dialling it, at any time; until udpai_source_end(). */
udpa_err udpai_sources_add_link(udpai_sources *sources,
                                const udpai_source_config *config,
                                uint64_t *ret_link,
                                udpa_error **ret_error);

/* *ret_source: NULL, if there is none and can be none. */
udpa_err udpai_sources_find(udpai_sources *sources,
                            udpai_str name,
                            udpai_awaited_by by,
                            const udpai_source **ret_source,
                            udpa_error **ret_error);

/* Another process has them: none is dialled, and streams to them end, which is no failure. Or they
 * are dialled again. */
void udpai_sources_set_silent(udpai_sources *sources, bool is_silent);

/* ---- source_table.c ---- */

/* NULL: there is none. */
udpai_source *udpai_sources_get(const udpai_sources *sources, udpai_str name);
udpai_source *udpai_sources_at(const udpai_sources *sources, uint64_t link);
/* The source of the contributions of this origin; NULL: it is no source's. */
udpai_source *udpai_sources_of_origin(const udpai_sources *sources, const udpai_origin *origin);
/* How many have names, without those of client groups. */
size_t udpai_sources_size(const udpai_sources *sources);
/* Each of those, from *at = 0 on; NULL behind the last. */
udpai_source *udpai_sources_next(const udpai_sources *sources, size_t *at);
/* Each of all, with those of client groups. */
udpai_source *udpai_sources_next_link(const udpai_sources *sources, size_t *at);
/* Each that is of no client group, in the order of the configuration; NULL: the first. */
udpai_source *udpai_sources_next_own(const udpai_sources *sources, const udpai_source *source);

udpai_roots *udpai_sources_directories(const udpai_sources *sources);
udpai_named_table *udpai_sources_named_table(const udpai_sources *sources);

#endif
