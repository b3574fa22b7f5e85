/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be sent, by name, in resource_errors: "TP3: xds-error-propagation". A server need not
 * send any, and one that sends none is skipped; one that does keeps to what they mean. Nothing is
 * known that clients announce for it; those here announce what a node of UDPA looks for. */
#include "tools/conform/cases.h"

enum {
    NOT_FOUND = 5
};

static udpai_test_session *
open_reader(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    if (session)
        session->reads_errors = true;
    return session;
}

/* The error of a name; the script is skipped if none comes. */
static const udpai_resource_error *
await(udpai_test_session *session, const char *name)
{
    if (!session || !udpai_is_running(session->script))
        return NULL;
    udpai_wait_for_error(session, session->script->kind, name);
    const udpai_resource_error *noted = udpai_error_of(session, session->script->kind, name);
    if (!noted)
        udpai_skip_script(session->script, "the server has sent no resource_errors");
    return noted;
}

/* Asks for what is there, and for this, which is not. */
static const udpai_resource_error *
provoke(udpai_test_session *session, const char *missing)
{
    udpai_kind kind = session ? session->script->kind : UDPAI_CLUSTER;
    udpai_subscribe(session, kind, UDPAI_NAMES("a", missing));
    udpai_expect(session, kind, UDPAI_A);
    return await(session, missing);
}

static void
missing_is_not_found(udpai_script *script)
{
    const udpai_resource_error *noted = provoke(open_reader(script), "nobody");
    udpai_require(script, !noted || noted->code == NOT_FOUND,
                  "what does not exist has an error with code %d, not NOT_FOUND",
                  noted ? noted->code : 0);
}

/* Is there something of this name in this response? */
static bool
is_in_response(const udpai_test_session *session, const char *name, size_t response)
{
    const char *full =
        udpai_world_name(&session->script->stage->world, session->script->kind, name);
    for (size_t i = 0; full && i < session->updates.n; i++)
        if (session->updates.items[i].response == response &&
            udpai_world_same_name(session->updates.items[i].name, full))
            return true;
    return false;
}

static void
is_no_resource_too(udpai_script *script)
{
    udpai_test_session *session = open_reader(script);
    const udpai_resource_error *noted = provoke(session, "nobody");
    udpai_require(script, !noted || !is_in_response(session, "nobody", noted->response),
                  "one response has an error of a name, and something else of it besides");
}

static void
others_are_still_there(udpai_script *script)
{
    udpai_test_session *session = open_reader(script);
    const udpai_resource_error *noted = provoke(session, "nobody");
    udpai_require(script, !noted || is_in_response(session, "a", noted->response),
                  "a response with an error of one %s lacks another that exists: the client takes "
                  "that for deleted",
                  udpai_kind_word(script->kind));
}

static void
then_appears(udpai_script *script)
{
    udpai_test_session *session = open_reader(script);
    (void)provoke(session, "new");
    udpai_set(script, script->kind, "new");
    udpai_expect(session, script->kind, UDPAI_NAMES("new"));
}

static void
reported_once(udpai_script *script)
{
    udpai_test_session *session = open_reader(script);
    (void)provoke(session, "nobody");
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_require(
        script, !udpai_is_running(script) || !udpai_error_of(session, script->kind, "nobody"),
        "an error that the client knows arrived again with an update of another resource");
}

static void
removed_is_not_found(udpai_script *script)
{
    udpai_test_session *session = open_reader(script);
    udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    const udpai_resource_error *noted = await(session, "b");
    udpai_require(script, !noted || noted->code == NOT_FOUND,
                  "what was removed has an error with code %d, not NOT_FOUND",
                  noted ? noted->code : 0);
}

#define SECTION_ERRORS "TP3: Protocol Behavior"

#define ERROR_CASE(label, text, how, which, needs_of_it, type, function)                           \
    {                                                                                              \
        .group = "errors", .name = (label), .section = SECTION_ERRORS, .rule = (text),             \
        .level = (how), .ways = (which), .needs = (needs_of_it), .kind = (type), .run = (function) \
    }
#define RULE_NOT_FOUND "NOT_FOUND reports that a resource does not exist: the client stops waiting."

static const udpai_case cases[] = {
    ERROR_CASE("missing-cluster-is-not-found",
               RULE_NOT_FOUND,
               UDPAI_MUST,
               UDPAI_ALL_WAYS,
               0,
               UDPAI_CLUSTER,
               missing_is_not_found),
    ERROR_CASE("missing-route-is-not-found",
               RULE_NOT_FOUND,
               UDPAI_MUST,
               UDPAI_ALL_WAYS,
               0,
               UDPAI_ROUTES,
               missing_is_not_found),
    ERROR_CASE("removed-route-is-not-found",
               RULE_NOT_FOUND,
               UDPAI_MUST,
               UDPAI_ALL_WAYS,
               UDPAI_NEEDS_CHANGES,
               UDPAI_ROUTES,
               removed_is_not_found),
    ERROR_CASE("no-resource-too",
               "An error replaces a resource that cannot be sent: the response has no resource of "
               "this name.",
               UDPAI_MUST,
               UDPAI_ALL_WAYS,
               0,
               UDPAI_ROUTES,
               is_no_resource_too),
    ERROR_CASE("whole-beside-error",
               "Responses stay valid for clients that do not read errors: those with clusters or "
               "listeners have all of them that can be sent.",
               UDPAI_MUST,
               UDPAI_SOTW,
               0,
               UDPAI_CLUSTER,
               others_are_still_there),
    ERROR_CASE("then-appears",
               "An error is valid until the resource arrives, and the server sends the resource "
               "when it exists.",
               UDPAI_MUST,
               UDPAI_ALL_WAYS,
               UDPAI_NEEDS_CHANGES,
               UDPAI_ROUTES,
               then_appears),
    ERROR_CASE("told-once",
               "The client remembers an error; the server sends it once, not in each response.",
               UDPAI_SHOULD,
               UDPAI_ALL_WAYS,
               UDPAI_NEEDS_CHANGES,
               UDPAI_CLUSTER,
               reported_once),
};

const udpai_cases udpai_cases_errors = {cases, UDPAI_ARRAY_LEN(cases)};
