/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of what a client has asked for: in all four variants. */
#include "tools/conform/cases.h"

#define UPDATES 5

static void
update_under_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
last_update_counts(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    for (size_t i = 0; i < UPDATES; i++)
        udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
two_updates(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
unrelated_change(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_A_B);
}

static void
removal_of_last(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_B);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(session, script->kind, "b");
}

static void
return_after_removal(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(session, script->kind, "b");
    udpai_set(script, script->kind, "b");
    udpai_expect(session, script->kind, UDPAI_B);
}

/* SotW cannot remove endpoints. */
static void
endpoints_return(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    if (script->is_delta)
        udpai_expect_removed(session, script->kind, "b");
    else
        udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect(session, script->kind, UDPAI_B);
}

/* The version of a resource is that of its response, where it has none itself. */
static const char *
version_of(udpai_test_session *session, udpai_kind kind, const char *name)
{
    const udpai_update *update = udpai_last_of(session, kind, name);
    if (!update)
        return "";
    return *update->version ? update->version : session->responses.items[update->response].version;
}

static void
version_changes(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const char *before = version_of(session, script->kind, "a");
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_require(script, strcmp(before, version_of(session, script->kind, "a")) != 0,
                  "the content changed and its version did not: it is '%s'", before);
}

static void
version_stays(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_test_session *other = udpai_begin_with(script, UDPAI_A);
    const char *first = version_of(session, script->kind, "a");
    const char *second = version_of(other, script->kind, "a");
    udpai_require(script, strcmp(first, second) == 0,
                  "the same content has the version '%s' on one stream and '%s' on another", first,
                  second);
}

#define RULE_UPDATE "When a resource changes, the server sends it to its subscribers."
#define RULE_DELETE                                                                                \
    "The server reports a removal: in delta in removed_resources, in SotW by a full set of "       \
    "clusters or listeners without it."

#define CHANGE(label, about, text, type, function)                                                 \
    {                                                                                              \
        .name = (label), .section = (about), .rule = (text), .ways = UDPAI_ALL_WAYS,               \
        .needs = UDPAI_NEEDS_CHANGES, .kind = (type), .run = (function)                            \
    }

static const udpai_case cases[] = {
    CHANGE(
        "update-listener", UDPAI_SECTION_OVERVIEW, RULE_UPDATE, UDPAI_LISTENER, udpai_case_update),
    CHANGE("update-route", UDPAI_SECTION_OVERVIEW, RULE_UPDATE, UDPAI_ROUTES, udpai_case_update),
    CHANGE("update-cluster", UDPAI_SECTION_OVERVIEW, RULE_UPDATE, UDPAI_CLUSTER, udpai_case_update),
    CHANGE(
        "update-endpoint", UDPAI_SECTION_OVERVIEW, RULE_UPDATE, UDPAI_ENDPOINTS, udpai_case_update),
    CHANGE("update-under-wildcard",
           UDPAI_SECTION_OVERVIEW,
           RULE_UPDATE,
           UDPAI_CLUSTER,
           update_under_wildcard),
    CHANGE("update-twice",
           UDPAI_SECTION_OVERVIEW,
           "Servers may send further responses at any time; an ACK does not end a subscription.",
           UDPAI_ENDPOINTS,
           two_updates),
    CHANGE("update-last-counts",
           UDPAI_SECTION_ORDER,
           "If changes follow each other fast, clients end with the last one.",
           UDPAI_CLUSTER,
           last_update_counts),
    {.name = "unrelated-change-is-silent",
     .section = UDPAI_SECTION_UPDATE,
     .rule = "The server sends an update only if the resources in the response have changed.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_ENDPOINTS,
     .run = unrelated_change},
    CHANGE("new-under-wildcard",
           UDPAI_SECTION_NAMES,
           RULE_UPDATE,
           UDPAI_CLUSTER,
           udpai_case_new_under_wildcard),
    CHANGE(
        "removal-cluster", UDPAI_SECTION_DELETING, RULE_DELETE, UDPAI_CLUSTER, udpai_case_removal),
    CHANGE("removal-listener",
           UDPAI_SECTION_DELETING,
           RULE_DELETE,
           UDPAI_LISTENER,
           udpai_case_removal),
    CHANGE("removal-under-wildcard",
           UDPAI_SECTION_DELETING,
           RULE_DELETE,
           UDPAI_CLUSTER,
           udpai_case_removal_under_wildcard),
    CHANGE("removal-of-last",
           UDPAI_SECTION_DELETING,
           "The server sends a set of clusters or listeners that has become empty.",
           UDPAI_LISTENER,
           removal_of_last),
    CHANGE("removed-cluster-returns",
           UDPAI_SECTION_MISSING,
           "A removal does not end a subscription: the server sends the resource when it exists "
           "again.",
           UDPAI_CLUSTER,
           return_after_removal),
    CHANGE("removed-endpoint-returns",
           UDPAI_SECTION_MISSING,
           "A removal does not end a subscription: the server sends the resource when it exists "
           "again.",
           UDPAI_ENDPOINTS,
           endpoints_return),
    CHANGE("version-changes",
           UDPAI_SECTION_ACK,
           "Whenever a resource changes, the version changes.",
           UDPAI_CLUSTER,
           version_changes),
    {.name = "version-stays",
     .section = UDPAI_SECTION_ACK,
     .rule = "A version belongs to the resources, not to a stream.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_CLUSTER,
     .run = version_stays},
};

const udpai_cases udpai_cases_change = {cases, UDPAI_ARRAY_LEN(cases)};
