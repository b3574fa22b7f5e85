/* SPDX-License-Identifier: Apache-2.0 */
/* What only the state of the world protocol has: whole states, and resources in wrappers. */
#include "tools/conform/cases.h"

#define TTL_MS 60000

/* The last response has this, too. */
static void
require_in_last(udpai_test_session *session, udpai_kind kind, const char *name)
{
    if (!session || !udpai_is_running(session->script))
        return;
    udpai_require(
        session->script, udpai_count_in_last(session, kind, name) >= 1,
        "the response is to have all %ss of the client, and '%s' is not in it: the client "
        "takes what is not there for deleted",
        udpai_kind_word(kind), name);
}

static void
whole_on_change(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    require_in_last(session, script->kind, "b");
}

static void
whole_under_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    require_in_last(session, script->kind, "b");
}

static void
whole_when_name_is_added(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_B);
    require_in_last(session, script->kind, "a");
}

static void
whole_without_removed(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(session, script->kind, "b");
    require_in_last(session, script->kind, "a");
}

static void
whole_when_wildcard_ends(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    require_in_last(session, script->kind, "a");
    udpai_require(script, udpai_count_in_last(session, script->kind, "b") == 0,
                  "the wildcard was left, and the response still has all");
}

static void
newest_request_counts(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A_B});
    udpai_expect(session, script->kind, UDPAI_A_B);
}

static void
removed_endpoints_harm_nothing(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
has_version(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_response *last = udpai_last_response(session, script->kind);
    udpai_require(script, last && *last->version, "version_info is empty");
}

static udpai_test_session *
begin_with_ttl(udpai_script *script, bool supports_ttl)
{
    udpai_set_as(script, script->kind, "a", &(udpai_world_extra){.ttl_ms = TTL_MS});
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    if (session)
        session->supports_ttl = supports_ttl;
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    return session;
}

static void
ttl_if_supported(udpai_script *script)
{
    const udpai_update *update = udpai_last_of(begin_with_ttl(script, true), script->kind, "a");
    udpai_require(script, update && update->is_wrapped && update->has_ttl,
                  "the client has the features for it, and got no Resource with a ttl");
}

static void
no_wrapper_for_others(udpai_script *script)
{
    const udpai_update *update = udpai_last_of(begin_with_ttl(script, false), script->kind, "a");
    udpai_require(script, update && !update->is_wrapped,
                  "the client has not announced that it can read a Resource in SotW, and got one");
}

static void
ttl_ends(udpai_script *script)
{
    udpai_test_session *session = begin_with_ttl(script, true);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    const udpai_update *update = udpai_last_of(session, script->kind, "a");
    udpai_require(script, update && !update->has_ttl, "the ttl was removed, and arrived once more");
}

#define WHOLE(label, type, function)                                                               \
    {                                                                                              \
        .name = "whole-" label, .section = UDPAI_SECTION_GROUPING,                                 \
        .rule = "Each response with clusters or listeners has all of them that the client needs.", \
        .ways = UDPAI_SOTW, .needs = UDPAI_NEEDS_CHANGES, .kind = (type), .run = (function)        \
    }
#define TTL(label, text, function)                                                                 \
    {                                                                                              \
        .name = (label), .section = UDPAI_SECTION_TTL, .rule = (text), .ways = UDPAI_SOTW,         \
        .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_TTL, .kind = UDPAI_ENDPOINTS, .run = (function)   \
    }

static const udpai_case cases[] = {
    WHOLE("listener-on-change", UDPAI_LISTENER, whole_on_change),
    WHOLE("cluster-on-change", UDPAI_CLUSTER, whole_on_change),
    WHOLE("listener-under-wildcard", UDPAI_LISTENER, whole_under_wildcard),
    WHOLE("cluster-under-wildcard", UDPAI_CLUSTER, whole_under_wildcard),
    {.name = "whole-cluster-when-name-is-added",
     .section = UDPAI_SECTION_GROUPING,
     .rule = "Each response with clusters or listeners has all of them that the client needs.",
     .ways = UDPAI_SOTW,
     .kind = UDPAI_CLUSTER,
     .run = whole_when_name_is_added},
    WHOLE("cluster-without-removed", UDPAI_CLUSTER, whole_without_removed),
    WHOLE("cluster-when-wildcard-ends", UDPAI_CLUSTER, whole_when_wildcard_ends),
    {.name = "newest-request-counts",
     .section = UDPAI_SECTION_UPDATE,
     .rule =
         "A request replaces earlier requests of its type: the server responds to the last one.",
     .ways = UDPAI_SOTW,
     .kind = UDPAI_ENDPOINTS,
     .run = newest_request_counts},
    {.name = "removed-endpoint-harms-nothing",
     .section = UDPAI_SECTION_DELETING,
     .rule = "SotW does not report the removal of endpoints; the stream continues.",
     .ways = UDPAI_SOTW,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_ENDPOINTS,
     .run = removed_endpoints_harm_nothing},
    {.name = "version-is-told",
     .section = UDPAI_SECTION_ACK,
     .rule = "Every type has a version; each response has it.",
     .ways = UDPAI_SOTW,
     .kind = UDPAI_CLUSTER,
     .run = has_version},
    TTL("ttl-for-those-who-can",
        "In SotW a ttl comes in a Resource around the resource, to clients that announce both.",
        ttl_if_supported),
    TTL("ttl-no-wrapper-for-others",
        "Clients that have not announced that they can read it receive no Resource in SotW.",
        no_wrapper_for_others),
    TTL("ttl-ends",
        "The server removes a ttl by sending the resource again without one.",
        ttl_ends),
};

const udpai_cases udpai_cases_sotw = {cases, UDPAI_ARRAY_LEN(cases)};
