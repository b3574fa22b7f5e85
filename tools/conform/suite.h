/* SPDX-License-Identifier: Apache-2.0 */
/* The cases, and running them against a server. */
#ifndef UDPAI_CONFORM_SUITE_H
#define UDPAI_CONFORM_SUITE_H

#include "tools/conform/script.h"

typedef enum udpai_level {
    UDPAI_MUST,
    UDPAI_SHOULD,
} udpai_level;

/* Ways a case is run. */
enum {
    UDPAI_SOTW_AGGREGATED = 1,
    UDPAI_SOTW_PER_TYPE = 2,
    UDPAI_DELTA_AGGREGATED = 4,
    UDPAI_DELTA_PER_TYPE = 8,
    UDPAI_SOTW = UDPAI_SOTW_AGGREGATED | UDPAI_SOTW_PER_TYPE,
    UDPAI_DELTA = UDPAI_DELTA_AGGREGATED | UDPAI_DELTA_PER_TYPE,
    UDPAI_AGGREGATED = UDPAI_SOTW_AGGREGATED | UDPAI_DELTA_AGGREGATED,
    UDPAI_PER_TYPE = UDPAI_SOTW_PER_TYPE | UDPAI_DELTA_PER_TYPE,
    UDPAI_ALL_WAYS = UDPAI_SOTW | UDPAI_DELTA,
    UDPAI_ONCE = 16, /* no way: the case opens what it needs itself */
};

/* What a case needs besides the server: changes, and abilities of a changer, UDPAI_CAN_…. Without
 * NEEDS_CHANGES an ability counts only if there is a changer. */
enum {
    UDPAI_NEEDS_CHANGES = 8,
};

typedef struct udpai_case {
    const char *group; /* NULL: sotw or delta, by the way that it is run */
    const char *name;
    const char *section; /* of the protocol's text */
    const char *rule;    /* the rule, in our words */
    udpai_level level;
    unsigned ways, needs;
    udpai_kind kind;
    void (*run)(udpai_script *script);
} udpai_case;

typedef struct udpai_cases {
    const udpai_case *items;
    size_t n;
} udpai_cases;

extern const udpai_cases udpai_cases_subscribe, udpai_cases_change, udpai_cases_answer,
    udpai_cases_stream, udpai_cases_sotw, udpai_cases_delta, udpai_cases_order,
    udpai_cases_envelope, udpai_cases_fetch, udpai_cases_types, udpai_cases_alias,
    udpai_cases_demand, udpai_cases_hosts, udpai_cases_urls, udpai_cases_collections,
    udpai_cases_errors, udpai_cases_rest;

/* What came of a case that was run in one way. */
typedef struct udpai_result {
    const udpai_case *that;
    char name[96]; /* "sotw/aggregated/initial-wildcard" */
    udpai_verdict verdict;
    char *why, *transcript; /* NULL: none */
    uint64_t took_ms;
} udpai_result;

typedef UDPAI_VECTOR(udpai_result) udpai_results;

typedef struct udpai_suite {
    udpai_stage stage;
    /* Is this one run? NULL: all are. */
    bool (*is_selected)(void *userdata, const char *name);
    /* Called with each result as a case ends; may be NULL. */
    void (*report_one)(void *userdata, const udpai_result *result);
    void *userdata;
    /* Cases that would begin later than this are skipped; 0: there is no limit. */
    uint64_t limit_ms;
    uint64_t begin_ms;    /* of the run */
    size_t n_out_of_time; /* of the results */
    udpai_results results;
} udpai_suite;

/* Calls back with each case and the way it is run in (one bit), in order. */
void udpai_suite_visit(void (*visit)(void *userdata, const udpai_case *that, unsigned way),
                       void *userdata);
/* The name of a case that is run in this way. */
void udpai_case_name(const udpai_case *that, unsigned way, char *room, size_t size);

/* The stage is filled in: the peer, the node id, times, and the world with its changer. */
void udpai_suite_init(udpai_suite *suite);
/* Publishes resources, if there is a changer; learns names, if there is none. Fails with a text for
 * the user. */
udpa_err udpai_suite_begin(udpai_suite *suite, udpa_error **ret_error);
void udpai_suite_run(udpai_suite *suite);
/* How many cases that will have results. */
size_t udpai_suite_n_cases(const udpai_suite *suite);
/* Removes what was published. */
void udpai_suite_end(udpai_suite *suite);
void udpai_suite_done(udpai_suite *suite);

/* Did it do what it must: all of it, or, strictly, what it should as well? */
bool udpai_result_is_good(const udpai_result *result, bool is_strict);

#endif
