/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come, speak, and are lost, and reports that come and go, as chance has it. After
 * each step, what was told of whom a report is for is held against what is found for it from the
 * start: nothing that could change it may be overlooked. */
#include "federation/node_internal.h"
#include "federation/report_targets.h"
#include "federation/reporting.h"

#include <stdio.h>

#include "model/links.h"
#include "tests/unit/federation/federation_test.h"

#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define SEEDS 200
#define STEPS 150
#define THINGS 4

typedef struct world {
    fed_bed *bed;
    uint64_t random;
    bool may_connect[FED_SOURCES];
    char told[THINGS][16]; /* as fed_reports() says it; "": it is not there */
    unsigned serial, n_moves;
    uint64_t publisher; /* his session; 0: he has not come */
    size_t published;
    bool publisher_is_there;
} world;

static size_t
below(world *self, size_t bound)
{
    return test_random_below(&self->random, bound);
}

/* ---- what the node orders ---- */

static void
obey(world *self, const char *order)
{
    char verb[16], name;
    assert_int_equal(sscanf(order, "%15s %c", verb, &name), 2);
    if (strcmp(verb, "dial") == 0)
        self->may_connect[name - 'a'] = true;
    if (strcmp(verb, "hangup") == 0) {
        self->may_connect[name - 'a'] = false;
        fed_close(self->bed, name);
    }
}

static void
obey_all(world *self)
{
    char orders[FED_TEXT], *rest = orders, *order;
    do {
        rest = orders;
        snprintf(orders, sizeof(orders), "%s", fed_orders(self->bed));
        while ((order = strtok_r(rest, ",", &rest)))
            obey(self, order + (*order == ' '));
    } while (self->bed->orders[0]);
}

/* ---- what is told ---- */

/* "~t1/node>ab" */
static void
take_word(world *self, const char *word)
{
    char mark = '+';
    unsigned thing;
    int n = 0;
    if (*word == '-' || *word == '~')
        mark = *word++;
    assert_int_equal(sscanf(word, "t%u/node%n", &thing, &n), 1);
    assert_true(thing < THINGS);
    if (mark == '~') /* nobody is told again for nothing */
        assert_true(self->told[thing][0]);
    self->n_moves += mark == '~' && strcmp(self->told[thing], word + n) != 0;
    snprintf(self->told[thing], sizeof(self->told[thing]), "%s", mark == '-' ? "" : word + n);
}

static void
hear(world *self)
{
    char reports[FED_TEXT], *rest = reports, *word;
    snprintf(reports, sizeof(reports), "%s", fed_reports(self->bed));
    while ((word = strtok_r(rest, " ", &rest)))
        take_word(self, word);
}

/* ---- what should be ---- */

struct comparison {
    world *self;
    bool is_there[THINGS];
};

static void
find(const world *self, const udpa_resource *report, char text[16])
{
    udpai_link_vector links = {0};
    bool is_for_all;
    assert_ok(udpai_report_target_find(self->bed->node->parts.egress, report, &links, &is_for_all));
    if (!is_for_all)
        assert_ok(udpai_report_target_add_standby(self->bed->node->parts.egress, report, &links));
    size_t n = udpai_links_sort(links.items, links.n);
    char letters[13] = "*";
    assert_in_range(n, 0, sizeof(letters) - 1);
    for (size_t i = 0; !is_for_all && i <= n && i < sizeof(letters); i++)
        letters[i] = i < n ? (char)('a' + links.items[i] - 1) : '\0';
    (void)snprintf(text, 16, ">%s", letters);
    udpai_vector_done(&links);
}

static bool
compare(void *userdata, const udpai_contribution *contribution)
{
    struct comparison *all = userdata;
    char expected[16];
    unsigned thing;
    assert_int_equal(sscanf(udpa_resource_name(contribution->resource), "com.acme/t%u", &thing), 1);
    all->is_there[thing] = true;
    find(all->self, contribution->resource, expected);
    if (strcmp(all->self->told[thing], expected) != 0)
        fail_msg("t%u was told '%s', and is for '%s'", thing, all->self->told[thing], expected);
    return true;
}

static void
check(world *self)
{
    struct comparison all = {.self = self};
    udpai_store_visit_effective(udpai_node_store(self->bed->node), UDPAI_STR(LOAD),
                                (udpai_str){"", 0}, compare, &all);
    for (int i = 0; i < THINGS; i++)
        assert_int_equal(all.is_there[i], self->told[i][0] != '\0');
}

/* ---- what happens ---- */

static void
connect_or_close(world *self)
{
    int i = (int)below(self, FED_SOURCES);
    char name = (char)('a' + i);
    if (self->bed->sessions[i] && below(self, 3) == 0) {
        self->may_connect[i] = false;
        fed_close(self->bed, name);
    } else if (!self->bed->sessions[i] && self->may_connect[i]) {
        fed_connect(self->bed, name);
    }
}

static void
speak(world *self)
{
    int i = (int)below(self, FED_SOURCES);
    char words[64];
    unsigned thing = (unsigned)below(self, THINGS);
    const char *type = below(self, 2) ? "CDS" : "EDS";
    if (!self->bed->sessions[i])
        return;
    if (below(self, 3) == 0)
        snprintf(words, sizeof(words), "!com.acme");
    else if (below(self, 3) == 0)
        snprintf(words, sizeof(words), "-t%u", thing);
    else
        snprintf(words, sizeof(words), "t%u=%u", thing, below(self, 2) ? 1 : ++self->serial);
    (void)fed_publish(self->bed, (char)('a' + i), type, words);
}

/* One authority by several sources, of which some are behind. */
static void
pass_on(world *self)
{
    char name[32];
    int i = (int)below(self, FED_SOURCES);
    snprintf(name, sizeof(name), "com.acme/t%zu", below(self, THINGS));
    if (self->bed->sessions[i])
        (void)fed_put(self->bed, self->bed->sessions[i],
                      RESOURCE(name, .type = TEST_CDS, .value = "1", .authority = "top",
                               .generation = 1 + below(self, 5), .hops = {{"top", "top"}}),
                      false);
}

/* Whoever publishes it is no source. */
static void
publish_here(world *self)
{
    char word[32];
    snprintf(word, sizeof(word), "%st%zu%s", self->publisher_is_there ? "-" : "", self->published,
             self->publisher_is_there ? "" : "=1");
    if (!self->publisher)
        self->publisher = fed_arrive(self->bed, &(fed_peer){.id = "publisher"});
    (void)fed_publish_at(self->bed, self->publisher, "CDS", word);
    self->publisher_is_there = !self->publisher_is_there;
    if (!self->publisher_is_there)
        self->published = below(self, THINGS);
}

static void
report(world *self)
{
    char name[32], value[16];
    snprintf(name, sizeof(name), "com.acme/t%zu/node", below(self, THINGS));
    snprintf(value, sizeof(value), "%zu", below(self, 3));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(name, .type = LOAD, .value = value, .version = value, .ttl_ms = 20000);
    if (below(self, 4))
        assert_ok(udpai_node_report_own(self->bed->node, resource, NULL));
    else
        udpai_node_withdraw_own_report(self->bed->node, UDPAI_STR(LOAD), udpai_str_from(name));
}

static void
step(world *self)
{
    switch (below(self, 8)) {
    case 0:
        connect_or_close(self);
        break;
    case 1:
    case 2:
        speak(self);
        break;
    case 3:
        report(self);
        break;
    case 4:
        pass_on(self);
        break;
    case 5:
        publish_here(self);
        break;
    default:
        fed_advance(self->bed, 1 + below(self, 2000));
    }
    if (below(self, 4) == 0) /* a lasting quiet */
        fed_advance(self->bed, 5000);
    obey_all(self);
    hear(self);
    check(self);
}

/* ---- the whole ---- */

static void
configure(world *self)
{
    static const udpai_str load = UDPAI_STR(LOAD);
    fed_bed *bed = self->bed;
    bed->config.is_durable = false;
    bed->provider.n_types = 0;
    fed_type(bed, "CDS");
    fed_type(bed, "EDS");
    for (int i = 0; i < FED_SOURCES; i++) {
        bed->sources[i].stays_connected = below(self, 2);
        bed->sources[i].standby = &load;
        bed->sources[i].n_standby = below(self, 4) == 0;
    }
    const char *const prefixes[] = {"", "com.acme", "com.acme/t1"};
    const udpai_continuation how[] = {UDPAI_STOP_ON_SUCCESS, UDPAI_STOP_ON_SUCCESS, UDPAI_CONTINUE,
                                      UDPAI_STOP_ON_FAILURE};
    FED_PROVIDER(bed, {'a', prefixes[below(self, 2)], how[below(self, 4)], false},
                 {'b', prefixes[below(self, 3)], how[below(self, 4)], false},
                 {'c', prefixes[below(self, 2)], how[below(self, 4)], false});
    bed->node = udpai_node_free(bed->node);
    bed->answer = udpai_report_free(bed->answer);
    bed->orders[0] = bed->reports[0] = '\0';
    fed_start(bed);
}

static void
what_is_told_is_what_is_found(void **state)
{
    unsigned n_moves = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world self = {.bed = *state, .random = seed};
        configure(&self);
        for (int i = 0; i < STEPS; i++)
            step(&self);
        n_moves += self.n_moves;
    }
    assert_true(n_moves > 3 * SEEDS); /* else it shows nothing */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {fed_test(what_is_told_is_what_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
