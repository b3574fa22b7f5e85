/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody at a node who wants to know what clients report. */
#ifndef UDPAI_TESTS_LISTENER_H
#define UDPAI_TESTS_LISTENER_H

#include <udpa/report.h>

#include "pair.h"

#define TEST_HEALTH "type.googleapis.com/udpa.health.v1.EndpointHealth"
#define TEST_STATE "type.googleapis.com/udpa.status.v1.ResourceState"
#define TEST_LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"

/* What was told last, and how often. */
typedef struct test_listener {
    udpa_subscription *subscription;
    unsigned n_reports, n_removals;
    char name[256];
    udpa_bytes *payload;
    uint64_t ttl_ms;
} test_listener;

/* Wants all below the namespace, or one name. */
void listener_open(test_listener *listener,
                   udpa_endpoint *endpoint,
                   const char *type_url,
                   const char *name_space,
                   const char *name);
/* As characters. */
udpai_str listener_payload(const test_listener *listener);
void listener_done(test_listener *listener);

/* A watch of what is wanted. */
typedef struct test_watch {
    udpa_demand_watch *watch;
    unsigned n_wanted, n_unwanted;
    char type_url[256];
    char text[256];                         /* a name, or '*' and a namespace */
    void (*also)(struct test_watch *watch); /* in its callback; NULL: nothing */
    test_pair *pair;
} test_watch;

void watch_open(test_watch *watch, test_pair *pair);

#endif
