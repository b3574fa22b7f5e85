/* SPDX-License-Identifier: Apache-2.0 */
/* What was found good is remembered, and for how long. A peer shows its certificate without the
 * authority between: it is good with a hint, and without one only if that is remembered. */
#include "transport/trust.h"

#include "base/alloc.h"
#include "tests/unit/certs/made_certificate.h"

/* Of UDPAI_TRUST_REMEMBERED. */
#define N_GOOD 256
#define N_BAD 500

struct world {
    EVP_PKEY *root_key, *client_key;
    udpai_trust_store *store, *same;
    const udpai_trust_store *asked; /* one of these */
    udpai_trust *trust;
    udpai_chain *alone, *whole;
    udpai_intermediates known;
};

static void
issue(udpai_strbuf *pem, const char *name, EVP_PKEY *key, const char *issuer, EVP_PKEY *signer)
{
    const made_name cn = {V_ASN1_UTF8STRING, udpai_str_from(name)};
    make_certificate(pem, &(made_spec){.common_names = &cn,
                                       .n_common_names = 1,
                                       .is_authority = strcmp(name, "client") != 0,
                                       .key = key,
                                       .signer = signer,
                                       .issuer = issuer});
}

static udpai_trust_store *
store_of(const udpai_strbuf *authorities)
{
    udpai_trust_store *store = NULL;
    assert_ok(udpai_trust_store_new(&store, pem_of(authorities, "ca.crt"), NULL, NULL));
    return store;
}

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    udpai_strbuf root = {0}, below = {0}, client = {0};
    EVP_PKEY *below_key = make_key();
    world->root_key = make_key();
    world->client_key = make_key();
    issue(&root, "root", world->root_key, "root", world->root_key);
    issue(&below, "below", below_key, "root", world->root_key);
    issue(&client, "client", world->client_key, "below", below_key);
    world->store = store_of(&root);
    world->asked = world->store;
    world->same = store_of(&root);
    world->trust = udpai_trust_new(world->store);
    world->alone = chain_of(&client, "peer");
    udpai_strbuf_str(&client, udpai_strbuf_view(&below));
    world->whole = chain_of(&client, "peer");
    udpai_strbuf_done(&root);
    udpai_strbuf_done(&below);
    udpai_strbuf_done(&client);
    EVP_PKEY_free(below_key);
    *state = world;
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    EVP_PKEY_free(world->root_key);
    EVP_PKEY_free(world->client_key);
    udpai_trust_unref(world->trust);
    udpai_trust_store_unref(world->store);
    udpai_trust_store_unref(world->same);
    udpai_chain_unref(world->alone);
    udpai_chain_unref(world->whole);
    udpai_intermediates_done(&world->known);
    udpai_free(world);
    return 0;
}

static udpa_err
ask(struct world *world, const udpai_trust_question *question)
{
    udpai_trust_answer answer = {UDPAI_TRUST_UNFIT, 0};
    udpa_err err = udpai_trust_verify(world->trust, world->asked, question, &answer, NULL);
    assert_int_equal(answer.verdict, err ? UDPAI_TRUST_UNKNOWN : UDPAI_TRUST_GOOD);
    if (!err)
        assert_true(answer.until_s == MADE_NOT_AFTER);
    return err;
}

static udpa_err
ask_without_hint(struct world *world, bool is_server, int64_t now_s)
{
    return ask(world, &(udpai_trust_question){
                          .chain = world->alone, .is_server = is_server, .now_s = now_s});
}

/* With the hint: it is good. */
static void
learn(struct world *world)
{
    const udpai_trust_question question = {
        .chain = world->whole, .now_s = MADE_NOW, .known = &world->known};
    assert_ok(ask(world, &question));
    const udpai_trust_question again = {
        .chain = world->alone, .now_s = MADE_NOW, .known = &world->known};
    assert_ok(ask(world, &again));
}

static void
what_was_good_is_remembered(void **state)
{
    struct world *world = *state;
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    learn(world);
    assert_ok(ask_without_hint(world, false, MADE_NOW));
}

static void
as_what_it_was_asked_about(void **state)
{
    struct world *world = *state;
    learn(world);
    assert_int_equal(ask_without_hint(world, true, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
}

/* Not before it was seen either: clocks are put right. */
static void
while_it_is_valid(void **state)
{
    struct world *world = *state;
    learn(world);
    assert_ok(ask_without_hint(world, false, MADE_NOT_AFTER));
    assert_int_equal(ask_without_hint(world, false, MADE_NOT_AFTER + 1), UDPA_ERR_UNAUTHENTICATED);
    assert_int_equal(ask_without_hint(world, false, MADE_NOW - 1), UDPA_ERR_UNAUTHENTICATED);
}

static void
until_others_are_trusted(void **state)
{
    struct world *world = *state;
    learn(world);
    udpai_trust_set(world->trust, world->same);
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    learn(world); /* by the former store, which somebody still has: nothing is kept of it */
    world->asked = world->same;
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    learn(world);
    assert_ok(ask_without_hint(world, false, MADE_NOW));
    world->asked = world->store; /* and it is told nothing of the other one */
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    udpai_trust_set(world->trust, world->store);
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
}

/* So many of each that some have the place of one of the others. */
static void
strangers_are_not_mistaken_for_others(void **state)
{
    struct world *world = *state;
    EVP_PKEY *stranger = make_key();
    for (int i = 0; i < N_GOOD + N_BAD; i++) {
        udpai_strbuf pem = {0};
        issue(&pem, "client", world->client_key, "root", i < N_GOOD ? world->root_key : stranger);
        UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = chain_of(&pem, "peer");
        const udpai_trust_question question = {.chain = chain, .now_s = MADE_NOW};
        udpai_trust_answer answer;
        assert_int_equal(udpai_trust_verify(world->trust, world->store, &question, &answer, NULL),
                         i < N_GOOD ? UDPA_OK : UDPA_ERR_UNAUTHENTICATED);
        udpai_strbuf_done(&pem);
    }
    EVP_PKEY_free(stranger);
}

static void
without_memory_it_is_verified_each_time(void **state)
{
    struct world *world = *state;
    udpai_alloc_fail_after(0);
    learn(world);
    udpai_alloc_fail_after(-1);
    assert_int_equal(ask_without_hint(world, false, MADE_NOW), UDPA_ERR_UNAUTHENTICATED);
    learn(world);
    assert_ok(ask_without_hint(world, false, MADE_NOW));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_good_is_remembered, begin, end),
        cmocka_unit_test_setup_teardown(as_what_it_was_asked_about, begin, end),
        cmocka_unit_test_setup_teardown(while_it_is_valid, begin, end),
        cmocka_unit_test_setup_teardown(until_others_are_trusted, begin, end),
        cmocka_unit_test_setup_teardown(strangers_are_not_mistaken_for_others, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_it_is_verified_each_time, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
