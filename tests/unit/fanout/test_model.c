/* SPDX-License-Identifier: Apache-2.0 */
/* Chance against the fan-out: resources change, readers of every kind read as fast or as slowly as
 * they like, change what they ask for, and end; a reader that has read all there is holds what a
 * naive model says, and on the way nobody is told that a thing is gone which is there. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

#define TYPES 3
#define IDS 8
#define SPACES 3
#define READERS 5

static const char *const types[TYPES] = {"CDS", "EDS", "RDS"};
/* As a reader writes them, and as prefixes. */
static const char *const spaces[SPACES] = {"", "/org/", "/org.sub/"};
static const char *const prefixes[SPACES + 1] = {"com.acme", "org", "org.sub", ""};
static const char *const nodes[] = {"n1", "n2"};
static const char *const shown[] = {"", ">1", ">2", ">12"};

/* What there is. */
struct thing {
    bool is_there, is_lazy;
    unsigned value, generation;
    int node;        /* -1: none */
    unsigned links;  /* of the ConfigSources that are shown it: a bit for each; 0: all */
    unsigned change; /* the last change set that it was in */
};

struct client {
    fanout_reader reader;
    udpai_delivery_mode mode;
    bool is_open;
    int except;    /* the node it is; -1: none */
    unsigned link; /* as a ConfigSource; 0: it is none */
    bool has_prefix[TYPES][SPACES + 1];
    bool has_name[TYPES][SPACES][IDS];
};

struct model {
    fanout_bed *bed;
    struct thing things[TYPES][SPACES][IDS];
    struct client clients[READERS];
    uint64_t random;
    unsigned n_changes;
    bool with_names;
};

static bool
chance(struct model *model, size_t one_in)
{
    return test_random_below(&model->random, one_in) == 0;
}

static void
write_name(char name[64], size_t space, size_t id)
{
    (void)snprintf(name, 64, "%sx%zu", spaces[space], id);
}

/* ---- changes ---- */

static void
add_change(struct model *model, char *text, size_t size)
{
    size_t type = test_random_below(&model->random, TYPES);
    size_t space = test_random_below(&model->random, SPACES);
    size_t id = test_random_below(&model->random, IDS), used = strlen(text);
    struct thing *thing = &model->things[type][space][id];
    char name[64];
    if (thing->change == model->n_changes)
        return; /* a change set has one change of a name at most */
    thing->change = model->n_changes;
    write_name(name, space, id);
    char what = !thing->is_there || chance(model, 2) ? '+' : chance(model, 2) ? '~' : '-';
    if (what == '+') {
        thing->is_there = true;
        thing->value = (unsigned)test_random_below(&model->random, 10);
        thing->is_lazy = chance(model, 6);
    }
    if (what == '-')
        thing->is_there = false;
    if (chance(model, 2))
        thing->node = (int)test_random_below(&model->random, 3) - 1;
    if (what != '-' && chance(model, 2))
        thing->links = chance(model, 2) ? 0 : 1 + (unsigned)test_random_below(&model->random, 3);
    thing->generation++;
    int n = what == '-'
                ? snprintf(text + used, size - used, "-%s/%s ", types[type], name)
                : snprintf(text + used, size - used, "%c%s/%s=%u:%u%s%s%s%s ", what, types[type],
                           name, thing->value, thing->generation, thing->node >= 0 ? "@" : "",
                           thing->node >= 0 ? nodes[thing->node] : "", shown[thing->links],
                           thing->is_lazy ? "$" : "");
    assert_true(used + (size_t)n < size);
}

static void
change(struct model *model)
{
    char text[512] = "";
    model->n_changes++;
    for (size_t n = 1 + test_random_below(&model->random, 4); n > 0; n--)
        add_change(model, text, sizeof(text));
    text[strlen(text) - 1] = '\0';
    fanout_change(model->bed, text);
}

/* ---- what a client must hold ---- */

static bool
may_see(const struct client *client, const struct thing *thing)
{
    bool is_for_it = !client->link || !thing->links || (thing->links & client->link);
    return thing->is_there && is_for_it && !(client->except >= 0 && thing->node == client->except);
}

static bool
covers(size_t prefix, size_t space)
{
    return prefix == space || prefix == SPACES || (prefix == 1 && space == 2);
}

static bool
must_hold(
    const struct model *model, const struct client *client, size_t type, size_t space, size_t id)
{
    const struct thing *thing = &model->things[type][space][id];
    if (!may_see(client, thing))
        return false;
    if (client->has_name[type][space][id])
        return true;
    for (size_t i = 0; i <= SPACES; i++)
        if (client->has_prefix[type][i] && covers(i, space) && !thing->is_lazy)
            return true;
    return false;
}

static bool
asks_for(const struct client *client, size_t type, size_t space, size_t id)
{
    for (size_t i = 0; i <= SPACES; i++)
        if (client->has_prefix[type][i] && covers(i, space))
            return true;
    return client->has_name[type][space][id];
}

/* Called when it has read all there is. */
static void
check_one(
    const struct model *model, const struct client *client, size_t type, size_t space, size_t id)
{
    char name[64], value[16];
    write_name(name, space, id);
    const fanout_held *held = fanout_find_held(&client->reader, types[type], name);
    if (!must_hold(model, client, type, space, id)) {
        /* What it dropped itself it may have still; and what is gone, if nothing can say so. */
        if (held && asks_for(client, type, space, id) && client->mode != UDPAI_MODE_GROUPED)
            fail_msg("%s %s is held, but not there", types[type], name);
        return;
    }
    const struct thing *thing = &model->things[type][space][id];
    (void)snprintf(value, sizeof(value), "%u", thing->value);
    if (!held)
        fail_msg("%s %s is missing", types[type], name);
    else
        assert_str(udpai_resource_value(held->resource), value);
    if (held && client->mode == UDPAI_MODE_DELTA)
        assert_int_equal(udpa_resource_generation(held->resource), thing->generation);
}

static void
check(const struct model *model, const struct client *client)
{
    for (size_t type = 0; type < TYPES; type++)
        for (size_t space = 0; space < SPACES; space++)
            for (size_t id = 0; id < IDS; id++)
                check_one(model, client, type, space, id);
}

/* ---- clients ---- */

static void
open_client(struct model *model, struct client *client)
{
    static const udpai_delivery_mode modes[] = {UDPAI_MODE_DELTA, UDPAI_MODE_DELTA,
                                                UDPAI_MODE_GROUPED, UDPAI_MODE_STATE};
    memset(client, 0, sizeof(*client));
    client->mode = modes[test_random_below(&model->random, UDPAI_ARRAY_LEN(modes))];
    client->is_open = true;
    client->except = -1;
    fanout_open(&client->reader, model->bed);
    for (size_t i = 0; i < TYPES; i++)
        (void)fanout_in_mode(&client->reader, types[i], client->mode);
}

/* What it does not ask for any more it forgets. */
static void
forget_unasked(struct client *client)
{
    for (size_t type = 0; type < TYPES; type++)
        for (size_t space = 0; space < SPACES; space++)
            for (size_t id = 0; id < IDS; id++) {
                char name[64];
                write_name(name, space, id);
                if (!asks_for(client, type, space, id))
                    fanout_drop(&client->reader, types[type], name);
            }
}

static void
toggle_prefix(struct model *model, struct client *client)
{
    size_t type = test_random_below(&model->random, TYPES);
    size_t prefix = test_random_below(&model->random, SPACES + 1);
    bool *has = &client->has_prefix[type][prefix];
    if (*has && chance(model, 2)) {
        fanout_drop_wildcard(&client->reader, types[type], prefixes[prefix]);
        *has = false;
    } else {
        fanout_wildcard(&client->reader, types[type], prefixes[prefix]);
        *has = true;
    }
    forget_unasked(client);
}

static void
toggle_name(struct model *model, struct client *client)
{
    size_t type = test_random_below(&model->random, TYPES);
    size_t space = test_random_below(&model->random, SPACES);
    size_t id = test_random_below(&model->random, IDS);
    bool *has = &client->has_name[type][space][id];
    char name[64], full[64];
    write_name(name, space, id);
    (void)snprintf(full, sizeof(full), "%s%s", space ? "" : "com.acme/", name + (space != 0));
    if (*has) {
        udpai_unsubscribe_name(fanout_of(&client->reader, types[type]), udpai_str_from(full), true);
        *has = false;
    } else {
        fanout_ask(&client->reader, types[type], name);
        *has = true;
    }
    forget_unasked(client);
}

/* It turns out which node it is, or that it is a ConfigSource. */
static void
offer_less(struct model *model, struct client *client)
{
    udpai_subscriber *subscriber = &client->reader.subscriber;
    if (chance(model, 2)) {
        client->except = (int)test_random_below(&model->random, 2);
        assert_ok(udpai_subscriber_set_except(subscriber, udpai_str_from(nodes[client->except])));
    } else {
        client->link = (unsigned)test_random_below(&model->random, 3);
        assert_ok(udpai_subscriber_set_link(subscriber, client->link));
    }
}

static void
turn_client(struct model *model, struct client *client)
{
    if (!client->is_open) {
        open_client(model, client);
        return;
    }
    switch (test_random_below(&model->random, 24)) {
    case 0:
        fanout_close(&client->reader);
        client->is_open = false;
        break;
    case 1:
    case 2:
    case 3:
        toggle_prefix(model, client);
        break;
    case 4:
    case 5:
        if (model->with_names)
            toggle_name(model, client);
        break;
    case 6:
        if (client->mode == UDPAI_MODE_DELTA)
            offer_less(model, client);
        break;
    case 7:
        udpai_subscription_resend_all(fanout_of(&client->reader, types[0]));
        break;
    case 8:
        (void)fanout_all(&client->reader);
        check(model, client);
        break;
    default:
        (void)fanout_next(&client->reader);
    }
}

static void
live(fanout_bed *bed, uint64_t seed, bool with_names)
{
    struct model *model = calloc(1, sizeof(*model));
    assert_non_null(model);
    model->bed = bed;
    model->random = seed;
    model->with_names = with_names;
    bed->options.tombstones_min = 100000;
    fanout_bed_page(bed, seed % 3 ? 1 + seed % 5 : 1000);
    fanout_settle(bed);
    for (size_t type = 0; type < TYPES; type++)
        for (size_t space = 0; space < SPACES; space++)
            for (size_t id = 0; id < IDS; id++)
                model->things[type][space][id].node = -1;
    for (unsigned i = 0; i < 1200; i++) {
        if (chance(model, 4))
            change(model);
        else
            turn_client(model, &model->clients[test_random_below(&model->random, READERS)]);
        if (chance(model, 50))
            fanout_bed_at(bed, bed->wheel.now_ms + 700);
        bed->interest[0] = '\0';
    }
    for (size_t i = 0; i < READERS; i++) {
        if (!model->clients[i].is_open)
            continue;
        (void)fanout_all(&model->clients[i].reader);
        check(model, &model->clients[i]);
        fanout_close(&model->clients[i].reader);
    }
    free(model);
}

static void
test_wildcards_come_to_hold_what_there_is(void **state)
{
    for (uint64_t seed = 1; seed <= 15; seed++)
        live(*state, seed, false);
}

static void
test_names_and_wildcards_come_to_hold_what_there_is(void **state)
{
    for (uint64_t seed = 101; seed <= 115; seed++)
        live(*state, seed, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_wildcards_come_to_hold_what_there_is),
        fanout_test(test_names_and_wildcards_come_to_hold_what_there_is),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
