/* SPDX-License-Identifier: Apache-2.0 */
/* Fetch: one request, one response. */
#include "tools/conform/cases.h"

/* A call that is not answered by requests: there is only one. */
static udpai_test_session *
fetch(udpai_script *script, udpai_kind asked, udpai_names names)
{
    udpai_test_session *session =
        udpai_test_session_open_method(script, script->kind, UDPAI_XDS_FETCH);
    udpai_behave(session, script->kind, UDPAI_IGNORES);
    udpai_behave(session, asked, UDPAI_IGNORES);
    udpai_send_request(session, asked, &(udpai_test_request){.names = names});
    udpai_half_close(session);
    return session;
}

static void
by_name(udpai_script *script)
{
    udpai_test_session *session = fetch(script, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_expect_end(session, 0);
}

static void
all(udpai_script *script)
{
    udpai_test_session *session = fetch(script, script->kind, UDPAI_NO_NAMES);
    udpai_expect(session, script->kind,
                 udpai_world_can_change(&script->stage->world) ? UDPAI_A_B : UDPAI_A);
    udpai_expect_end(session, 0);
}

static void
follows_changes(udpai_script *script)
{
    udpai_test_session *first = fetch(script, script->kind, UDPAI_A);
    udpai_expect(first, script->kind, UDPAI_A);
    const udpai_response *before = udpai_last_response(first, script->kind);
    udpai_set(script, script->kind, "a");
    udpai_test_session *second = fetch(script, script->kind, UDPAI_A);
    udpai_expect(second, script->kind, UDPAI_A);
    const udpai_response *after = udpai_last_response(second, script->kind);
    udpai_require(script, before && after && strcmp(before->version, after->version) != 0,
                  "the content changed and the version did not");
}

static void
has_version(udpai_script *script)
{
    udpai_test_session *session = fetch(script, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    const udpai_response *last = udpai_last_response(session, script->kind);
    udpai_require(script, last && *last->version, "version_info is empty");
}

static void
only_what_was_asked_for(udpai_script *script)
{
    udpai_test_session *session = fetch(script, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_require(script, !udpai_is_running(script) || !udpai_update_of(session, script->kind, "b"),
                  "the response has a resource that was not requested");
}

static void
missing_beside_known(udpai_script *script)
{
    udpai_test_session *session = fetch(script, script->kind, UDPAI_NAMES("nobody", "a"));
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
other_type(udpai_script *script)
{
    udpai_test_session *session = fetch(script, UDPAI_LISTENER, UDPAI_A);
    udpai_expect_end(session, -1);
}

#define FETCH(label, type, text, how, needs_of_it, function)                                       \
    {                                                                                              \
        .group = "fetch", .name = (label), .section = UDPAI_SECTION_REST, .rule = (text),          \
        .level = (how), .ways = UDPAI_ONCE, .needs = (needs_of_it), .kind = (type),                \
        .run = (function)                                                                          \
    }
#define RULE_FETCH "The response to a single request has the requested resources."

static const udpai_case cases[] = {
    FETCH("listener", UDPAI_LISTENER, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("route", UDPAI_ROUTES, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("cluster", UDPAI_CLUSTER, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("endpoint", UDPAI_ENDPOINTS, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("scoped-route", UDPAI_SCOPE, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("secret", UDPAI_SECRET, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("runtime", UDPAI_RUNTIME, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("extension", UDPAI_EXTENSION, RULE_FETCH, UDPAI_MUST, 0, by_name),
    FETCH("all-clusters", UDPAI_CLUSTER, RULE_FETCH, UDPAI_MUST, 0, all),
    FETCH("version-is-told",
          UDPAI_CLUSTER,
          "Every type has a version; each response has it.",
          UDPAI_MUST,
          0,
          has_version),
    FETCH(
        "only-what-was-asked-for",
        UDPAI_ENDPOINTS,
        "Clients ignore resources that they are not subscribed to: sending them is needless work.",
        UDPAI_SHOULD,
        0,
        only_what_was_asked_for),
    FETCH("missing-beside-known",
          UDPAI_ENDPOINTS,
          "A name that does not exist does not keep the server from sending the others.",
          UDPAI_MUST,
          0,
          missing_beside_known),
    FETCH("follows-changes",
          UDPAI_CLUSTER,
          "Whenever a resource changes, the version changes.",
          UDPAI_MUST,
          UDPAI_NEEDS_CHANGES,
          follows_changes),
    FETCH("other-type-is-refused",
          UDPAI_CLUSTER,
          "Each service is for one type. A request for another type receives an error.",
          UDPAI_SHOULD,
          0,
          other_type),
};

const udpai_cases udpai_cases_fetch = {cases, UDPAI_ARRAY_LEN(cases)};
