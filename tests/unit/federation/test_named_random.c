/* SPDX-License-Identifier: Apache-2.0 */
/* The provider of a name that comes, changes and goes as chance has it, with sources that are slow
 * and streams that end, at any moment between two orders. All three sources have the name all the
 * time: so whoever wants it and has it, has it without a gap. When all is quiet it is that of the
 * first source that is to have it, and only who is needed has a stream. */
#include "federation/named.h"
#include "federation/node_internal.h"

#include <stdio.h>

#include "tests/unit/federation/federation_test.h"

#define X UDPAI_STR("com.acme/x")
#define EDS UDPAI_STR(TEST_EDS)
#define SEEDS 25
#define STEPS 120
#define SLOW_MS 3000 /* at most, for a stream or an answer; far below what lingers */

typedef struct test_server {
    bool is_dialled, is_connected;
    uint64_t opens_ms, answers_ms; /* 0: nothing is to be answered */
} test_server;

typedef struct world {
    fed_bed *bed;
    uint64_t random;
    test_server servers[3];
    char provider[3]; /* of sources; "": none */
    bool is_wanted, had_it;
    unsigned serial;
} world;

static uint64_t
later(world *self)
{
    return self->bed->wheel.now_ms + 1 + test_random_below(&self->random, SLOW_MS);
}

/* One order of the node, such as "sub b EDS :x". */
static void
obey(world *self, const char *order)
{
    char verb[16], name;
    assert_int_equal(sscanf(order, "%15s %c", verb, &name), 2);
    test_server *server = &self->servers[name - 'a'];
    if (strcmp(verb, "dial") == 0) {
        server->is_dialled = true;
        server->opens_ms = later(self);
    } else if (strcmp(verb, "sub") == 0) {
        server->answers_ms = later(self);
    } else if (strcmp(verb, "hangup") == 0) {
        *server = (test_server){0};
        fed_close(self->bed, name);
    }
}

static void
obey_all(world *self)
{
    char orders[FED_TEXT], *rest = orders, *order;
    snprintf(orders, sizeof(orders), "%s", fed_orders(self->bed));
    while ((order = strtok_r(rest, ",", &rest)))
        obey(self, order + (*order == ' '));
}

static void
answer(world *self, char name)
{
    char words[64];
    snprintf(words, sizeof(words), "x=%c%u !%s", name, ++self->serial,
             name == 'a' ? "com.acme" : "");
    self->servers[name - 'a'].answers_ms = 0;
    (void)fed_publish(self->bed, name, "EDS", words);
}

static void
serve(world *self)
{
    uint64_t now = self->bed->wheel.now_ms;
    obey_all(self);
    for (int i = 0; i < 3; i++) {
        test_server *server = &self->servers[i];
        if (server->is_dialled && !server->is_connected && now >= server->opens_ms) {
            server->is_connected = true;
            fed_connect(self->bed, (char)('a' + i));
            obey_all(self);
        }
        if (server->is_connected && server->answers_ms && now >= server->answers_ms)
            answer(self, (char)('a' + i));
        obey_all(self);
    }
}

static void
expect_no_gap(world *self)
{
    bool has_it = *fed_value(self->bed, "EDS", "x") != '\0';
    if (self->is_wanted && self->had_it && !has_it)
        fail_msg("it is gone at %llu ms, with the provider '%s'",
                 (unsigned long long)self->bed->wheel.now_ms, self->provider);
    self->had_it = self->is_wanted && has_it;
}

static void
pass_time(world *self, uint64_t ms)
{
    for (uint64_t end = self->bed->wheel.now_ms + ms; self->bed->wheel.now_ms < end;) {
        fed_advance(self->bed, 50);
        serve(self);
        expect_no_gap(self);
    }
}

/* ---- what may happen ---- */

static void
provide(world *self, const char *sources)
{
    udpai_descriptor_config room[2];
    udpai_named_config config = {.type_url = EDS, .name = X, .descriptors = room};
    for (; sources[config.n_descriptors]; config.n_descriptors++)
        room[config.n_descriptors] = (udpai_descriptor_config){
            .source = self->bed->sources[sources[config.n_descriptors] - 'a'].name,
            .on_demand = true,
        };
    if (*sources)
        assert_ok(udpai_named_set(self->bed->node->parts.providers, &config, NULL));
    else
        udpai_named_end(self->bed->node->parts.providers, EDS, X);
    snprintf(self->provider, sizeof(self->provider), "%s", sources);
}

static void
want(world *self, bool wanted)
{
    if (self->is_wanted == wanted)
        return;
    self->is_wanted = wanted;
    if (wanted)
        fed_want(self->bed, "EDS", "com.acme/x");
    else
        fed_want_no_more(self->bed, "EDS", "com.acme/x");
}

static void
lose_stream(world *self, char name)
{
    test_server *server = &self->servers[name - 'a'];
    if (!server->is_connected)
        return;
    *server = (test_server){0};
    fed_close(self->bed, name);
}

static void
happen(world *self)
{
    static const char *const providers[] = {"", "b", "c", "bc", "cb"};
    switch (test_random_below(&self->random, 8)) {
    case 0:
    case 1:
        provide(self, providers[test_random_below(&self->random, 5)]);
        break;
    case 2:
        want(self, test_random_below(&self->random, 3) != 0);
        break;
    case 3:
        lose_stream(self, (char)('a' + test_random_below(&self->random, 3)));
        break;
    case 4:
        pass_time(self, test_random_below(&self->random, 40000));
        break;
    default:
        pass_time(self, test_random_below(&self->random, 2 * SLOW_MS));
        break;
    }
    serve(self);
    expect_no_gap(self);
}

/* ---- the end ---- */

static void
expect_what_is_to_be(world *self)
{
    char wanted = *self->provider ? *self->provider : 'a';
    pass_time(self, 150000);
    if (self->is_wanted || wanted == 'a') /* else nobody was asked since */
        assert_int_equal(*fed_value(self->bed, "EDS", "x"), wanted);
    assert_true(self->servers[0].is_connected);
    for (char name = 'b'; name <= 'c'; name++)
        assert_int_equal(self->servers[name - 'a'].is_dialled,
                         self->is_wanted && name == *self->provider);
}

static void
without_a_gap(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world self = {.bed = bed, .random = seed};
        bed->node = udpai_node_free(bed->node);
        bed->orders[0] = '\0';
        fed_start(bed);
        for (int i = 0; i < STEPS; i++)
            happen(&self);
        expect_what_is_to_be(&self);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(without_a_gap),
    };
    return cmocka_run_group_tests_name("named random", tests, NULL, NULL);
}
