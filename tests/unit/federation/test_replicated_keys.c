/* SPDX-License-Identifier: Apache-2.0 */
/* A replica that lacks a key for secrets: it keeps what it has of them, and does not say of any
 * that it is not there. */
#include "federation/problems.h"
#include "model/name.h"
#include "tests/unit/federation/replicated_bed.h"

/* These cannot be decrypted, of ALICE; none: all can. */
static void
tell_locked(fed_bed *bed, const char *const *names, size_t n)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_KEYS);
    event->batch = new_batch();
    for (size_t i = 0; i < n; i++)
        add_delete(event->batch, ALICE, names[i]);
    if (n)
        event->error = udpa_error_new(UDPA_ERR_PRECONDITION, NULL, "no key for %zu", n);
    udpai_node_replicated(bed->node, event);
}

static void
tell_locked_one(fed_bed *bed, const char *name)
{
    tell_locked(bed, &name, 1);
}

static bool
is_settled(fed_bed *bed, const char *name)
{
    return udpai_settled_query_name(udpai_node_settled(bed->node), UDPAI_STR(TEST_CDS),
                                    udpai_str_from(name), (udpai_str){0}) == UDPAI_SETTLED;
}

static void
what_is_locked_stays_when_all_is_read_anew(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    others_put(bed, ALICE, "com.acme/x", "1", 1);
    others_put(bed, ALICE, "com.acme/y", "1", 1);
    others_put(bed, BOB, "com.acme/x", "1", 1);
    tell_locked_one(bed, "com.acme/x");
    tell_change(bed, new_batch(), true);
    flush(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_false(is_there(bed, "y"));
    others_put(bed, ALICE, "com.acme/x", "2", 2); /* with the key */
    tell_locked(bed, NULL, 0);
    flush(bed);
    assert_value(bed, "CDS", "x", "2");
    tell_change(bed, new_batch(), true);
    flush(bed);
    assert_false(is_there(bed, "x"));
}

static void
nothing_is_said_of_what_is_locked(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    flush(bed);
    assert_true(is_settled(bed, "com.acme/x") && is_settled(bed, "com.acme/y"));
    tell_locked_one(bed, "com.acme/x");
    flush(bed);
    assert_false(is_settled(bed, "com.acme/x"));
    assert_true(is_settled(bed, "com.acme/y"));
    tell_locked(bed, NULL, 0);
    flush(bed);
    assert_true(is_settled(bed, "com.acme/x"));
}

static void
of_too_many_nothing_is_said_of_their_type(void **state)
{
    fed_bed *bed = *state;
    static char texts[65][40];
    const char *names[65];
    (void)arrive(bed, &alice);
    for (int i = 0; i < 65; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "com.acme/n%d", i);
        names[i] = texts[i];
    }
    tell_locked(bed, names, 64);
    flush(bed);
    assert_false(is_settled(bed, "com.acme/n63"));
    assert_true(is_settled(bed, "com.acme/n64"));
    tell_locked(bed, names, 65);
    flush(bed);
    assert_false(is_settled(bed, "com.acme/n64"));
    assert_false(is_settled(bed, "com.acme/other"));
    assert_true(udpai_settled_query_name(udpai_node_settled(bed->node), UDPAI_STR(TEST_TYPE),
                                         UDPAI_STR("com.acme/x"), (udpai_str){0}) == UDPAI_SETTLED);
}

/* What it has may not be what etcd has. */
static void
what_is_published_again_is_proposed(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    publish(bed, session, "x=1");
    assert_proposed(0, ""); /* it is only asked whether there is something newer */
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    tell_locked_one(bed, "com.acme/x");
    flush(bed);
    publish(bed, session, "x=1");
    assert_proposed(0, "+alice x=1");
    end_first(bed, UDPAI_REPLICATED_REJECTED,
              udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "no key for it"));
    assert_non_null(strstr(bed->judged, "no key for it"));
    assert_value(bed, "CDS", "x", "1");
}

/* A fresh replica has never had it. */
static void
what_it_never_had_is_not_removed(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    tell_locked_one(bed, "com.acme/x");
    flush(bed);
    publish(bed, session, "-x");
    assert_int_equal(bed->n_judged, 1);
    assert_non_null(
        strstr(bed->judged, "'com.acme/x': this replica does not have it, for it lacks a key"));
    publish(bed, session, "-y"); /* there is none */
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_string_equal(bed->judged, "");
}

/* Of one type it is there: none is removed, for it has one answer. */
static void
what_is_locked_in_one_type_is_removed_in_none(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "EDS", "x=1");
    publish(bed, session, "y=1");
    commit_all(bed);
    tell_locked_one(bed, "com.acme/x");
    flush(bed);
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/x")));
    assert_non_null(strstr(fed_judge(bed, session, publication), "it lacks a key"));
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "EDS", "x", "1");
}

/* What is amiss with the message itself stays. */
static void
what_was_refused_is_decided_anew(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    publish(bed, session, "x=1");
    commit_all(bed);
    tell_locked_one(bed, "com.acme/y");
    flush(bed);
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_CDS)));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/y")));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/z")));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bad = cluster("com.acme/bad", "1", 5);
    assert_ok(udpai_publication_add(publication, bad, false));
    publication->entries.items[0].error = udpa_error_new(UDPA_ERR_INVAL, NULL, "malformed");
    (void)fed_judge(bed, session, publication);
    assert_proposed(0, "");
    others_put(bed, ALICE, "com.acme/y", "1", 5);
    tell_locked(bed, NULL, 0);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_proposed(0, "!y, -alice y");
    commit_first(bed);
    assert_string_equal(bed->judged, "malformed");
}

/* ---- what is amiss ---- */

static char problems[4000];

static void
note_problem(void *userdata, const char *text)
{
    (void)userdata;
    size_t len = strlen(problems);
    (void)snprintf(problems + len, sizeof(problems) - len, "%s\n", text);
}

static const char *
look(fed_bed *bed)
{
    problems[0] = '\0';
    udpai_node_visit_problems(bed->node, note_problem, NULL);
    return problems;
}

static void
set_member(udpai_replica_member *member, const char *id, const char *keys, const char *missing)
{
    member->id = bytes_of(id);
    member->version = bytes_of("1");
    member->address = bytes_of("host");
    member->config = bytes_of("same");
    member->keys = keys ? bytes_of(keys) : NULL;
    member->missing = missing ? bytes_of(missing) : NULL;
}

static void
tell_keys_of_members(fed_bed *bed, const char *own, const char *keys, const char *missing)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_MEMBERS);
    set_member(&event->members[0], "me", own, NULL);
    event->members[0].is_own = true;
    set_member(&event->members[1], "other", keys, missing);
    event->n_members = 2;
    event->membership = UDPAI_MEMBERSHIP_JOINED;
    udpai_node_replicated(bed->node, event);
    flush(bed);
}

static void
other_keys_are_a_problem(void **state)
{
    fed_bed *bed = *state;
    (void)arrive(bed, &alice);
    tell_keys_of_members(bed, "k1 k2", "k1 k2", NULL);
    assert_string_equal(look(bed), "");
    tell_keys_of_members(bed, "k1 k2", "k2 k1", "");
    assert_non_null(strstr(look(bed), "other, host, has other store.keys than this one (k2 k1, not "
                                      "k1 k2)"));
    tell_keys_of_members(bed, "k1", "k1", "k3 k4");
    assert_non_null(strstr(look(bed), "is not ready: it cannot decrypt secrets that are encrypted "
                                      "with k3 k4"));
    tell_keys_of_members(bed, "k1", NULL, NULL); /* an older version */
    assert_non_null(strstr(look(bed), "(none, not k1)"));
    tell_keys_of_members(bed, NULL, NULL, NULL);
    assert_string_equal(look(bed), "");
    tell_locked_one(bed, "com.acme/x");
    flush(bed);
    assert_string_equal(look(bed), "no key for 1\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(what_is_locked_stays_when_all_is_read_anew),
        replicated_test(nothing_is_said_of_what_is_locked),
        replicated_test(of_too_many_nothing_is_said_of_their_type),
        replicated_test(what_is_published_again_is_proposed),
        replicated_test(what_it_never_had_is_not_removed),
        replicated_test(what_is_locked_in_one_type_is_removed_in_none),
        replicated_test(what_was_refused_is_decided_anew),
        replicated_test(other_keys_are_a_problem),
    };
    return cmocka_run_group_tests_name("federation replicated_keys", tests, NULL, NULL);
}
