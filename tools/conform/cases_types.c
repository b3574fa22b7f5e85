/* SPDX-License-Identifier: Apache-2.0 */
/* Types besides the four that every server has: scopes of routes, extensions, secrets, runtime.
 * Much of what is tried here is tried of clusters, too; servers that keep a list of types of their
 * own have forgotten one in one place or another. */
#include "tools/conform/cases.h"

static void
unknown_is_reported(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("nobody"));
    udpai_expect_removed(session, script->kind, "nobody");
}

/* A server that sends a changed one has not removed the others, and continues to send them. */
static void
update_spares_others(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    const udpai_update *update = udpai_update_of(session, script->kind, "b");
    udpai_require(script, !update || !update->is_removal,
                  "%s changed, and %s was reported as removed",
                  udpai_world_name(&script->stage->world, script->kind, "a"),
                  udpai_world_name(&script->stage->world, script->kind, "b"));
    udpai_set(script, script->kind, "b");
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
refused_is_not_sent_again(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_test_session_mark(session);
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

static void
whole_under_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_require(script,
                  !udpai_is_running(script) || udpai_count_in_last(session, script->kind, "b") >= 1,
                  "one scope has changed, and the response lacks another: an Envoy takes that for "
                  "deleted");
}

#define RULE_SUPPLY "The server must send the resources that a request names and that exist."
#define RULE_UPDATE "When a resource changes, the server sends it to its subscribers."
#define RULE_APPEARS "Servers remember subscriptions, and send a resource when it is created."
#define RULE_MISSING "The server reports a requested name that does not exist in removed_resources."
#define RULE_DELETE "In delta the server reports a removal in removed_resources."
#define RULE_WHOLE_NAMES                                                                           \
    "Each resource is a unit: an update of one does not affect others of its type."

#define TYPE_CASE(label, about, text, how, which, needs_of_it, type, function)                     \
    {                                                                                              \
        .group = "types", .name = (label), .section = (about), .rule = (text), .level = (how),     \
        .ways = (which), .needs = (needs_of_it), .kind = (type), .run = (function)                 \
    }
/* The six that all of them have. */
#define COMMON(word, type)                                                                         \
    TYPE_CASE("initial-" word, UDPAI_SECTION_NAMES, RULE_SUPPLY, UDPAI_MUST, UDPAI_ALL_WAYS, 0,    \
              type, udpai_case_by_name),                                                           \
        TYPE_CASE("update-" word, UDPAI_SECTION_OVERVIEW, RULE_UPDATE, UDPAI_MUST, UDPAI_ALL_WAYS, \
                  UDPAI_NEEDS_CHANGES, type, udpai_case_update),                                   \
        TYPE_CASE("missing-" word "-appears", UDPAI_SECTION_MISSING, RULE_APPEARS, UDPAI_MUST,     \
                  UDPAI_ALL_WAYS, UDPAI_NEEDS_CHANGES, type, udpai_case_missing_appears),          \
        TYPE_CASE("unknown-" word "-is-told", UDPAI_SECTION_MISSING, RULE_MISSING, UDPAI_MUST,     \
                  UDPAI_DELTA, 0, type, unknown_is_reported),                                      \
        TYPE_CASE("removal-" word, UDPAI_SECTION_DELETING, RULE_DELETE, UDPAI_MUST, UDPAI_DELTA,   \
                  UDPAI_NEEDS_CHANGES, type, udpai_case_removal),                                  \
        TYPE_CASE("update-spares-other-" word "s", UDPAI_SECTION_GROUPING, RULE_WHOLE_NAMES,       \
                  UDPAI_MUST, UDPAI_ALL_WAYS, UDPAI_NEEDS_CHANGES, type, update_spares_others)

static const udpai_case cases[] = {
    COMMON("scoped-route", UDPAI_SCOPE),
    COMMON("extension", UDPAI_EXTENSION),
    COMMON("secret", UDPAI_SECRET),
    COMMON("runtime", UDPAI_RUNTIME),
    TYPE_CASE("nack-no-hot-loop-secret",
              UDPAI_SECTION_UPDATE,
              "A NACK does not cause the same response again: only a change of the resources "
              "causes a response.",
              UDPAI_MUST,
              UDPAI_ALL_WAYS,
              0,
              UDPAI_SECRET,
              refused_is_not_sent_again),
    TYPE_CASE("wildcard-scoped-route-without-names",
              UDPAI_SECTION_NAMES,
              "A client that has never named a resource of a type is subscribed to '*'; an Envoy "
              "subscribes to scopes of routes in this way.",
              UDPAI_SHOULD,
              UDPAI_ALL_WAYS,
              0,
              UDPAI_SCOPE,
              udpai_case_without_names),
    TYPE_CASE("new-scoped-route-under-wildcard",
              UDPAI_SECTION_NAMES,
              RULE_UPDATE,
              UDPAI_SHOULD,
              UDPAI_ALL_WAYS,
              UDPAI_NEEDS_CHANGES,
              UDPAI_SCOPE,
              udpai_case_new_under_wildcard),
    TYPE_CASE("whole-scoped-route-under-wildcard",
              UDPAI_SECTION_GROUPING,
              "The text requires whole states of listeners and clusters only; an Envoy also "
              "removes scopes of routes that a response lacks.",
              UDPAI_SHOULD,
              UDPAI_SOTW,
              UDPAI_NEEDS_CHANGES,
              UDPAI_SCOPE,
              whole_under_wildcard),
    TYPE_CASE("removal-scoped-route-under-wildcard",
              UDPAI_SECTION_DELETING,
              "The server reports a removal: in delta in removed_resources; in SotW an Envoy "
              "receives a state without the scope.",
              UDPAI_SHOULD,
              UDPAI_ALL_WAYS,
              UDPAI_NEEDS_CHANGES,
              UDPAI_SCOPE,
              udpai_case_removal_under_wildcard),
};

const udpai_cases udpai_cases_types = {cases, UDPAI_ARRAY_LEN(cases)};
