/* SPDX-License-Identifier: Apache-2.0 */
/* What only the delta protocol has: removals, versions of resources, subscribing by the name. */
#include "tools/conform/cases.h"

#define TTL_MS 60000

static udpai_test_session *
subscribe(udpai_script *script, udpai_names names)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = names});
    return session;
}

static void
unknown_is_reported(udpai_script *script)
{
    udpai_expect_removed(subscribe(script, UDPAI_NAMES("nobody")), script->kind, "nobody");
}

static void
unknown_beside_known_is_reported(udpai_script *script)
{
    udpai_test_session *session = subscribe(script, UDPAI_NAMES("a", "nobody"));
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_expect_removed(session, script->kind, "nobody");
}

static void
held_is_sent_again(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
twice_in_a_request(udpai_script *script)
{
    udpai_test_session *session = subscribe(script, UDPAI_NAMES("a", "a"));
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_require(script,
                  !udpai_is_running(script) || udpai_count_in_last(session, script->kind, "a") == 1,
                  "a resource that was requested twice is in one response twice");
}

/* ---- unsubscribing ---- */

static void
unsubscribing_is_silent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = UDPAI_B});
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

static void
phantom_is_ignored(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.unsubscribed = UDPAI_NAMES("nobody")});
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_B});
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
under_wildcard_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_NAMES("*", "a")});
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = UDPAI_A});
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
under_wildcard_is_missing(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_NAMES("*", "nobody")});
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.unsubscribed = UDPAI_NAMES("nobody")});
    udpai_expect_removed(session, script->kind, "nobody");
}

static void
wildcard_ends_name_stays(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = UDPAI_STAR});
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
resubscribing_returns(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = UDPAI_A});
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A});
    udpai_expect(session, script->kind, UDPAI_A);
}

/* ---- versions ---- */

static void
has_versions(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_update *update = udpai_last_of(session, script->kind, "a");
    udpai_require(script, update && *update->version, "the resource has no version");
}

static void
only_what_changed(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_expect_nothing_of(session, script->kind, UDPAI_B);
}

static void
held_is_not_sent(udpai_script *script)
{
    udpai_test_session *session =
        udpai_resume(script, udpai_begin_with(script, UDPAI_A), UDPAI_A, "a");
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

static void
held_is_followed(udpai_script *script)
{
    udpai_test_session *session =
        udpai_resume(script, udpai_begin_with(script, UDPAI_A), UDPAI_A, "a");
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
not_held_is_sent(udpai_script *script)
{
    udpai_test_session *session =
        udpai_resume(script, udpai_begin_with(script, UDPAI_A), UDPAI_A_B, "a");
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
changed_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(udpai_resume(script, session, UDPAI_A, "a"), script->kind, UDPAI_A);
}

/* The removal itself may arrive on the earlier stream: the next one is tested. */
static void
vanished_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(udpai_resume(script, session, UDPAI_A_B, "b"), script->kind, "b");
}

static void
vanished_under_wildcard_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(udpai_resume(script, session, UDPAI_NO_NAMES, "b"), script->kind, "b");
}

/* ---- ttl ---- */

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
no_ttl_for_others(udpai_script *script)
{
    const udpai_update *update = udpai_last_of(begin_with_ttl(script, false), script->kind, "a");
    udpai_require(script, update && !update->has_ttl,
                  "the client has not announced that it knows a ttl, and got one");
}

static void
ttl_if_supported(udpai_script *script)
{
    const udpai_update *update = udpai_last_of(begin_with_ttl(script, true), script->kind, "a");
    udpai_require(script, update && update->has_ttl,
                  "the client has the feature for it, and got no ttl");
}

/* Set again as it is: a server that renews a ttl so may send a heartbeat, and one that sends it
 * keeps to its form. */
static void
heartbeat_has_its_form(udpai_script *script)
{
    udpai_test_session *session = begin_with_ttl(script, true);
    const udpai_update *full = udpai_last_of(session, script->kind, "a");
    unsigned variant = full ? full->variant : 0;
    const char *version = full ? full->version : "";
    udpai_set_as(script, script->kind, "a",
                 &(udpai_world_extra){.ttl_ms = TTL_MS, .variant = variant});
    (void)udpai_receive(session, script->stage->quiet_ms);
    const udpai_update *update = udpai_update_of(session, script->kind, "a");
    if (!update || update->has_payload)
        udpai_skip_script(script, "the server has sent no heartbeat");
    else
        udpai_require(script, update->has_ttl && strcmp(update->version, version) == 0,
                      "a heartbeat has a ttl and the version sent last, '%s'; here: %s, '%s'",
                      version, update->has_ttl ? "a ttl" : "no ttl", update->version);
}

#define RULE_MISSING "The server reports a requested name that does not exist in removed_resources."
#define RULE_RESUME                                                                                \
    "Clients that reconnect send the versions that they hold, and receive what differs."
#define RULE_WILDCARD_NAME                                                                         \
    "A client that unsubscribes from a name beside a wildcard receives its state: the resource, "  \
    "if the wildcard has it, or its removal."

#define CASE(label, about, text, type, needs_of_it, function)                                      \
    {                                                                                              \
        .name = (label), .section = (about), .rule = (text), .ways = UDPAI_DELTA,                  \
        .needs = (needs_of_it), .kind = (type), .run = (function)                                  \
    }

static const udpai_case cases[] = {
    CASE("unknown-cluster-is-told",
         UDPAI_SECTION_MISSING,
         RULE_MISSING,
         UDPAI_CLUSTER,
         0,
         unknown_is_reported),
    CASE("unknown-endpoint-is-told",
         UDPAI_SECTION_MISSING,
         RULE_MISSING,
         UDPAI_ENDPOINTS,
         0,
         unknown_is_reported),
    CASE("unknown-beside-known-is-told",
         UDPAI_SECTION_MISSING,
         RULE_MISSING,
         UDPAI_ENDPOINTS,
         0,
         unknown_beside_known_is_reported),
    CASE("held-is-sent-again",
         UDPAI_SECTION_SUBSCRIBING,
         "The server sends what a client subscribes to, even if the client should hold it: it may "
         "have dropped it.",
         UDPAI_ENDPOINTS,
         0,
         held_is_sent_again),
    CASE("held-cluster-is-sent-again",
         UDPAI_SECTION_SUBSCRIBING,
         "The server sends what a client subscribes to, even if the client should hold it: it may "
         "have dropped it.",
         UDPAI_CLUSTER,
         0,
         held_is_sent_again),
    CASE("resubscribed-is-sent",
         UDPAI_SECTION_SUBSCRIBING,
         "After unsubscribing and subscribing again, the server sends the resource again, even if "
         "it has not changed.",
         UDPAI_ENDPOINTS,
         0,
         resubscribing_returns),
    CASE("twice-in-a-request",
         UDPAI_SECTION_DUPLICATES,
         "No response has a resource twice, even if the client requests it twice.",
         UDPAI_ENDPOINTS,
         0,
         twice_in_a_request),
    {.name = "unsubscribing-is-silent",
     .section = "Unsubscribing from Resources",
     .rule = "A request that only unsubscribes needs no response, in particular none with all "
             "other resources.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_DELTA,
     .kind = UDPAI_ENDPOINTS,
     .run = unsubscribing_is_silent},
    CASE("phantom-unsubscribe-is-ignored",
         "Unsubscribing from Resources",
         "Unsubscribing from a name without a subscription causes no error.",
         UDPAI_ENDPOINTS,
         0,
         phantom_is_ignored),
    CASE("name-left-under-wildcard",
         "Unsubscribing from Resources",
         RULE_WILDCARD_NAME,
         UDPAI_CLUSTER,
         0,
         under_wildcard_is_sent),
    CASE("missing-name-left-under-wildcard",
         "Unsubscribing from Resources",
         RULE_WILDCARD_NAME,
         UDPAI_CLUSTER,
         0,
         under_wildcard_is_missing),
    CASE("star-unsubscribed-name-stays",
         UDPAI_SECTION_NAMES,
         "Unsubscribing from '*' ends the wildcard, also that of a request without names, and "
         "leaves names.",
         UDPAI_CLUSTER,
         UDPAI_NEEDS_CHANGES,
         wildcard_ends_name_stays),
    {.name = "resource-has-version",
     .section = UDPAI_SECTION_DELTA,
     .rule = "Resources have versions of their own, which clients send when they reconnect.",
     .ways = UDPAI_DELTA,
     .kind = UDPAI_CLUSTER,
     .run = has_versions},
    {.name = "only-what-changed",
     .section = UDPAI_SECTION_GROUPING,
     .rule = "If one of many resources has changed, the server need send only that one.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_DELTA,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = only_what_changed},
    {.name = "resume-same-is-silent",
     .section = UDPAI_SECTION_DELTA,
     .rule = "The server need not send what the client holds in the current version.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_DELTA,
     .kind = UDPAI_ENDPOINTS,
     .run = held_is_not_sent},
    CASE("resume-same-then-change",
         UDPAI_SECTION_DELTA,
         RULE_RESUME,
         UDPAI_ENDPOINTS,
         UDPAI_NEEDS_CHANGES,
         held_is_followed),
    CASE("resume-not-held-is-sent",
         UDPAI_SECTION_DELTA,
         RULE_RESUME,
         UDPAI_ENDPOINTS,
         0,
         not_held_is_sent),
    CASE("resume-changed-is-sent",
         UDPAI_SECTION_DELTA,
         RULE_RESUME,
         UDPAI_ENDPOINTS,
         UDPAI_NEEDS_CHANGES,
         changed_is_sent),
    CASE("resume-vanished-is-told",
         UDPAI_SECTION_DELTA,
         RULE_RESUME,
         UDPAI_ENDPOINTS,
         UDPAI_NEEDS_CHANGES,
         vanished_is_sent),
    CASE("resume-vanished-under-wildcard-is-told",
         UDPAI_SECTION_DELTA,
         RULE_RESUME,
         UDPAI_CLUSTER,
         UDPAI_NEEDS_CHANGES,
         vanished_under_wildcard_is_sent),
    CASE("ttl-for-those-who-can",
         UDPAI_SECTION_TTL,
         "A resource may have a ttl, for clients that announce that they know it.",
         UDPAI_ENDPOINTS,
         UDPAI_NEEDS_CHANGES | UDPAI_CAN_TTL,
         ttl_if_supported),
    {.name = "ttl-only-for-those-who-can",
     .section = UDPAI_SECTION_TTL,
     .rule = "A resource may have a ttl, for clients that announce that they know it.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_DELTA,
     .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_TTL,
     .kind = UDPAI_ENDPOINTS,
     .run = no_ttl_for_others},
    CASE("heartbeat-has-its-form",
         UDPAI_SECTION_TTL,
         "A heartbeat is a Resource without content, with the version that was sent last.",
         UDPAI_ENDPOINTS,
         UDPAI_NEEDS_CHANGES | UDPAI_CAN_TTL,
         heartbeat_has_its_form),
};

const udpai_cases udpai_cases_delta = {cases, UDPAI_ARRAY_LEN(cases)};
