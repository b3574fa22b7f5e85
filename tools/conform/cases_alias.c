/* SPDX-License-Identifier: Apache-2.0 */
/* Aliases, which the delta protocol alone has: other names of one resource. */
#include "tools/conform/cases.h"

#define ALIAS UDPAI_NAMES("alias")

static udpai_world_extra
with_alias(udpai_script *script)
{
    return (udpai_world_extra){
        .other_name = udpai_world_name(&script->stage->world, script->kind, "alias"),
    };
}

/* A client that asks for these, of which one is an alias of "a", and has it. */
static udpai_test_session *
begin(udpai_script *script, udpai_names names)
{
    udpai_world_extra extra = with_alias(script);
    udpai_set_as(script, script->kind, "a", &extra);
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = names});
    udpai_expect(session, script->kind, UDPAI_A);
    return session;
}

static void
comes_with_its_name(udpai_script *script)
{
    (void)begin(script, ALIAS);
}

static void
gets_updates(udpai_script *script)
{
    udpai_world_extra extra = with_alias(script);
    udpai_test_session *session = begin(script, ALIAS);
    udpai_set_as(script, script->kind, "a", &extra);
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
is_stated(udpai_script *script)
{
    const udpai_update *update = udpai_last_of(begin(script, ALIAS), script->kind, "a");
    const char *alias = with_alias(script).other_name;
    udpai_require(script, update && alias && udpai_has_alias(update, alias),
                  "the client subscribed by an alias, and the resource arrived without it: the "
                  "client cannot match it to its subscription");
}

static void
once_beside_name(udpai_script *script)
{
    udpai_test_session *session = begin(script, UDPAI_NAMES("a", "alias"));
    udpai_require(
        script, !udpai_is_running(script) || udpai_count_in_last(session, script->kind, "a") == 1,
        "a resource that was requested by its name and by an alias is in one response twice");
}

static void
appears(udpai_script *script)
{
    udpai_world_extra extra = with_alias(script);
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = ALIAS});
    udpai_wait_until_quiet(session);
    udpai_set_as(script, script->kind, "a", &extra);
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
left_is_silent(udpai_script *script)
{
    udpai_world_extra extra = with_alias(script);
    udpai_test_session *session = begin(script, ALIAS);
    udpai_send_request(session, script->kind, &(udpai_test_request){.unsubscribed = ALIAS});
    udpai_wait_until_quiet(session);
    udpai_set_as(script, script->kind, "a", &extra);
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

static void
removal_is_sent(udpai_script *script)
{
    udpai_test_session *session = begin(script, ALIAS);
    udpai_remove(script, script->kind, "a");
    udpai_expect_removed(session, script->kind, "a");
}

#define ALIAS_CASE(label, about, text, how, function)                                              \
    {                                                                                              \
        .name = "alias-" label, .section = (about), .rule = (text), .level = (how),                \
        .ways = UDPAI_DELTA, .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_ALIAS,                       \
        .kind = UDPAI_CLUSTER, .run = (function)                                                   \
    }

static const udpai_case cases[] = {
    ALIAS_CASE("is-a-name",
               UDPAI_SECTION_ALIASES,
               "The server finds resources by name or alias, and sends them with their name.",
               UDPAI_MUST,
               comes_with_its_name),
    ALIAS_CASE("gets-updates",
               UDPAI_SECTION_SUBSCRIBING,
               "A subscription to a name or to an alias is a subscription to the resource.",
               UDPAI_MUST,
               gets_updates),
    ALIAS_CASE("is-said",
               UDPAI_SECTION_ALIASES,
               "The aliases of a resource, if it has any, are in the resource of the response.",
               UDPAI_MUST,
               is_stated),
    ALIAS_CASE(
        "beside-name-comes-once",
        UDPAI_SECTION_DUPLICATES,
        "No response has a resource twice, even if the client subscribes to it by two names.",
        UDPAI_MUST,
        once_beside_name),
    ALIAS_CASE("appears",
               UDPAI_SECTION_MISSING,
               "Servers remember subscriptions, and send a resource when it is created.",
               UDPAI_MUST,
               appears),
    ALIAS_CASE(
        "left-is-silent",
        "Unsubscribing from Resources",
        "A client may unsubscribe from a name or an alias; the server does not send it any more.",
        UDPAI_SHOULD,
        left_is_silent),
    ALIAS_CASE("removal-is-told",
               UDPAI_SECTION_DELETING,
               "The server reports a removal in removed_resources, by the name that it sent the "
               "resource with.",
               UDPAI_MUST,
               removal_is_sent),
};

const udpai_cases udpai_cases_alias = {cases, UDPAI_ARRAY_LEN(cases)};
