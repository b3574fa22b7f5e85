/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are URLs, xdstp://AUTHORITY/TYPE/ID?KEY=VALUE, one resource each. They rest on "xRFC
 * TP1: xdstp:// structured resource naming, caching and federation support". */
#include "tools/conform/cases.h"

#define URL UDPAI_NAMES("xdstp:a")

/* Without a changer the user has named it. */
static void
have(udpai_script *script, const char *name)
{
    if (udpai_world_can_change(&script->stage->world))
        udpai_set(script, script->kind, name);
}

static void
is_served(udpai_script *script)
{
    have(script, "xdstp:a");
    (void)udpai_begin_with(script, URL);
}

static void
follows_changes(udpai_script *script)
{
    have(script, "xdstp:a");
    udpai_test_session *session = udpai_begin_with(script, URL);
    udpai_set(script, script->kind, "xdstp:a");
    udpai_expect(session, script->kind, URL);
}

static void
stands_beside_plain_names(udpai_script *script)
{
    have(script, "xdstp:a");
    (void)udpai_begin_with(script, UDPAI_NAMES("a", "xdstp:a"));
}

static void
missing_is_reported(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("xdstp:nobody"));
    udpai_expect_removed(session, script->kind, "xdstp:nobody");
}

static void
missing_appears(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("xdstp:new"));
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "xdstp:new");
    udpai_expect(session, script->kind, UDPAI_NAMES("xdstp:new"));
}

static void
removal_is_sent(udpai_script *script)
{
    have(script, "xdstp:a");
    udpai_test_session *session = udpai_begin_with(script, URL);
    udpai_remove(script, script->kind, "xdstp:a");
    udpai_expect_removed(session, script->kind, "xdstp:a");
}

/* ---- spellings ---- */

static void
parameters_in_any_order(udpai_script *script)
{
    udpai_set(script, script->kind, "xdstp:p?one=1&two=2");
    (void)udpai_begin_with(script, UDPAI_NAMES("xdstp:p?two=2&one=1"));
}

static void
escapes_mean_the_same(udpai_script *script)
{
    udpai_set(script, script->kind, "xdstp:a");
    (void)udpai_begin_with(script, UDPAI_NAMES("xdstp:%61"));
}

/* A client that asks for one is not given the other, neither under its own name nor under the one
 * that was asked for. */
static void
differ(udpai_script *script, const char *there, const char *asked)
{
    udpai_set(script, script->kind, there);
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES(asked));
    udpai_wait_for_error(session, script->kind, asked);
    const udpai_update *under_asked = udpai_update_of_any_name(session, script->kind, asked);
    const udpai_update *under_own = udpai_update_of_any_name(session, script->kind, there);
    bool is_served =
        (under_asked && under_asked->has_payload) || (under_own && under_own->has_payload);
    udpai_require(script, !is_served, "%s was requested, and %s arrived: these are two names",
                  udpai_world_name(&script->stage->world, script->kind, asked),
                  udpai_world_name(&script->stage->world, script->kind, there));
}

static void
other_parameters_are_another(udpai_script *script)
{
    differ(script, "xdstp:p?one=1", "xdstp:p?one=2");
}

static void
more_parameters_are_another(udpai_script *script)
{
    differ(script, "xdstp:p", "xdstp:p?one=1");
}

static void
fewer_parameters_are_another(udpai_script *script)
{
    differ(script, "xdstp:p?one=1", "xdstp:p");
}

static void
authority_is_part_of_name(udpai_script *script)
{
    differ(script, "xdstp:a", "xdstp-elsewhere:a");
}

static void
type_is_part_of_name(udpai_script *script)
{
    differ(script, "xdstp:a", "xdstp-mistyped:a");
}

#define SECTION_URLS "TP1: URI-based xDS resource names"
#define SECTION_SAME "TP1: Normalization"
#define SECTION_CONTEXT "TP1: Context parameters"

#define URL_CASE(label, about, text, how, which, needs_of_it, type, function)                      \
    {                                                                                              \
        .group = "xdstp", .name = (label), .section = (about), .rule = (text), .level = (how),     \
        .ways = (which), .needs = UDPAI_CAN_XDSTP | (needs_of_it), .kind = (type),                 \
        .run = (function)                                                                          \
    }
#define DIFFER(label, about, text, function)                                                       \
    URL_CASE(label, about, text, UDPAI_MUST, UDPAI_ALL_WAYS, UDPAI_NEEDS_CHANGES, UDPAI_ENDPOINTS, \
             function)
#define RULE_NAME "A URL without glob and directives is the name of one resource, like any name."

static const udpai_case cases[] = {
    URL_CASE("cluster-is-served",
             SECTION_URLS,
             RULE_NAME,
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             0,
             UDPAI_CLUSTER,
             is_served),
    URL_CASE("listener-is-served",
             SECTION_URLS,
             RULE_NAME,
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             0,
             UDPAI_LISTENER,
             is_served),
    URL_CASE("endpoint-is-served",
             SECTION_URLS,
             RULE_NAME,
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             0,
             UDPAI_ENDPOINTS,
             is_served),
    URL_CASE("follows-changes",
             UDPAI_SECTION_OVERVIEW,
             "When a resource changes, the server sends it to its subscribers.",
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             UDPAI_NEEDS_CHANGES,
             UDPAI_ENDPOINTS,
             follows_changes),
    URL_CASE("beside-plain-names",
             SECTION_URLS,
             "Names of both kinds may stand in one request.",
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             0,
             UDPAI_CLUSTER,
             stands_beside_plain_names),
    URL_CASE("missing-is-told",
             UDPAI_SECTION_MISSING,
             "The server reports a requested name that does not exist in removed_resources.",
             UDPAI_MUST,
             UDPAI_DELTA,
             0,
             UDPAI_ENDPOINTS,
             missing_is_reported),
    URL_CASE("missing-appears",
             UDPAI_SECTION_MISSING,
             "Servers remember subscriptions, and send a resource when it is created.",
             UDPAI_MUST,
             UDPAI_ALL_WAYS,
             UDPAI_NEEDS_CHANGES,
             UDPAI_ENDPOINTS,
             missing_appears),
    URL_CASE("removal-is-told",
             UDPAI_SECTION_DELETING,
             "In delta the server reports a removal in removed_resources.",
             UDPAI_MUST,
             UDPAI_DELTA,
             UDPAI_NEEDS_CHANGES,
             UDPAI_ENDPOINTS,
             removal_is_sent),
    DIFFER("parameters-in-any-order",
           SECTION_SAME,
           "Two names are one if their parts are, whatever the order of the context parameters.",
           parameters_in_any_order),
    URL_CASE("escapes-mean-the-same",
             SECTION_SAME,
             "Names follow RFC 3986, in which a letter and its percent-encoding are the same.",
             UDPAI_SHOULD,
             UDPAI_ALL_WAYS,
             UDPAI_NEEDS_CHANGES,
             UDPAI_ENDPOINTS,
             escapes_mean_the_same),
    DIFFER("other-parameters-are-another-name",
           SECTION_CONTEXT,
           "Context parameters select among variants of a resource: each value is another name.",
           other_parameters_are_another),
    DIFFER("more-parameters-are-another-name",
           SECTION_CONTEXT,
           "The response has all context parameters of the request.",
           more_parameters_are_another),
    DIFFER("fewer-parameters-are-another-name",
           SECTION_CONTEXT,
           "The response has no context parameters that the request does not have.",
           fewer_parameters_are_another),
    DIFFER("authority-is-part-of-the-name",
           SECTION_URLS,
           "A resource of one authority is not one of another.",
           authority_is_part_of_name),
    URL_CASE("type-is-part-of-the-name",
             SECTION_URLS,
             "The name contains the type of the resource: a name of another type than that of the "
             "request is not found.",
             UDPAI_SHOULD,
             UDPAI_ALL_WAYS,
             UDPAI_NEEDS_CHANGES,
             UDPAI_ENDPOINTS,
             type_is_part_of_name),
};

const udpai_cases udpai_cases_urls = {cases, UDPAI_ARRAY_LEN(cases)};
