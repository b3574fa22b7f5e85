/* SPDX-License-Identifier: Apache-2.0 */
/* Types beside each other on one stream, and the order that loses no traffic. */
#include "tools/conform/cases.h"

static void
many_types(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    for (size_t kind = 0; kind < UDPAI_KINDS; kind++) {
        if (script->stage->world.is_missing[kind] ||
            udpai_kind_is((udpai_kind)kind, UDPAI_DELTA_ONLY | UDPAI_NAMED_BY_URL))
            continue;
        udpai_subscribe(session, (udpai_kind)kind, UDPAI_A);
        udpai_expect(session, (udpai_kind)kind, UDPAI_A);
    }
}

/* All requests are sent before anything is received. */
static void
many_types_at_once(udpai_script *script)
{
    static const udpai_kind order[] = {UDPAI_ROUTES, UDPAI_LISTENER, UDPAI_ENDPOINTS,
                                       UDPAI_CLUSTER};
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(order); i++)
        udpai_subscribe(session, order[i], UDPAI_A);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(order); i++)
        udpai_expect(session, order[i], UDPAI_A);
}

static void
types_change_alone(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_subscribe(session, UDPAI_LISTENER, UDPAI_A);
    udpai_expect(session, UDPAI_LISTENER, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, UDPAI_CLUSTER, "a");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_expect_nothing_of(session, UDPAI_LISTENER, UDPAI_A);
}

/* Envoy acknowledges clusters only when it has their endpoints. */
static void
endpoints_before_ack(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    udpai_behave(session, UDPAI_CLUSTER, UDPAI_IGNORES);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_NO_NAMES);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_subscribe(session, UDPAI_ENDPOINTS, UDPAI_A);
    udpai_expect(session, UDPAI_ENDPOINTS, UDPAI_A);
}

static void
endpoints_come_again(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_subscribe(session, UDPAI_ENDPOINTS, UDPAI_A);
    udpai_expect(session, UDPAI_ENDPOINTS, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, UDPAI_CLUSTER, "a");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_expect(session, UDPAI_ENDPOINTS, UDPAI_A);
}

/* ---- make before break ---- */

static const udpai_kind make_order[] = {UDPAI_CLUSTER, UDPAI_ENDPOINTS, UDPAI_LISTENER,
                                        UDPAI_ROUTES};

static udpai_test_session *
begin_with_four(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(make_order); i++) {
        udpai_kind kind = make_order[i];
        bool is_whole = kind == UDPAI_CLUSTER || kind == UDPAI_LISTENER;
        udpai_subscribe(session, kind, is_whole ? UDPAI_NO_NAMES : UDPAI_A_B);
        udpai_expect(session, kind, UDPAI_A_B);
    }
    udpai_wait_until_quiet(session);
    return session;
}

/* The number of the response that had this first since the last deed. */
static size_t
first_response_with(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const char *full = udpai_world_name(&session->script->stage->world, kind, name);
    for (size_t i = session->mark; full && i < session->updates.n; i++)
        if (session->updates.items[i].kind == kind &&
            strcmp(session->updates.items[i].name, full) == 0)
            return session->updates.items[i].response;
    return SIZE_MAX;
}

static void
require_order(udpai_test_session *session, udpai_kind first, udpai_kind second)
{
    if (!session || !udpai_is_running(session->script))
        return;
    udpai_require(session->script,
                  first_response_with(session, first, "a") <
                      first_response_with(session, second, "a"),
                  "all types changed at once, and the %s arrived before the %s",
                  udpai_kind_word(second), udpai_kind_word(first));
}

static void
additions_in_order(udpai_script *script)
{
    udpai_test_session *session = begin_with_four(script);
    if (!udpai_is_running(script))
        return;
    for (size_t i = UDPAI_ARRAY_LEN(make_order); i-- > 0;)
        udpai_world_set(&script->stage->world, make_order[i], "a", NULL);
    udpai_commit(script);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(make_order); i++)
        udpai_expect(session, make_order[i], UDPAI_A);
    for (size_t i = 0; i + 1 < UDPAI_ARRAY_LEN(make_order); i++)
        require_order(session, make_order[i], make_order[i + 1]);
}

/* In SotW the first response with clusters that has it no more; in delta the one with the removal.
 */
static size_t
response_of_removal(const udpai_test_session *session)
{
    const udpai_response *last = udpai_last_response(session, UDPAI_CLUSTER);
    if (session->is_delta)
        return first_response_with(session, UDPAI_CLUSTER, "b");
    return last ? (size_t)(last - session->responses.items) : SIZE_MAX;
}

static void
removals_last(udpai_script *script)
{
    udpai_test_session *session = begin_with_four(script);
    if (!udpai_is_running(script))
        return;
    udpai_world_remove(&script->stage->world, UDPAI_CLUSTER, "b");
    udpai_world_set(&script->stage->world, UDPAI_ROUTES, "a", NULL);
    udpai_commit(script);
    udpai_expect(session, UDPAI_ROUTES, UDPAI_A);
    udpai_expect_removed(session, UDPAI_CLUSTER, "b");
    udpai_require(script,
                  !udpai_is_running(script) || first_response_with(session, UDPAI_ROUTES, "a") <
                                                   response_of_removal(session),
                  "the cluster was removed before the routes without it arrived");
}

static void
replacement_first(udpai_script *script)
{
    udpai_test_session *session = begin_with_four(script);
    if (!udpai_is_running(script))
        return;
    udpai_world_remove(&script->stage->world, UDPAI_CLUSTER, "b");
    udpai_world_set(&script->stage->world, UDPAI_ROUTES, "a", NULL);
    udpai_world_set(&script->stage->world, UDPAI_CLUSTER, "new", NULL);
    udpai_commit(script);
    udpai_expect(session, UDPAI_ROUTES, UDPAI_A);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_NAMES("new"));
    udpai_require(script,
                  !udpai_is_running(script) || first_response_with(session, UDPAI_CLUSTER, "new") <
                                                   first_response_with(session, UDPAI_ROUTES, "a"),
                  "the routes arrived before the cluster that they lead to");
    udpai_expect_removed(session, UDPAI_CLUSTER, "b");
}

#define RULE_ADS                                                                                   \
    "Types of one aggregated stream are independent sequences of requests and responses."
#define RULE_MAKE "Changes are make before break: clusters, their endpoints, listeners, routes."

#define ORDER(label, about, text, how, needs_of_it, function)                                      \
    {                                                                                              \
        .group = "order", .name = (label), .section = (about), .rule = (text), .level = (how),     \
        .ways = UDPAI_AGGREGATED, .needs = (needs_of_it), .kind = UDPAI_CLUSTER, .run = (function) \
    }

static const udpai_case cases[] = {
    ORDER("many-types", UDPAI_SECTION_ADS, RULE_ADS, UDPAI_MUST, 0, many_types),
    ORDER("many-types-at-once", UDPAI_SECTION_ADS, RULE_ADS, UDPAI_MUST, 0, many_types_at_once),
    ORDER(
        "types-change-alone",
        UDPAI_SECTION_UPDATE,
        "A change of one type does not cause a response with unchanged resources of another type.",
        UDPAI_SHOULD,
        UDPAI_NEEDS_CHANGES,
        types_change_alone),
    ORDER("endpoints-before-cluster-ack",
          UDPAI_SECTION_WARMING,
          "A client uses a cluster only with its endpoints: the server sends them before the "
          "clusters are acknowledged.",
          UDPAI_MUST,
          0,
          endpoints_before_ack),
    ORDER("endpoints-again-behind-cluster",
          UDPAI_SECTION_WARMING,
          "A changed cluster waits for a new response with its endpoints, even if they have not "
          "changed.",
          UDPAI_SHOULD,
          UDPAI_NEEDS_CHANGES,
          endpoints_come_again),
    ORDER("additions-in-order",
          UDPAI_SECTION_ORDER,
          RULE_MAKE,
          UDPAI_SHOULD,
          UDPAI_NEEDS_CHANGES | UDPAI_CAN_ATOMIC,
          additions_in_order),
    ORDER("removals-last",
          UDPAI_SECTION_ORDER,
          "The server removes unreferenced resources last.",
          UDPAI_SHOULD,
          UDPAI_NEEDS_CHANGES | UDPAI_CAN_ATOMIC,
          removals_last),
    ORDER("replacement-first",
          UDPAI_SECTION_ORDER,
          RULE_MAKE,
          UDPAI_SHOULD,
          UDPAI_NEEDS_CHANGES | UDPAI_CAN_ATOMIC,
          replacement_first),
};

const udpai_cases udpai_cases_order = {cases, UDPAI_ARRAY_LEN(cases)};
