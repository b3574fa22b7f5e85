/* SPDX-License-Identifier: Apache-2.0 */
/* What clients ask for, and which of it they get: in all four variants. */
#include <stdio.h>

#include "base/alloc.h"
#include "tools/conform/cases.h"
#include "tools/conform/session_internal.h"

#define MANY_NAMES 10000
#define NAME_MAX_BYTES 64

static void
by_star(udpai_script *script)
{
    (void)udpai_begin_with_all(script, UDPAI_STAR);
}

static void
by_star_and_name(udpai_script *script)
{
    (void)udpai_begin_with_all(script, UDPAI_NAMES("*", "a"));
}

static void
name_joins_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    /* In delta the wildcard of a request without names stays though only a name is added. */
    if (script->is_delta)
        udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    else
        udpai_subscribe(session, script->kind, UDPAI_NAMES("*", "a"));
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
name_beside_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    if (script->is_delta)
        udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    else
        udpai_subscribe(session, script->kind, UDPAI_NAMES("*", "a"));
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
wildcard_leaves_name(udpai_script *script)
{
    /* In SotW any list of names ends the wildcard of a request without names. */
    udpai_test_session *session =
        udpai_begin_with_all(script, script->is_delta ? UDPAI_NAMES("*", "a") : UDPAI_NO_NAMES);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
nothing_after_name(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_subscribe(session, script->kind, UDPAI_NO_NAMES);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_A_B);
}

static void
nothing_after_star(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_STAR);
    udpai_subscribe(session, script->kind, UDPAI_NO_NAMES);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect_nothing_of(session, script->kind, UDPAI_A_B);
}

static void
name_added(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
name_dropped(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
name_returns(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
missing_beside_known(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("nobody", "a"));
    udpai_expect(session, script->kind, UDPAI_A);
}

/* One that is there among many that are not. */
static void
ask_for_many(udpai_test_session *session, udpai_kind kind, const char *known)
{
    udpai_str *names = udpai_alloc_array(MANY_NAMES, sizeof(*names));
    char *room = udpai_alloc_array(MANY_NAMES, NAME_MAX_BYTES);
    for (size_t i = 0; names && room && i < MANY_NAMES; i++) {
        char *name = room + i * NAME_MAX_BYTES;
        snprintf(name, NAME_MAX_BYTES, "conform-many-%zu", i);
        names[i] = udpai_str_from(i == MANY_NAMES / 2 ? known : name);
    }
    if (names && room)
        udpai_test_session_send(session, kind,
                                &(udpai_xds_ask){.type_url = udpai_kind_url(kind),
                                                 .names = names,
                                                 .n_names = MANY_NAMES});
    else
        udpai_fail_script(session->script, "out of memory");
    udpai_free(names);
    udpai_free(room);
}

static void
many_names(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    const char *known = udpai_resolve(script, script->kind, "a");
    if (!known || !udpai_test_session_is_usable(session))
        return;
    udpai_behave(session, script->kind, UDPAI_IGNORES);
    ask_for_many(session, script->kind, known);
    udpai_expect(session, script->kind, UDPAI_A);
}

#define RULE_SUPPLY "The server must send the resources that a request names and that exist."
#define RULE_LEGACY "A client that has never named a resource of the type is subscribed to '*'."
#define RULE_STAR                                                                                  \
    "'*' subscribes to all resources that the server selects for the client; it is not a name."

#define SUPPLY(label, type)                                                                        \
    {                                                                                              \
        .name = "initial-" label, .section = UDPAI_SECTION_NAMES, .rule = RULE_SUPPLY,             \
        .ways = UDPAI_ALL_WAYS, .kind = (type), .run = udpai_case_by_name                          \
    }
#define WILDCARD(label, type, text, function)                                                      \
    {                                                                                              \
        .name = "wildcard-" label, .section = UDPAI_SECTION_NAMES, .rule = (text),                 \
        .ways = UDPAI_ALL_WAYS, .kind = (type), .run = (function)                                  \
    }

static const udpai_case cases[] = {
    SUPPLY("listener", UDPAI_LISTENER),
    SUPPLY("route", UDPAI_ROUTES),
    SUPPLY("cluster", UDPAI_CLUSTER),
    SUPPLY("endpoint", UDPAI_ENDPOINTS),
    WILDCARD("listener-without-names", UDPAI_LISTENER, RULE_LEGACY, udpai_case_without_names),
    WILDCARD("cluster-without-names", UDPAI_CLUSTER, RULE_LEGACY, udpai_case_without_names),
    WILDCARD("listener-by-star", UDPAI_LISTENER, RULE_STAR, by_star),
    WILDCARD("cluster-by-star", UDPAI_CLUSTER, RULE_STAR, by_star),
    WILDCARD("star-and-name",
             UDPAI_CLUSTER,
             "'*' together with a name continues the wildcard and adds the name.",
             by_star_and_name),
    {.name = "wildcard-then-name",
     .section = UDPAI_SECTION_NAMES,
     .rule = "A wildcard continues when a name is added to it.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = name_joins_wildcard},
    {.name = "name-beside-wildcard-is-sent",
     .section = UDPAI_SECTION_NAMES,
     .rule = "The server must send what is newly subscribed to, even if it was sent before without "
             "being named.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_CLUSTER,
     .run = name_beside_wildcard},
    {.name = "wildcard-dropped-name-stays",
     .section = UDPAI_SECTION_NAMES,
     .rule = "A client that ends the wildcard and keeps a name is subscribed to that name only.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = wildcard_leaves_name},
    {.name = "empty-after-name-is-nothing",
     .section = UDPAI_SECTION_NAMES,
     .rule = "After a name, an empty list ends the subscription; it is not a wildcard.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = nothing_after_name},
    {.name = "empty-after-star-is-nothing",
     .section = UDPAI_SECTION_NAMES,
     .rule =
         "An explicit '*' is a name in this: after it, too, an empty list ends the subscription.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = nothing_after_star},
    {.name = "name-added",
     .section = UDPAI_SECTION_NAMES,
     .rule = "The server must send what is newly subscribed to.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = name_added},
    {.name = "name-dropped",
     .section = UDPAI_SECTION_UNSUBSCRIBING,
     .rule = "The server sends nothing that the client has unsubscribed from; it sends the rest.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_ENDPOINTS,
     .run = name_dropped},
    {.name = "name-returns",
     .section = UDPAI_SECTION_NAMES,
     .rule = "The server must send what is newly subscribed to, even if it was sent before and has "
             "not changed.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = name_returns},
    {.name = "missing-cluster-appears",
     .section = UDPAI_SECTION_MISSING,
     .rule = "Servers remember subscriptions, and send a resource when it is created.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = udpai_case_missing_appears},
    {.name = "missing-endpoint-appears",
     .section = UDPAI_SECTION_MISSING,
     .rule = "Servers remember subscriptions, and send a resource when it is created.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_ENDPOINTS,
     .run = udpai_case_missing_appears},
    {.name = "missing-beside-known",
     .section = UDPAI_SECTION_NAMES,
     .rule = "A name that does not exist does not keep the server from sending the others.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = missing_beside_known},
    {.name = "ten-thousand-names",
     .section = UDPAI_SECTION_MULTIPLE,
     .rule = "Servers should be able to handle one or more names in each request.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = many_names},
};

const udpai_cases udpai_cases_subscribe = {cases, UDPAI_ARRAY_LEN(cases)};
