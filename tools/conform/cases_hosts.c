/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual hosts on demand (VHDS), which the delta protocol alone has. What the protocol's text does
 * not define of them Envoy's does, "Virtual Host Discovery Service". */
#include "tools/conform/cases.h"

static void
second_beside_first(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_B});
    udpai_expect(session, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
only_what_was_asked_for(udpai_script *script)
{
    udpai_expect_nothing_of(udpai_begin_with(script, UDPAI_A), script->kind, UDPAI_B);
}

/* A client that asks for this. */
static udpai_test_session *
ask(udpai_script *script, const char *name)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES(name));
    return session;
}

static void
missing_is_answered(udpai_script *script)
{
    udpai_expect_update(ask(script, "nobody"), script->kind, "nobody");
}

/* Envoy finds the request that waits by the alias. */
static void
missing_has_its_form(udpai_script *script)
{
    udpai_test_session *session = ask(script, "nobody");
    udpai_expect_update(session, script->kind, "nobody");
    const udpai_update *update = udpai_update_of_any_name(session, script->kind, "nobody");
    const char *name = udpai_world_name(&script->stage->world, script->kind, "nobody");
    udpai_require(script,
                  !update || (!update->is_removal && !update->has_payload && name &&
                              udpai_has_alias(update, name)),
                  "the server was expected to report a missing host by a resource with the "
                  "requested name as its alias, and without content; it reported it %s",
                  update && update->is_removal    ? "in removed_resources"
                  : update && update->has_payload ? "with content"
                                                  : "without the alias");
}

static void
missing_is_answered_again(udpai_script *script)
{
    udpai_test_session *session = ask(script, "nobody");
    udpai_expect_update(session, script->kind, "nobody");
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_NAMES("nobody")});
    udpai_expect_update(session, script->kind, "nobody");
}

static void
missing_appears(udpai_script *script)
{
    udpai_test_session *session = ask(script, "new");
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "new");
    udpai_expect(session, script->kind, UDPAI_NAMES("new"));
}

static void
routes_are_part_of_name(udpai_script *script)
{
    udpai_test_session *session = ask(script, "nobody/a");
    udpai_wait_for_error(session, script->kind, "nobody/a");
    const udpai_update *as_asked = udpai_update_of_any_name(session, script->kind, "nobody/a");
    const udpai_update *as_it_is = udpai_update_of(session, script->kind, "a");
    udpai_require(script,
                  !(as_asked && as_asked->has_payload) && !(as_it_is && as_it_is->has_payload),
                  "the host of one route configuration arrived for that of another");
}

/* Puts a host there that has another name, too, and has a client ask by it. */
static udpai_test_session *
ask_by_alias(udpai_script *script, udpai_world_extra *extra)
{
    extra->other_name = udpai_world_name(&script->stage->world, script->kind, "alias");
    udpai_set_as(script, script->kind, "a", extra);
    udpai_test_session *session = ask(script, "alias");
    udpai_expect(session, script->kind, UDPAI_A);
    return session;
}

static void
alias_is_stated(udpai_script *script)
{
    udpai_world_extra extra = {0};
    udpai_test_session *session = ask_by_alias(script, &extra);
    const udpai_update *update = udpai_last_of(session, script->kind, "a");
    udpai_require(script, update && udpai_has_alias(update, extra.other_name),
                  "the host was requested as %s and arrived without that among its aliases: an "
                  "Envoy cannot match it to its request",
                  extra.other_name);
}

static void
alias_gets_updates(udpai_script *script)
{
    udpai_world_extra extra = {0};
    udpai_test_session *session = ask_by_alias(script, &extra);
    udpai_set_as(script, script->kind, "a", &extra);
    udpai_expect(session, script->kind, UDPAI_A);
}

/* ---- behind their routes ---- */

static size_t
response_of(const udpai_test_session *session, udpai_kind kind)
{
    const udpai_update *update = udpai_update_of(session, kind, "a");
    return update ? update->response : 0;
}

static void
behind_routes(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, UDPAI_ROUTES, UDPAI_A);
    udpai_expect(session, UDPAI_ROUTES, UDPAI_A);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_wait_until_quiet(session);
    if (!udpai_is_running(script))
        return;
    udpai_world_set(&script->stage->world, script->kind, "a", NULL);
    udpai_world_set(&script->stage->world, UDPAI_ROUTES, "a", NULL);
    udpai_commit(script);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_expect(session, UDPAI_ROUTES, UDPAI_A);
    udpai_require(script,
                  !udpai_is_running(script) ||
                      response_of(session, UDPAI_ROUTES) < response_of(session, script->kind),
                  "both changed at once, and the virtual host arrived before the routes");
}

#define SECTION_VHDS "Virtual Host Discovery Service"

#define HOST(label, about, text, how, needs_of_it, function)                                       \
    {                                                                                              \
        .group = "vhds", .name = (label), .section = (about), .rule = (text), .level = (how),      \
        .ways = UDPAI_DELTA, .needs = (needs_of_it), .kind = UDPAI_HOST, .run = (function)         \
    }
#define RULE_MISSING                                                                               \
    "A client that subscribes to a missing resource receives this without waiting for a timeout."

static const udpai_case cases[] = {
    HOST("by-name",
         UDPAI_SECTION_NAMES,
         "The server must send the resources that a request names and that exist; a virtual host "
         "is ROUTES/HOST.",
         UDPAI_MUST,
         0,
         udpai_case_by_name),
    HOST("only-what-was-asked-for",
         SECTION_VHDS,
         "The server sends a client the virtual hosts that it has subscribed to.",
         UDPAI_SHOULD,
         0,
         only_what_was_asked_for),
    HOST("second-beside-first",
         UDPAI_SECTION_DELTA,
         "In delta a subscription adds to the earlier ones.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         second_beside_first),
    HOST("update",
         UDPAI_SECTION_OVERVIEW,
         "When a resource changes, the server sends it to its subscribers.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         udpai_case_update),
    HOST("removal",
         UDPAI_SECTION_DELETING,
         "In delta the server reports a removal in removed_resources.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         udpai_case_removal),
    HOST("missing-is-answered",
         UDPAI_SECTION_MISSING,
         RULE_MISSING,
         UDPAI_MUST,
         0,
         missing_is_answered),
    HOST("missing-has-its-form",
         SECTION_VHDS,
         "For an unknown host the server sends a resource without content, with the requested name "
         "as name and alias: it ends the wait of the request for the host.",
         UDPAI_SHOULD,
         0,
         missing_has_its_form),
    HOST("missing-is-answered-again",
         UDPAI_SECTION_SUBSCRIBING,
         "The server responds to each subscription, also to a repeated one: the next request for "
         "the host waits, too.",
         UDPAI_MUST,
         0,
         missing_is_answered_again),
    HOST("missing-appears",
         UDPAI_SECTION_MISSING,
         "Servers remember subscriptions, and send a resource when it is created.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES,
         missing_appears),
    HOST("routes-are-part-of-the-name",
         SECTION_VHDS,
         "The part before the last slash names the route configuration of the host.",
         UDPAI_MUST,
         0,
         routes_are_part_of_name),
    HOST("alias-is-said",
         SECTION_VHDS,
         "A client that waits for a host continues when a resource arrives that has the host among "
         "its aliases.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES | UDPAI_CAN_ALIAS,
         alias_is_stated),
    HOST("alias-gets-updates",
         UDPAI_SECTION_SUBSCRIBING,
         "A subscription to a name or to an alias is a subscription to the resource.",
         UDPAI_MUST,
         UDPAI_NEEDS_CHANGES | UDPAI_CAN_ALIAS,
         alias_gets_updates),
    {.group = "order",
     .name = "virtual-hosts-behind-routes",
     .section = UDPAI_SECTION_ORDER,
     .rule = "The server sends virtual hosts after the routes that they belong to.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_DELTA_AGGREGATED,
     .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_ATOMIC,
     .kind = UDPAI_HOST,
     .run = behind_routes},
};

const udpai_cases udpai_cases_hosts = {cases, UDPAI_ARRAY_LEN(cases)};
