/* SPDX-License-Identifier: Apache-2.0 */
/* A node that was restored from a backup is told by its standby what it has said since; and what
 * it has let go of itself does not come back. */
#include "base/proto.h"
#include "model/removal.h"
#include "tests/harness/signing.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"
#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const fed_peer registrar = {.id = "registrar", .is_plain = true};
static const udpai_str endpoints[] = {T(TEST_EDS)}, prefixes[] = {T(ACME)}, source_a[] = {T("a")},
                       registrars[] = {T("registrar")}, everybody[] = {T("*")};

/* What the standby has of this node; and the backup. */
typedef struct past {
    udpa_resource *x, *y, *z;
    fed_disk backup;
} past;

static void
say(fed_bed *bed, const char *words)
{
    uint64_t session = fed_arrive(bed, &registrar);
    assert_string_equal(fed_publish_at(bed, session, "EDS", words), "");
    fed_leave(bed, session, false);
    fed_advance(bed, 1000);
}

static void
back_up(const fed_bed *bed, fed_disk *backup)
{
    for (size_t i = 0; i < bed->kept.n; i++)
        fed_disk_do(backup, &bed->kept.items[i]);
}

static udpa_resource *
find(const fed_bed *bed, const char *key, const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), "com.acme/%s", name);
    udpai_store *store = udpai_node_store(bed->node);
    const udpai_origin *origin = udpai_store_find_origin(store, udpai_str_from(key));
    udpai_contribution found;
    return origin &&
                   udpai_store_get(store, origin, UDPAI_STR(TEST_EDS), udpai_str_from(full), &found)
               ? found.resource
               : NULL;
}

static udpa_resource *
own(const fed_bed *bed, const char *name)
{
    return find(bed, "publisher:/registrar", name);
}

/* As the standby has it, behind a hop of its own. */
static udpa_resource *
as_seen(const udpa_resource *resource)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *seen = NULL;
    room.hops[parts.n_hops++] = (udpai_hop){
        .node_id = UDPAI_STR("a"), .authority = UDPAI_STR("node"), .instance = UDPAI_STR("a")};
    parts.hops = room.hops;
    parts.hop_path = NULL;
    assert_ok(udpai_resource_make(&seen, &parts));
    return seen;
}

static void
recover_from_a(fed_bed *bed)
{
    bed->sources[0].recover = (udpai_recover_config){endpoints, 1, prefixes, 1};
}

/* The backup has x=1 and z; then came x=2 and y, and z went. */
static past
begin(fed_bed *bed)
{
    past memory = {0};
    recover_from_a(bed);
    fed_start(bed);
    fed_advance(bed, 5000);
    say(bed, "x=1 z=1");
    back_up(bed, &memory.backup);
    fed_advance(bed, 5000);
    memory.z = as_seen(own(bed, "z"));
    say(bed, "x=2 y=2");
    say(bed, "-z");
    memory.x = as_seen(own(bed, "x"));
    memory.y = as_seen(own(bed, "y"));
    return memory;
}

static void
done(past *memory)
{
    udpa_resource_unref(memory->x);
    udpa_resource_unref(memory->y);
    udpa_resource_unref(memory->z);
    fed_disk_done(&memory->backup);
}

static void
restore(fed_bed *bed, past *memory)
{
    fed_disk_done(&bed->kept);
    bed->kept = (fed_disk){0};
    for (size_t i = 0; i < memory->backup.n; i++)
        fed_disk_do(&bed->kept, &memory->backup.items[i]);
    fed_advance(bed, 5000);
    fed_restart(bed);
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
}

static const char *
offer(fed_bed *bed, udpa_resource *resource)
{
    return fed_put(bed, bed->sessions[0], udpa_resource_ref(resource), false);
}

/* What it removed itself, as it comes back. */
static void
offer_removal(fed_bed *bed, const udpa_resource *gone)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(gone, &room);
    parts.generation += 1000000;
    parts.n_hops = 1;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = NULL;
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_EDS)));
    assert_ok(udpai_removal_make(&said, UDPAI_STR(TEST_EDS), &parts));
    assert_ok(udpai_publication_remove_stated(publication, udpai_resource_name(gone), said));
    assert_string_equal(fed_judge(bed, bed->sessions[0], publication), "");
}

/* A number of the first source's status. */
static void
take_number(void *userdata, udpai_str name, udpa_bytes *status)
{
    uint64_t *number = userdata;
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_str_eq(name, UDPAI_STR("a")) && udpai_proto_next(&reader, &field))
        if (field.number == number[0])
            number[1] = field.value;
}

static uint64_t
status_of_a(const fed_bed *bed, uint64_t number)
{
    uint64_t found[2] = {number, 0};
    assert_ok(udpai_node_visit_sources(bed->node, take_number, found));
    return found[1];
}

#define N_TAKEN_OVER 16
#define N_DIFFERING 18
#define NOT_RECOVERED 20

static void
what_was_said_since_the_backup_comes_back(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    restore(bed, &memory);
    assert_value(bed, "EDS", "x", "1");
    assert_string_equal(offer(bed, memory.x), "");
    assert_string_equal(offer(bed, memory.y), "");
    offer_removal(bed, memory.z);
    assert_value(bed, "EDS", "x", "2");
    assert_value(bed, "EDS", "y", "2");
    assert_value(bed, "EDS", "z", "");
    assert_int_equal(status_of_a(bed, N_TAKEN_OVER), 2);
    assert_int_equal(status_of_a(bed, N_DIFFERING), 0);
    /* it is as it was: in the same generation, from the same publisher, and nobody else's */
    assert_int_equal(udpa_resource_generation(own(bed, "y")), udpa_resource_generation(memory.y));
    assert_int_equal(udpa_resource_n_hops(own(bed, "y")), 1);
    assert_null(find(bed, "source:a", "y"));
    fed_restart(bed);
    assert_value(bed, "EDS", "x", "2");
    assert_value(bed, "EDS", "y", "2");
    assert_value(bed, "EDS", "z", "");
    say(bed, "-y x=3"); /* who had published it may change it */
    assert_value(bed, "EDS", "y", "");
    assert_value(bed, "EDS", "x", "3");
    done(&memory);
}

/* Of another instance, as a directory that was copied is. */
static void
a_copy_takes_back_what_it_was(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    bed->config.instance = UDPAI_STR("another");
    restore(bed, &memory);
    assert_string_equal(offer(bed, memory.x), "");
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "x", "2");
    assert_value(bed, "EDS", "y", "2");
    assert_true(udpai_str_eq(udpai_resource_hop(own(bed, "y"), 0).instance, UDPAI_STR("another")));
    done(&memory);
}

/* Nothing was lost: what the other has is old. */
static void
what_was_let_go_of_does_not_come_back(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    fed_advance(bed, 4000000); /* nobody remembers that z has gone */
    fed_connect(bed, 'a');
    assert_string_equal(offer(bed, memory.z), "");
    assert_value(bed, "EDS", "z", "");
    fed_restart(bed);
    fed_connect(bed, 'a');
    assert_string_equal(offer(bed, memory.z), "");
    assert_value(bed, "EDS", "z", "");
    assert_string_equal(offer(bed, memory.x), "");
    assert_int_equal(status_of_a(bed, N_TAKEN_OVER), 0);
    assert_int_equal(status_of_a(bed, N_DIFFERING), 0);
    done(&memory);
}

/* Nor does what was taken back and has gone then. */
static void
what_was_taken_back_may_go(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    restore(bed, &memory);
    assert_string_equal(offer(bed, memory.y), "");
    say(bed, "-y");
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "y", "");
    fed_restart(bed);
    fed_connect(bed, 'a');
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "y", "");
    done(&memory);
}

/* Nobody remembers for longer what has gone: then what was lost, taken back, and has gone would
 * come once more. */
static void
what_is_lost_is_taken_back_while_removals_are_remembered(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    restore(bed, &memory);
    assert_string_equal(offer(bed, memory.y), "");
    say(bed, "-y");
    fed_advance(bed, 10000000);
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "y", "");
    done(&memory);
}

/* Without its disk it has lost everything. */
static void
an_empty_node_takes_back_all(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    fed_disk_done(&memory.backup);
    restore(bed, &memory);
    assert_string_equal(offer(bed, memory.x), "");
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "x", "2");
    assert_value(bed, "EDS", "y", "2");
    done(&memory);
}

/* ---- who may ---- */

static udpai_acl *
rules_for(const udpai_str *on_behalf_of)
{
    const udpai_acl_rule rules[] = {
        {.name = T("registrar"),
         .identities = registrars,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH},
        {.name = T("a"),
         .identities = source_a,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH,
         .on_behalf_of = on_behalf_of,
         .n_on_behalf_of = on_behalf_of != NULL},
    };
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &(udpai_acl_options){.rules = rules, .n_rules = 2}));
    return acl;
}

/* Whoever may not speak for the authority changes nothing, however high the generation. */
static void
a_rule_must_let_it(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    bed->config.acl = rules_for(NULL);
    restore(bed, &memory);
    assert_non_null(strstr(offer(bed, memory.x), "on behalf of"));
    assert_non_null(strstr(offer(bed, memory.y), "on behalf of"));
    offer_removal(bed, memory.z);
    assert_value(bed, "EDS", "x", "1");
    assert_value(bed, "EDS", "y", "");
    assert_value(bed, "EDS", "z", "1");
    assert_int_equal(status_of_a(bed, N_DIFFERING), 3);
    udpai_acl_unref(bed->config.acl);
    fed_rule(bed, rules_for(everybody));
    bed->config.acl = NULL;
    assert_string_equal(offer(bed, memory.x), "");
    assert_value(bed, "EDS", "x", "2");
    assert_int_equal(status_of_a(bed, N_DIFFERING), 2);
    done(&memory);
}

/* Where signatures are demanded, what comes back without one is refused, in words. */
static void
a_signature_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    const udpai_signature_requirement required = {.prefixes = prefixes, .n_prefixes = 1};
    const udpai_keyring_options keys = {
        .required = &required, .n_required = 1, .validity_s = 36000, .skew_s = 60};
    assert_ok(udpai_keyring_new(&bed->config.keyring, &keys));
    restore(bed, &memory);
    assert_non_null(strstr(offer(bed, memory.y), "sign"));
    assert_value(bed, "EDS", "y", "");
    assert_int_equal(status_of_a(bed, N_DIFFERING), 1);
    udpai_keyring_unref(bed->config.keyring);
    bed->config.keyring = NULL;
    done(&memory);
}

/* A node that signs for the authority signs nothing that others say it had. */
static void
what_comes_back_unsigned_is_not_signed(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    test_key ours = test_key_new(UDPAI_KEY_ED25519);
    const udpai_named_key key = {
        .authority = UDPAI_STR("registrar"), .key_id = UDPAI_STR("k"), .key = ours.private_key};
    const udpai_keyring_options keys = {
        .signing = &key, .n_signing = 1, .validity_s = 36000, .skew_s = 60};
    assert_ok(udpai_keyring_new(&bed->config.keyring, &keys));
    restore(bed, &memory);
    assert_non_null(strstr(offer(bed, memory.y), "without a signature"));
    assert_value(bed, "EDS", "y", "");
    udpai_keyring_unref(bed->config.keyring);
    bed->config.keyring = NULL;
    test_key_done(&ours);
    done(&memory);
}

/* ---- on purpose ---- */

static void
restored_on_purpose_it_counts(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    bed->config.is_restored = true;
    restore(bed, &memory);
    assert_orders(bed, ""); /* it is not even asked */
    assert_int_equal(status_of_a(bed, NOT_RECOVERED), 1);
    assert_value(bed, "EDS", "x", "1");
    assert_true(udpa_resource_generation(own(bed, "x")) > udpa_resource_generation(memory.x));
    assert_true(udpa_resource_generation(own(bed, "z")) > udpa_resource_generation(memory.z));
    bed->config.is_restored = false;
    fed_advance(bed, 1000);
    fed_restart(bed);
    fed_connect(bed, 'a');
    assert_string_equal(offer(bed, memory.x), "");
    assert_string_equal(offer(bed, memory.y), "");
    assert_value(bed, "EDS", "x", "1");
    assert_value(bed, "EDS", "y", "");
    assert_int_equal(status_of_a(bed, NOT_RECOVERED), 0);
    done(&memory);
}

/* ---- the other side ---- */

/* A source that says something older than what came by it before. */
static void
what_differs_is_told(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    for (uint64_t generation = 5; generation > 2; generation -= 2)
        (void)fed_put(bed, bed->sessions[0],
                      RESOURCE("com.acme/x", .type = TEST_EDS, .value = "1", .version = "1",
                               .authority = "registrar", .generation = generation,
                               .hops = {{"a", "registrar"}}),
                      false);
    assert_int_equal(status_of_a(bed, N_DIFFERING), 1);
    for (int is_refresh = 1; is_refresh >= 0; is_refresh--) {
        (void)fed_put(bed, bed->sessions[0],
                      RESOURCE("com.acme/x", .type = TEST_EDS, .value = "1", .version = "1",
                               .authority = "registrar", .generation = 5,
                               .hops = {{"a", "registrar"}}),
                      is_refresh);
        assert_int_equal(status_of_a(bed, N_DIFFERING), 0);
    }
}

/* ---- memory ---- */

static void
without_memory_it_comes_with_the_next_stream(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    size_t n_lost = 0;
    for (long n = 0; n < 80; n++) {
        restore(bed, &memory);
        (void)fed_orders(bed);
        fed_short(bed, n / 2, n % 2);
        (void)offer(bed, memory.y);
        if (strcmp(fed_value(bed, "EDS", "y"), "2") != 0) {
            n_lost++;
            (void)fed_publish(bed, 'a', "EDS", "!com.acme");
            assert_false(fed_settled(bed, "EDS", ACME));
            fed_close(bed, 'a');
            fed_connect(bed, 'a');
            (void)offer(bed, memory.y);
        }
        assert_value(bed, "EDS", "y", "2");
        assert_value(bed, "EDS", "x", "1");
    }
    assert_in_range(n_lost, 3, 75);
    done(&memory);
}

/* What had a ttl lives as long again: its publisher renews it. */
static void
what_comes_back_with_a_ttl_lives(void **state)
{
    fed_bed *bed = *state;
    past memory = begin(bed);
    restore(bed, &memory);
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(memory.y, &room);
    parts.ttl_ms = 30000;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *leased = NULL;
    assert_ok(udpai_resource_make(&leased, &parts));
    assert_string_equal(offer(bed, leased), "");
    fed_advance(bed, 29000);
    assert_value(bed, "EDS", "y", "2");
    fed_advance(bed, 2000);
    assert_value(bed, "EDS", "y", "");
    done(&memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_was_said_since_the_backup_comes_back),
        fed_test(a_copy_takes_back_what_it_was),
        fed_test(what_was_let_go_of_does_not_come_back),
        fed_test(what_was_taken_back_may_go),
        fed_test(what_is_lost_is_taken_back_while_removals_are_remembered),
        fed_test(an_empty_node_takes_back_all),
        fed_test(a_rule_must_let_it),
        fed_test(a_signature_is_asked_for),
        fed_test(what_comes_back_unsigned_is_not_signed),
        fed_test(restored_on_purpose_it_counts),
        fed_test(what_differs_is_told),
        fed_test(without_memory_it_comes_with_the_next_stream),
        fed_test(what_comes_back_with_a_ttl_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
