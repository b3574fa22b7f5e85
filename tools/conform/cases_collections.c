/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of TP1: by glob, which need the delta protocol, of clusters and of the endpoints of a
 * locality (LEDS); and by list. */
#include "tools/conform/cases.h"

#define GLOB UDPAI_NAMES("xdstp:set/*")
#define FIRST UDPAI_NAMES("xdstp:set/1")
#define SECOND UDPAI_NAMES("xdstp:set/2")
#define BOTH UDPAI_NAMES("xdstp:set/1", "xdstp:set/2")

/* A collection with two members. */
static void
fill(udpai_script *script)
{
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_set(script, script->kind, "xdstp:set/2");
}

static udpai_test_session *
ask(udpai_script *script, udpai_names names)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, names);
    return session;
}

/* A client that has them both. */
static udpai_test_session *
begin(udpai_script *script)
{
    fill(script);
    udpai_test_session *session = ask(script, GLOB);
    udpai_expect(session, script->kind, BOTH);
    return session;
}

static void
has_members(udpai_script *script)
{
    (void)begin(script);
}

static void
member_comes(udpai_script *script)
{
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_test_session *session = ask(script, GLOB);
    udpai_expect(session, script->kind, FIRST);
    udpai_set(script, script->kind, "xdstp:set/2");
    udpai_expect(session, script->kind, SECOND);
}

static void
member_changes_alone(udpai_script *script)
{
    udpai_test_session *session = begin(script);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_expect(session, script->kind, FIRST);
    udpai_expect_nothing_of(session, script->kind, SECOND);
}

static void
member_leaves(udpai_script *script)
{
    udpai_test_session *session = begin(script);
    udpai_remove(script, script->kind, "xdstp:set/2");
    udpai_expect_removed(session, script->kind, "xdstp:set/2");
}

static void
empty_is_sent(udpai_script *script)
{
    udpai_expect_removed(ask(script, UDPAI_NAMES("xdstp:nobody/*")), script->kind,
                         "xdstp:nobody/*");
}

static void
empty_fills(udpai_script *script)
{
    udpai_test_session *session = ask(script, GLOB);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_expect(session, script->kind, FIRST);
}

static void
two_globs(udpai_script *script)
{
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_set(script, script->kind, "xdstp:other/1");
    udpai_test_session *session = ask(script, UDPAI_NAMES("xdstp:set/*", "xdstp:other/*"));
    udpai_expect(session, script->kind, UDPAI_NAMES("xdstp:set/1", "xdstp:other/1"));
}

/* When what is in it has come, what is not has had its time. */
static void
expect_one_of_two(udpai_script *script, const char *glob, const char *in, const char *out)
{
    udpai_set(script, script->kind, in);
    udpai_set(script, script->kind, out);
    udpai_test_session *session = ask(script, UDPAI_NAMES(glob));
    udpai_expect(session, script->kind, UDPAI_NAMES(in));
    udpai_expect_nothing_of(session, script->kind, UDPAI_NAMES(out));
}

static void
one_level(udpai_script *script)
{
    expect_one_of_two(script, "xdstp:set/*", "xdstp:set/1", "xdstp:set/deep/1");
}

static void
other_paths_are_others(udpai_script *script)
{
    expect_one_of_two(script, "xdstp:set/*", "xdstp:set/1", "xdstp:settle/1");
}

static void
parameters_select(udpai_script *script)
{
    expect_one_of_two(script, "xdstp:set/*?one=1", "xdstp:set/1?one=1", "xdstp:set/2");
}

static void
no_parameters_select(udpai_script *script)
{
    expect_one_of_two(script, "xdstp:set/*", "xdstp:set/1", "xdstp:set/2?one=1");
}

static void
is_no_wildcard(udpai_script *script)
{
    udpai_expect_nothing_of(begin(script), script->kind, UDPAI_A_B);
}

static void
left_is_silent(udpai_script *script)
{
    udpai_test_session *session = begin(script);
    udpai_subscribe(session, script->kind, UDPAI_NO_NAMES);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "xdstp:set/1");
    udpai_expect_nothing_of(session, script->kind, BOTH);
}

static void
asked_again_is_sent_again(udpai_script *script)
{
    udpai_test_session *session = begin(script);
    udpai_wait_until_quiet(session);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = GLOB});
    udpai_expect(session, script->kind, BOTH);
}

static void
vanished_is_sent(udpai_script *script)
{
    udpai_test_session *session = begin(script);
    udpai_remove(script, script->kind, "xdstp:set/2");
    udpai_expect_removed(udpai_resume(script, session, GLOB, "xdstp:set/2"), script->kind,
                         "xdstp:set/2");
}

/* ---- lists ---- */

static udpai_test_session *
begin_with_list(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    if (session)
        session->supports_ttl = !script->is_delta; /* and so a wrapper */
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    return session;
}

static void
list_is_served(udpai_script *script)
{
    (void)begin_with_list(script);
}

static void
list_follows_changes(udpai_script *script)
{
    udpai_test_session *session = begin_with_list(script);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

#define SECTION_GLOB "TP1: Glob"
#define SECTION_LIST "TP1: List"

#define GLOB_CASE(in, label, about, text, how, type, function)                                     \
    {                                                                                              \
        .group = (in), .name = (label), .section = (about), .rule = (text), .level = (how),        \
        .ways = UDPAI_DELTA, .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_XDSTP | UDPAI_CAN_GLOB,      \
        .kind = (type), .run = (function)                                                          \
    }
/* Those that are tried of clusters and of LEDS. */
#define COMMON(in, type)                                                                           \
    GLOB_CASE(in, "glob-has-members", SECTION_GLOB,                                                \
              "A client that subscribes to a collection by glob receives its members, each by "    \
              "its own name.",                                                                     \
              UDPAI_MUST, type, has_members),                                                      \
        GLOB_CASE(in, "glob-member-comes", SECTION_GLOB,                                           \
                  "The server sends a new member of a collection to its subscribers.", UDPAI_MUST, \
                  type, member_comes),                                                             \
        GLOB_CASE(in, "glob-member-changes-alone", SECTION_GLOB,                                   \
                  "The server updates members one by one, without the rest of the collection.",    \
                  UDPAI_SHOULD, type, member_changes_alone),                                       \
        GLOB_CASE(in, "glob-member-leaves", UDPAI_SECTION_DELETING,                                \
                  "The server reports a removed member in removed_resources, by its own name.",    \
                  UDPAI_MUST, type, member_leaves),                                                \
        GLOB_CASE(                                                                                 \
            in, "glob-empty-is-told", SECTION_GLOB,                                                \
            "The server reports a collection without members by its URL in removed_resources.",    \
            UDPAI_SHOULD, type, empty_is_sent),                                                    \
        GLOB_CASE(in, "glob-empty-fills", UDPAI_SECTION_MISSING,                                   \
                  "Servers remember subscriptions, and send a resource when it is created.",       \
                  UDPAI_MUST, type, empty_fills)

static const udpai_case cases[] = {
    COMMON("collection", UDPAI_CLUSTER),
    GLOB_CASE("collection",
              "globs-beside-each-other",
              SECTION_GLOB,
              "A client may subscribe to several collections on one stream.",
              UDPAI_MUST,
              UDPAI_CLUSTER,
              two_globs),
    GLOB_CASE("collection",
              "glob-is-one-level",
              SECTION_GLOB,
              "The glob stands for the last part of a path, below its directory and no deeper.",
              UDPAI_SHOULD,
              UDPAI_CLUSTER,
              one_level),
    GLOB_CASE("collection",
              "glob-of-other-path-is-another",
              SECTION_GLOB,
              "A member of a collection lies in its directory; a common prefix is not enough.",
              UDPAI_MUST,
              UDPAI_CLUSTER,
              other_paths_are_others),
    GLOB_CASE("collection",
              "glob-parameters-select",
              SECTION_GLOB,
              "Resources in the response must match the context parameters of the request.",
              UDPAI_MUST,
              UDPAI_CLUSTER,
              parameters_select),
    GLOB_CASE(
        "collection",
        "glob-without-parameters-selects",
        SECTION_GLOB,
        "The members in the response have the context parameters of the request and no others.",
        UDPAI_SHOULD,
        UDPAI_CLUSTER,
        no_parameters_select),
    GLOB_CASE("collection",
              "glob-is-no-wildcard",
              SECTION_GLOB,
              "A client that subscribes to a collection receives its members, and nothing else.",
              UDPAI_SHOULD,
              UDPAI_CLUSTER,
              is_no_wildcard),
    GLOB_CASE("collection",
              "glob-left-is-silent",
              "Unsubscribing from Resources",
              "The server sends nothing that the client has unsubscribed from.",
              UDPAI_SHOULD,
              UDPAI_CLUSTER,
              left_is_silent),
    GLOB_CASE("collection",
              "glob-is-sent-again",
              UDPAI_SECTION_SUBSCRIBING,
              "The server sends what a client subscribes to, even if the client should hold it.",
              UDPAI_MUST,
              UDPAI_CLUSTER,
              asked_again_is_sent_again),
    GLOB_CASE("collection",
              "glob-resume-vanished-is-told",
              UDPAI_SECTION_DELTA,
              "Clients that reconnect send the versions that they hold, and receive what differs: "
              "a removed member, too.",
              UDPAI_MUST,
              UDPAI_CLUSTER,
              vanished_is_sent),
    {.group = "leds",
     .name = "by-name",
     .section = UDPAI_SECTION_NAMES,
     .rule = "The server must send the resources that a request names and that exist.",
     .ways = UDPAI_DELTA,
     .needs = UDPAI_CAN_XDSTP,
     .kind = UDPAI_MEMBER,
     .run = udpai_case_by_name},
    COMMON("leds", UDPAI_MEMBER),
    {.group = "collection",
     .name = "list-is-served",
     .section = SECTION_LIST,
     .rule = "A collection by list is a resource like others, named by a URL.",
     .ways = UDPAI_DELTA_AGGREGATED,
     .needs = UDPAI_CAN_XDSTP,
     .kind = UDPAI_LIST,
     .run = list_is_served},
    {.group = "collection",
     .name = "list-is-wrapped",
     .section = SECTION_LIST,
     .rule = "Lists exist in SotW as well; they do not contain their name, so the server sends "
             "them in a Resource, to clients that announce that they can read it.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_SOTW_AGGREGATED,
     .needs = UDPAI_CAN_XDSTP,
     .kind = UDPAI_LIST,
     .run = list_is_served},
    {.group = "collection",
     .name = "list-follows-changes",
     .section = SECTION_LIST,
     .rule = "When a resource changes, the server sends it to its subscribers.",
     .ways = UDPAI_DELTA_AGGREGATED,
     .needs = UDPAI_NEEDS_CHANGES | UDPAI_CAN_XDSTP,
     .kind = UDPAI_LIST,
     .run = list_follows_changes},
};

const udpai_cases udpai_cases_collections = {cases, UDPAI_ARRAY_LEN(cases)};
