/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters on demand: names that are asked for beside a wildcard, one by one, as an Envoy does when
 * a request needs a cluster that it does not have; and resources that no wildcard has. */
#include "tools/conform/cases.h"

/* A client that has all, and asks for this, too. */
static udpai_test_session *
demand(udpai_script *script, udpai_names names)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = names});
    return session;
}

static void
missing_is_reported(udpai_script *script)
{
    udpai_expect_removed(demand(script, UDPAI_NAMES("nobody")), script->kind, "nobody");
}

static void
missing_is_reported_again(udpai_script *script)
{
    udpai_test_session *session = demand(script, UDPAI_NAMES("nobody"));
    udpai_expect_removed(session, script->kind, "nobody");
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_NAMES("nobody")});
    udpai_expect_removed(session, script->kind, "nobody");
}

static void
missing_appears(udpai_script *script)
{
    udpai_test_session *session = demand(script, UDPAI_NAMES("new"));
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "new");
    udpai_expect(session, script->kind, UDPAI_NAMES("new"));
}

static void
second_is_sent(udpai_script *script)
{
    udpai_test_session *session = demand(script, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_B});
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
spares_the_rest(udpai_script *script)
{
    udpai_expect_nothing_of(demand(script, UDPAI_A), script->kind, UDPAI_B);
}

/* ---- what no wildcard has ---- */

static const udpai_world_extra lazy = {.is_lazy = true};
#define UDPAI_LAZY UDPAI_NAMES("lazy")

/* A client with a wildcard that asks for it by name, too, and has it. */
static udpai_test_session *
begin_with_lazy(udpai_script *script)
{
    udpai_set_as(script, script->kind, "lazy", &lazy);
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_STAR);
    udpai_wait_until_quiet(session);
    if (udpai_last_of(session, script->kind, "lazy"))
        udpai_skip_script(script, "the server gives by wildcard what was to be given by name only");
    if (script->is_delta)
        udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_LAZY});
    else
        udpai_subscribe(session, script->kind, UDPAI_NAMES("*", "lazy"));
    udpai_expect(session, script->kind, UDPAI_LAZY);
    return session;
}

static void
lazy_comes_by_name(udpai_script *script)
{
    udpai_test_session *session = begin_with_lazy(script);
    udpai_require(script,
                  !udpai_is_running(script) || script->is_delta ||
                      udpai_count_in_last(session, script->kind, "a") >= 1,
                  "the response has what was requested by name, and lacks what the wildcard has: "
                  "the client takes that for removed");
}

static void
lazy_gets_updates(udpai_script *script)
{
    udpai_test_session *session = begin_with_lazy(script);
    udpai_set_as(script, script->kind, "lazy", &lazy);
    udpai_expect(session, script->kind, UDPAI_LAZY);
}

static void
lazy_removal_is_sent(udpai_script *script)
{
    udpai_test_session *session = begin_with_lazy(script);
    udpai_remove(script, script->kind, "lazy");
    udpai_expect_removed(session, script->kind, "lazy");
}

static void
lazy_left_is_sent(udpai_script *script)
{
    udpai_test_session *session = begin_with_lazy(script);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = UDPAI_LAZY});
    udpai_expect_removed(session, script->kind, "lazy");
}

#define DEMAND(label, about, text, how, which, needs_of_it, function)                              \
    {                                                                                              \
        .group = "demand", .name = (label), .section = (about), .rule = (text), .level = (how),    \
        .ways = (which), .needs = (needs_of_it), .kind = UDPAI_CLUSTER, .run = (function)          \
    }
#define NEEDS_LAZY (UDPAI_NEEDS_CHANGES | UDPAI_CAN_LAZY)
#define RULE_BOTH                                                                                  \
    "A wildcard continues when names are added to it, and the server sends the names, too; it "    \
    "decides what they are."

static const udpai_case cases[] = {
    DEMAND("missing-is-told",
           UDPAI_SECTION_MISSING,
           "The server reports a requested name that does not exist in removed_resources, beside a "
           "wildcard, too.",
           UDPAI_MUST,
           UDPAI_DELTA,
           0,
           missing_is_reported),
    DEMAND("missing-is-told-again",
           UDPAI_SECTION_SUBSCRIBING,
           "The server responds to each subscription, also to a repeated one: the next request "
           "waits, too.",
           UDPAI_MUST,
           UDPAI_DELTA,
           0,
           missing_is_reported_again),
    DEMAND("missing-appears",
           UDPAI_SECTION_MISSING,
           "Servers remember subscriptions, and send a resource when it is created.",
           UDPAI_MUST,
           UDPAI_DELTA,
           UDPAI_NEEDS_CHANGES,
           missing_appears),
    DEMAND("second-is-sent",
           UDPAI_SECTION_SUBSCRIBING,
           "The server must send what is newly subscribed to, even if the wildcard has sent it "
           "before.",
           UDPAI_MUST,
           UDPAI_DELTA,
           0,
           second_is_sent),
    DEMAND("spares-the-rest",
           UDPAI_SECTION_GROUPING,
           "A name that is added does not cause the resources of the wildcard to be sent again.",
           UDPAI_SHOULD,
           UDPAI_DELTA,
           0,
           spares_the_rest),
    DEMAND("lazy-comes-by-name",
           UDPAI_SECTION_NAMES,
           RULE_BOTH,
           UDPAI_MUST,
           UDPAI_ALL_WAYS,
           NEEDS_LAZY,
           lazy_comes_by_name),
    DEMAND("lazy-gets-updates",
           UDPAI_SECTION_OVERVIEW,
           "When a resource changes, the server sends it to its subscribers.",
           UDPAI_MUST,
           UDPAI_ALL_WAYS,
           NEEDS_LAZY,
           lazy_gets_updates),
    DEMAND("lazy-removal-is-told",
           UDPAI_SECTION_DELETING,
           "The server reports a removal: in delta in removed_resources, in SotW by a full set of "
           "clusters without it.",
           UDPAI_MUST,
           UDPAI_ALL_WAYS,
           NEEDS_LAZY,
           lazy_removal_is_sent),
    DEMAND("lazy-left-is-told",
           "Unsubscribing from Resources",
           "If a client unsubscribes from a name that its wildcard does not have, the server "
           "reports it in removed_resources.",
           UDPAI_MUST,
           UDPAI_DELTA,
           NEEDS_LAZY,
           lazy_left_is_sent),
};

const udpai_cases udpai_cases_demand = {cases, UDPAI_ARRAY_LEN(cases)};
