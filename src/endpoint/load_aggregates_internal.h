/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of aggregates of load, for load_aggregates.c, which has the aggregates, and
 * load_areas.c, which knows the demand for them. */
#ifndef UDPAI_LOAD_AGGREGATES_INTERNAL_H
#define UDPAI_LOAD_AGGREGATES_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "endpoint/load_aggregates.h"
#include "endpoint/load_state.h"
#include "reports/load_stats_kept.h"
#include "reports/load_stats_split.h"
#include "wire/arena.h"

typedef struct udpai_load_aggregates {
    udpai_service service;
    udpai_load_aggregates_options options;
    udpa_bytes *node_id;
    udpai_map areas;      /* by prefix */
    udpai_map aggregates; /* by cluster */
    udpai_load_stats_kept kept;
    udpai_load_state *state;   /* NULL: nothing is kept over a restart */
    bool is_ending;            /* nothing waits any more */
    uint64_t earlier_until_ms; /* earlier aggregates without a subscription by then are over; 0:
                                  none is */
    udpai_timer timer;
    uint64_t timer_for_ms; /* 0: it does not run */
    uint64_t ended_ms;     /* when the last aggregate has; 0: none has */
    int64_t ahead_us;      /* of the clock that is never set, the most that the other one was */
    uint64_t began_ms;     /* all aggregates of this life are later */
    udpai_arena arena;
    udpai_log_limit refused_log;
} udpai_load_aggregates;

/* ---- load_aggregates.c ---- */

bool udpai_load_aggregates_is_own(const udpai_load_aggregates *aggregates, udpai_str id);
/* What clients or nodes report. */
void udpai_load_aggregates_take(udpai_load_aggregates *aggregates,
                                udpai_local_update *update,
                                udpai_load_stats_kind kind);
/* A subscription below a prefix: aggregates that sleep, and those of before a restart, go on. */
void udpai_load_aggregates_wake(udpai_load_aggregates *aggregates, udpai_str prefix);
/* What has no subscription sleeps. */
void udpai_load_aggregates_rest(udpai_load_aggregates *aggregates);

/* ---- load_areas.c ---- */

void udpai_load_areas_init(udpai_load_aggregates *aggregates);
void udpai_load_areas_free(udpai_load_aggregates *aggregates);
/* The first subscription, or the end of the last; see udpai_node_env. */
void udpai_load_areas_note(udpai_load_aggregates *aggregates,
                           udpai_str type_url,
                           udpai_str text,
                           bool subscribed);
/* Has the aggregate of this cluster a subscription? */
bool udpai_load_areas_have_demand(const udpai_load_aggregates *aggregates, udpai_str cluster);

#endif
