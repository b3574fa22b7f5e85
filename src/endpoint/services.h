/* SPDX-License-Identifier: Apache-2.0 */
/* The services of an endpoint, each in its place. This is the one order there is: reports, events
 * and turns go from the first to the last, and they are freed from the last to the first. */
#ifndef UDPAI_ENDPOINT_SERVICES_H
#define UDPAI_ENDPOINT_SERVICES_H

#include "endpoint/service.h"

typedef enum udpai_service_place {
    UDPAI_PLACE_INSPECTION, /* before the others: it holds publications back from all of them */
    /* By the numbers of their links, higher ones first: what has none sees only other reports. */
    UDPAI_PLACE_LOAD_UPSTREAMS,
    UDPAI_PLACE_ORCA_COLLECTOR,
    UDPAI_PLACE_CLIENT_REGISTRY,
    UDPAI_PLACE_LOCAL_ACKS, /* has notes of subscriptions */
    UDPAI_PLACE_STATUS,
    UDPAI_PLACE_ACKNOWLEDGEMENTS,
    UDPAI_PLACE_ACCESS,
    UDPAI_PLACE_ORIGINS,
    UDPAI_PLACE_CHECK_PLANNER,
    UDPAI_PLACE_SPREAD,
    UDPAI_PLACE_PROPAGATION,
    UDPAI_PLACE_LOAD_RULES,
    UDPAI_PLACE_LOAD_AGGREGATES,
    UDPAI_PLACE_ORCA_BOARD,
    /* Subscriptions that were ended receive nothing in this turn; what watchers of demand publish
     * is sent in it. */
    UDPAI_PLACE_SUBSCRIPTIONS,
    UDPAI_PLACE_OWN_REPORTS,
    UDPAI_PLACE_LOCAL_DEMAND,
    UDPAI_PLACE_PUBLICATIONS,
    /* These watch demand, and report. */
    UDPAI_PLACE_LOAD_REPORTING,
    UDPAI_PLACE_RESOURCE_STATES,
    UDPAI_PLACES,
} udpai_service_place;

/* Zeroes: there is none. */
typedef struct udpai_services {
    udpai_service *at[UDPAI_PLACES];
} udpai_services;

/* The services in this place and behind it: true if one has taken the report. */
bool udpai_services_report(const udpai_services *services,
                           udpai_service_place first,
                           udpai_report *report);
void udpai_services_notify(const udpai_services *services, const udpai_service_event *event);
void udpai_services_run(const udpai_services *services);
bool udpai_services_flush(const udpai_services *services);
bool udpai_services_are_busy(const udpai_services *services);
void udpai_services_end(const udpai_services *services);
void udpai_services_free(udpai_services *services);

#endif
