/* SPDX-License-Identifier: Apache-2.0 */
/* What a dead node has read itself is deleted wherever it came to, and nothing else; and comes
 * again when that node does. */
#include "federation/delete_origin.h"
#include "model/removal.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"

static char told[500];

static void
start(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "!com.acme"), "");
    assert_string_equal(fed_publish(bed, 'b', "CDS", "!com.acme"), "");
    fed_advance(bed, 10000);
}

/* The node `first` has taken it from somebody (nobody: it has read it), and the source passes it
 * on.
 */
static void
bring(fed_bed *bed, char source, const char *name, const char *first, const char *taken_from)
{
    char text[64];
    snprintf(text, sizeof(text), "com.acme/%s", name);
    const char *refused =
        fed_put(bed, bed->sessions[source - 'a'],
                RESOURCE(text, .type = TEST_CDS, .value = "1", .version = "1", .authority = "acme",
                         .generation = 7, .hops = {{first, taken_from}}),
                false);
    assert_string_equal(refused, "");
}

static void
tell(void *userdata, const udpa_resource *resource, const udpa_error *kept)
{
    (void)userdata;
    size_t len = strlen(told);
    snprintf(told + len, sizeof(told) - len, "%s%s%s%s", len ? " " : "",
             udpa_resource_name(resource), kept ? ": " : "", kept ? udpa_error_message(kept) : "");
}

/* What was told, or why nothing was done. */
static const char *
delete_of(fed_bed *bed, udpai_deletion deletion)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_acl_subject subject = {0};
    deletion.subject = &subject;
    deletion.notify = tell;
    told[0] = '\0';
    if (udpai_node_delete_origin(bed->node, &deletion, &error) != UDPA_OK)
        snprintf(told, sizeof(told), "%s", udpa_error_message(error));
    return told;
}

#define DELETE(...) delete_of(bed, (udpai_deletion){__VA_ARGS__})

static void
it_ends_what_a_dead_node_has_read(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'a', "x", "r", "");
    bring(bed, 'b', "x", "r", "");
    bring(bed, 'b', "y", "r", "");
    bring(bed, 'a', "others", "q", "");
    bring(bed, 'a', "published", "r", "alice");
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r"), .is_dry_run = true),
                        "com.acme/x com.acme/y");
    assert_value(bed, "CDS", "x", "1");
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r"), .type_url = UDPAI_STR(TEST_EDS)), "");
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r"), .prefix = UDPAI_STR("org")), "");
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r"), .type_url = UDPAI_STR(TEST_CDS),
                               .prefix = UDPAI_STR(ACME)),
                        "com.acme/x com.acme/y");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "");
    assert_value(bed, "CDS", "others", "1");
    assert_value(bed, "CDS", "published", "1");
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r")), "");
    bring(bed, 'b', "x", "r", ""); /* by one who has not heard of it */
    assert_value(bed, "CDS", "x", "");
}

static void
it_is_not_for_those_who_are_there(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_non_null(strstr(DELETE(.node_id = bed->config.id), "is this node"));
    bring(bed, 'b', "x", "r", "");
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "r"});
    assert_non_null(strstr(DELETE(.node_id = UDPAI_STR("r")), "'r' is connected"));
    assert_value(bed, "CDS", "x", "1");
    fed_leave(bed, session, false);
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r")), "com.acme/x");
}

static void
it_takes_the_right_to_it(void **state)
{
    fed_bed *bed = *state;
    static const udpai_str anybody = UDPAI_STR("*"), prefix = UDPAI_STR("com.acme/y");
    static const udpai_acl_rule rules[] = {
        {.name = UDPAI_STR("all"),
         .identities = &anybody,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH,
         .on_behalf_of = &anybody,
         .n_on_behalf_of = 1},
        {.name = UDPAI_STR("some"),
         .identities = &anybody,
         .n_identities = 1,
         .actions = UDPAI_ACL_ADMIN,
         .prefixes = &prefix,
         .n_prefixes = 1},
    };
    udpai_acl *acl = NULL;
    start(bed);
    bring(bed, 'a', "x", "r", "");
    bring(bed, 'a', "y", "r", "");
    assert_ok(udpai_acl_new(&acl, &(udpai_acl_options){.rules = rules, .n_rules = 2}));
    fed_rule(bed, acl);
    DELETE(.node_id = UDPAI_STR("r"));
    assert_non_null(strstr(told, "com.acme/x: "));
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "");
}

/* It is told, and nothing else of it. */
static void
who_has_read_it_is_told_when_it_returns(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    bring(bed, 'b', "x", "r", "");
    fed_close(bed, 'a');
    assert_string_equal(DELETE(.node_id = UDPAI_STR("r")), "com.acme/x");
    fed_advance(bed, 20000);
    (void)fed_orders(bed);
    bring(bed, 'b', "x", "r", "");
    assert_orders(bed, ""); /* this one has not read it */
    fed_connect_as(bed, 'a', &(fed_peer){.id = "r"});
    (void)fed_orders(bed);
    bring(bed, 'a', "x", "r", "");
    assert_orders(bed, "tell a");
    assert_value(bed, "CDS", "x", "");
}

/* ---- the one who has read it ---- */

static uint64_t
generation_of(fed_bed *bed, const char *name)
{
    return udpai_store_highest_generation(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS),
                                          udpai_str_from(name));
}

static bool
note_authority(void *userdata, const udpai_contribution *contribution)
{
    udpai_str authority = udpai_resource_authority(contribution->resource);
    snprintf(userdata, 64, "%.*s", (int)authority.len, authority.data);
    return false;
}

static void
hear_that_it_is_gone(fed_bed *bed, uint64_t session, const char *name, uint64_t generation)
{
    static char authority[64] = "acme";
    udpai_store_visit_name(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS), udpai_str_from(name),
                           note_authority, authority);
    const udpai_hop hop = {.node_id = bed->config.id, .time_us = 1};
    const udpai_resource_parts parts = {
        .name = udpai_str_from(name),
        .authority = udpai_str_from(authority),
        .generation = generation,
        .hops = &hop,
        .n_hops = 1,
    };
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = NULL;
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_CDS)));
    assert_ok(udpai_removal_make(&said, UDPAI_STR(TEST_CDS), &parts));
    assert_ok(udpai_publication_remove_stated(publication, udpai_str_from(name), said));
    assert_string_equal(fed_judge(bed, session, publication), "");
}

static void
read_xds(fed_bed *bed)
{
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
}

static void
start_reading(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false});
    bed->sources[0].kind = UDPAI_SOURCE_XDS;
    fed_start(bed);
    read_xds(bed);
}

static void
what_is_still_read_takes_the_next_generation(void **state)
{
    fed_bed *bed = *state;
    start_reading(bed);
    uint64_t before = generation_of(bed, "com.acme/x"), after = before + 1000;
    uint64_t other = generation_of(bed, "com.acme/y");
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "below"});
    hear_that_it_is_gone(bed, session, "com.acme/x", before - 1); /* it was said anew since */
    assert_int_equal(generation_of(bed, "com.acme/x"), before);
    hear_that_it_is_gone(bed, session, "com.acme/x", after);
    assert_value(bed, "CDS", "x", "1");
    assert_true(generation_of(bed, "com.acme/x") > after);
    before = generation_of(bed, "com.acme/x");
    hear_that_it_is_gone(bed, session, "com.acme/x", after); /* by another one, later */
    hear_that_it_is_gone(bed, session, "com.acme/nobodys", after);
    hear_that_it_is_gone(bed, session, "com.acme/y", UINT64_MAX); /* from the future */
    assert_int_equal(generation_of(bed, "com.acme/x"), before);
    assert_int_equal(generation_of(bed, "com.acme/y"), other);
    assert_value(bed, "CDS", "y", "1");
}

/* What was kept may have gone meanwhile. */
static void
what_was_kept_must_be_read_before(void **state)
{
    fed_bed *bed = *state;
    start_reading(bed);
    uint64_t before = generation_of(bed, "com.acme/x"), after = before + 1000;
    fed_restart(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "below"});
    hear_that_it_is_gone(bed, session, "com.acme/x", after);
    hear_that_it_is_gone(bed, session, "com.acme/y", after);
    fed_advance(bed, 1000);
    assert_int_equal(generation_of(bed, "com.acme/x"), before);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "-y !com.acme"); /* the rest is as it was */
    assert_value(bed, "CDS", "x", "1");
    assert_true(generation_of(bed, "com.acme/x") > after);
    assert_value(bed, "CDS", "y", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(it_ends_what_a_dead_node_has_read),
        fed_test(it_is_not_for_those_who_are_there),
        fed_test(it_takes_the_right_to_it),
        fed_test(who_has_read_it_is_told_when_it_returns),
        fed_test(what_is_still_read_takes_the_next_generation),
        fed_test(what_was_kept_must_be_read_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
