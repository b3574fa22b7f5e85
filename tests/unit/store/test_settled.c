/* SPDX-License-Identifier: Apache-2.0 */
/* What is known for certain: sources that have not said all they have, and what they may own. */
#include "store/settled.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define TYPE UDPAI_STR(TEST_TYPE)

static udpai_settled *
of_facts(const udpai_settled_facts *facts)
{
    udpai_settled *settled = udpai_settled_new(facts);
    assert_non_null(settled);
    return settled;
}

/* One source is missing, and every type may have one. */
static udpai_settled *
missing(const udpai_unsettled *source)
{
    return of_facts(&(udpai_settled_facts){.missing = source, .n_missing = 1});
}

static udpai_settled_state
query(const udpai_settled *settled, const char *scope)
{
    return udpai_settled_query(settled, TYPE, udpai_str_from(scope), (udpai_str){0});
}

static udpai_settled_state
query_name(const udpai_settled *settled, const char *name)
{
    return udpai_settled_query_name(settled, TYPE, udpai_str_from(name), (udpai_str){0});
}

static void
test_without_a_snapshot_nothing_is_settled(void **state)
{
    (void)state;
    assert_int_equal(query(NULL, "com.acme"), UDPAI_UNSETTLED);
    assert_int_equal(query_name(NULL, "com.acme/a"), UDPAI_UNSETTLED);
    assert_int_equal(udpai_settled_since(NULL, TYPE, UDPAI_STR("com.acme"), (udpai_str){0}), 0);
    assert_null(udpai_settled_ref(NULL));
    assert_null(udpai_settled_unref(NULL));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    assert_true(udpai_settled_is_awaited(NULL, resource));
}

static void
test_with_nothing_missing_all_is_settled(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref) udpai_settled *settled = of_facts(&(udpai_settled_facts){0});
    assert_int_equal(query(settled, ""), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/a"), UDPAI_SETTLED);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    assert_false(udpai_settled_is_awaited(settled, resource));
}

static void
test_the_first_that_is_missing_is_one_that_is_asked_for_all(void **state)
{
    (void)state;
    const udpai_unsettled sources[] = {
        {.source = UDPAI_STR("asked"), .on_demand = true},
        {.source = UDPAI_STR("mirror"), .by_name = true},
        {.source = UDPAI_STR("standby"), .only_absence = true},
        {.source = UDPAI_STR("group"), .of_groups = 1},
        {.source = UDPAI_STR("self"), .prefix = UDPAI_STR(UDPAI_NODE_NAMESPACE)},
        {.source = UDPAI_STR("core"), .prefix = UDPAI_STR("com.acme")},
    };
    udpai_settled_facts facts = {.missing = sources, .n_missing = UDPAI_ARRAY_LEN(sources)};
    UDPA_AUTO(udpai_settled_unref) udpai_settled *all = of_facts(&facts);
    const udpai_unsettled *found = udpai_settled_first_missing(all);
    assert_non_null(found);
    assert_true(udpai_str_eq(found->source, UDPAI_STR("core")));
    facts.n_missing--;
    UDPA_AUTO(udpai_settled_unref) udpai_settled *rest = of_facts(&facts);
    assert_null(udpai_settled_first_missing(rest));
}

/* A node asks those who dial it; an endpoint has it of its source, like everything else. */
static void
test_client_resources_come_by_sources_of_endpoints_alone(void **state)
{
    (void)state;
    const udpai_str type = UDPAI_STR("type.googleapis.com/udpa.load.v1.ClientLoad");
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *node = of_facts(&(udpai_settled_facts){.only_known_types = true});
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *endpoint =
        of_facts(&(udpai_settled_facts){.only_known_types = true, .asks_for_status = true});
    const udpai_str scope = UDPAI_STR("com.acme"), nobody = {0};
    assert_int_equal(udpai_settled_query(node, type, scope, nobody), UDPAI_SETTLED);
    assert_int_equal(udpai_settled_query(endpoint, type, scope, nobody), UDPAI_UNSETTLED);
}

/* What is asked about may lie within what is missing, or the other way round. */
static void
test_prefixes_count_both_ways(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(&(udpai_unsettled){.prefix = UDPAI_STR("com.acme/t")});
    const char *unknown[] = {"", "com", "com.acme", "com.acme/t", "com.acme/t/a"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(unknown); i++)
        assert_int_equal(query(settled, unknown[i]), UDPAI_UNSETTLED);
    const char *known[] = {"com.acme/tt", "com.acme/a", "com.acmecorp", "com.acme.t", "org"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
        assert_int_equal(query(settled, known[i]), UDPAI_SETTLED);
}

static void
test_types_count(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *other = missing(&(udpai_unsettled){.type_url = UDPAI_STR(TEST_CDS)});
    assert_int_equal(query(other, "com.acme"), UDPAI_SETTLED);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *same = missing(&(udpai_unsettled){.type_url = TYPE});
    assert_int_equal(query(same, "com.acme"), UDPAI_UNSETTLED);
}

static void
test_who_asks_is_not_waited_for(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(&(udpai_unsettled){.peer_node = UDPAI_STR("n1")});
    udpai_str scope = UDPAI_STR("com.acme");
    assert_int_equal(udpai_settled_query(settled, TYPE, scope, UDPAI_STR("n1")), UDPAI_SETTLED);
    assert_int_equal(udpai_settled_query(settled, TYPE, scope, UDPAI_STR("n2")), UDPAI_UNSETTLED);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *nameless = missing(&(udpai_unsettled){.prefix = UDPAI_STR("com")});
    assert_int_equal(udpai_settled_query(nameless, TYPE, scope, (udpai_str){0}), UDPAI_UNSETTLED);
}

/* Who asks for more than a source may have asks that source for all it may have. */
static void
test_an_answer_for_its_whole_prefix_is_one_for_wider_questions(void **state)
{
    (void)state;
    const udpai_str answered = UDPAI_STR("com.acme");
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(&(udpai_unsettled){
        .prefix = answered, .on_demand = true, .answered = &answered, .n_answered = 1});
    assert_int_equal(query(settled, ""), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com"), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com.acme.shop"), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/a"), UDPAI_UNSETTLED); /* it may be lazy */
    const udpai_str part = UDPAI_STR("com.acme.shop");
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *partly = missing(&(udpai_unsettled){
        .prefix = answered, .on_demand = true, .answered = &part, .n_answered = 1});
    assert_int_equal(query(partly, ""), UDPAI_UNSETTLED);
    assert_int_equal(query(partly, "com.acme.shop"), UDPAI_SETTLED);
}

/* What was missing in the snapshot before goes on being missing since then, in whatever order. */
static void
test_what_stays_missing_keeps_its_time(void **state)
{
    (void)state;
    udpai_unsettled first[] = {{.type_url = TYPE, .source = UDPAI_STR("a")},
                               {.prefix = UDPAI_STR("com.acme"), .source = UDPAI_STR("b")}};
    udpai_settled_facts_date(first, 2, NULL, 1000);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *before = of_facts(&(udpai_settled_facts){.missing = first, .n_missing = 2});
    udpai_unsettled second[] = {{.prefix = UDPAI_STR("com.acme"), .source = UDPAI_STR("b")},
                                {.type_url = TYPE, .source = UDPAI_STR("c")},
                                {.type_url = TYPE, .source = UDPAI_STR("a")}};
    udpai_settled_facts_date(second, 3, before, 5000);
    assert_int_equal(second[0].missing_ms, 1000);
    assert_int_equal(second[1].missing_ms, 5000);
    assert_int_equal(second[2].missing_ms, 1000);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *now = of_facts(&(udpai_settled_facts){.missing = second, .n_missing = 3});
    const udpai_unsettled *longest =
        udpai_settled_missing(now, TYPE, UDPAI_STR("com.acme"), (udpai_str){0});
    assert_non_null(longest);
    assert_str(longest->source, "b");
    assert_null(udpai_settled_missing(now, UDPAI_STR(TEST_CDS), UDPAI_STR("org"), (udpai_str){0}));
}

/* Only where all that are missing may be waiting for us does time end the wait. */
static void
test_a_ring_is_waited_out(void **state)
{
    (void)state;
    udpai_unsettled both[] = {
        {.prefix = UDPAI_STR("com"), .may_wait_for_us = true, .since_ms = 70},
        {.prefix = UDPAI_STR("com.acme"), .may_wait_for_us = true, .since_ms = 50},
    };
    const udpai_settled_facts facts = {.missing = both, .n_missing = 2};
    UDPA_AUTO(udpai_settled_unref) udpai_settled *ring = of_facts(&facts);
    assert_int_equal(query(ring, "com.acme/a"), UDPAI_SETTLED_AFTER_WAIT);
    udpai_str none = {0};
    assert_int_equal(udpai_settled_since(ring, TYPE, UDPAI_STR("com.acme"), none), 70);
    assert_int_equal(udpai_settled_since(ring, TYPE, UDPAI_STR("org"), none), 0);
    both[1].may_wait_for_us = false;
    UDPA_AUTO(udpai_settled_unref) udpai_settled *dead = of_facts(&facts);
    assert_int_equal(query(dead, "com.acme/a"), UDPAI_UNSETTLED);
    assert_int_equal(query(dead, "com.foo"), UDPAI_SETTLED_AFTER_WAIT);
}

static void
test_what_was_answered_is_known(void **state)
{
    (void)state;
    const udpai_str answered[] = {UDPAI_STR("com.acme/t"), UDPAI_STR("com.acme/a")};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(
        &(udpai_unsettled){.prefix = UDPAI_STR("com.acme"), .answered = answered, .n_answered = 2});
    assert_int_equal(query(settled, "com.acme/t"), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com.acme/t/x"), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com.acme"), UDPAI_UNSETTLED);
    assert_int_equal(query(settled, "com.acme/b"), UDPAI_UNSETTLED);
    /* A name must have been answered as such: what is lazy comes by no prefix. */
    assert_int_equal(query_name(settled, "com.acme/a"), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/t/x"), UDPAI_UNSETTLED);
}

static void
test_unknown_types_may_have_sources_yet(void **state)
{
    (void)state;
    const udpai_str types[] = {UDPAI_STR(TEST_CDS), UDPAI_STR(TEST_EDS)};
    const udpai_settled_facts facts = {
        .only_known_types = true, .known_types = types, .n_known_types = 2};
    UDPA_AUTO(udpai_settled_unref) udpai_settled *settled = of_facts(&facts);
    assert_int_equal(query(settled, "com.acme"), UDPAI_UNSETTLED);
    udpai_str none = {0}, scope = UDPAI_STR("com.acme");
    assert_int_equal(udpai_settled_query(settled, types[1], scope, none), UDPAI_SETTLED);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    assert_true(udpai_settled_is_awaited(settled, resource));
}

/* Where each node speaks of itself, no source of everything is waited for. */
static void
test_nodes_speak_for_themselves(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_unref) udpai_settled *all = missing(&(udpai_unsettled){0});
    assert_int_equal(query(all, "udpa.node/n1"), UDPAI_SETTLED);
    assert_int_equal(query(all, "com.acme"), UDPAI_UNSETTLED);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *own = missing(&(udpai_unsettled){.prefix = UDPAI_STR("udpa.node")});
    assert_int_equal(query(own, "udpa.node/n1"), UDPAI_UNSETTLED);
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *no_types = of_facts(&(udpai_settled_facts){.only_known_types = true});
    assert_int_equal(query(no_types, "udpa.node/n1"), UDPAI_SETTLED);
}

static void
test_what_was_asked_for_is_awaited(void **state)
{
    (void)state;
    const udpai_str asked[] = {UDPAI_STR("com.acme/a"), UDPAI_STR("com.acme/www.bar.com")};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(&(udpai_unsettled){
        .prefix = UDPAI_STR("com.acme"), .on_demand = true, .asked = asked, .n_asked = 2});
    UDPA_AUTO(udpa_resource_unref) udpa_resource *name = RESOURCE("com.acme/a");
    assert_true(udpai_settled_is_awaited(settled, name));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *alias = RESOURCE("com.acme/x", .aliases = {"com.acme/a"});
    assert_true(udpai_settled_is_awaited(settled, alias));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *pattern = RESOURCE("com.acme/x", .aliases = {"com.acme/*.bar.com"});
    assert_true(udpai_settled_is_awaited(settled, pattern));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *other = RESOURCE("com.acme/x", .aliases = {"com.acme/y"});
    assert_false(udpai_settled_is_awaited(settled, other));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *elsewhere = RESOURCE("org/a");
    assert_false(udpai_settled_is_awaited(settled, elsewhere));
}

/* A mirror is missing as a whole, but for what it has answered. */
static void
test_what_a_mirror_may_have_is_awaited(void **state)
{
    (void)state;
    const udpai_str answered[] = {UDPAI_STR("com.acme/t")};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = missing(
        &(udpai_unsettled){.prefix = UDPAI_STR("com.acme"), .answered = answered, .n_answered = 1});
    UDPA_AUTO(udpa_resource_unref) udpa_resource *below = RESOURCE("com.acme/t/a");
    UDPA_AUTO(udpa_resource_unref) udpa_resource *beside = RESOURCE("com.acme/a");
    assert_false(udpai_settled_is_awaited(settled, below));
    assert_true(udpai_settled_is_awaited(settled, beside));
}

/* ---- as a value ---- */

static udpai_waiting_question rich_waiting[2];

static udpai_settled_facts
rich_facts(udpai_unsettled *source, udpai_str texts[4])
{
    rich_waiting[0] = (udpai_waiting_question){UDPAI_STR("one"), texts + 1, 1};
    rich_waiting[1] = (udpai_waiting_question){UDPAI_STR("two"), texts + 1, 2};
    texts[0] = UDPAI_STR("com.acme/a");
    texts[1] = UDPAI_STR("com.acme/b");
    texts[2] = UDPAI_STR("com.acme/c");
    texts[3] = UDPAI_STR(TEST_TYPE);
    *source = (udpai_unsettled){
        .type_url = TYPE,
        .prefix = UDPAI_STR("com.acme"),
        .source = UDPAI_STR("main"),
        .peer_node = UDPAI_STR("n1"),
        .since_ms = 7,
        .answered = texts,
        .n_answered = 1,
        .asked = texts + 1,
        .n_asked = 2,
        .waiting = rich_waiting,
        .n_waiting = 2,
    };
    return (udpai_settled_facts){
        .missing = source, .n_missing = 1, .known_types = texts + 3, .n_known_types = 1};
}

static void
test_it_is_a_copy(void **state)
{
    (void)state;
    udpai_unsettled source;
    udpai_str texts[4];
    udpai_settled_facts facts = rich_facts(&source, texts);
    char *prefix = strdup("com.acme");
    source.prefix = udpai_str_from(prefix);
    UDPA_AUTO(udpai_settled_unref) udpai_settled *settled = of_facts(&facts);
    free(prefix);
    memset(&source, 0, sizeof(source));
    memset(texts, 0, sizeof(texts));
    const udpai_settled_facts *copy = udpai_settled_facts_of(settled);
    assert_str(copy->missing[0].prefix, "com.acme");
    assert_str(copy->missing[0].source, "main");
    assert_str(copy->missing[0].asked[1], "com.acme/c");
    assert_str(copy->missing[0].waiting[1].waits, "two");
    assert_str(copy->missing[0].waiting[1].asked[1], "com.acme/c");
    assert_str(copy->known_types[0], TEST_TYPE);
    assert_ptr_equal(udpai_settled_ref(settled), settled);
    assert_null(udpai_settled_unref(settled));
    assert_int_equal(copy->missing[0].since_ms, 7);
}

/* Is a snapshot with these facts another one? */
static bool
differs(const udpai_settled *from, const udpai_settled_facts *facts)
{
    UDPA_AUTO(udpai_settled_unref) udpai_settled *other = of_facts(facts);
    assert_int_equal(udpai_settled_equal(from, other), udpai_settled_equal(other, from));
    return !udpai_settled_equal(from, other);
}

/* What there is can be sent as all; a name that is not there may be elsewhere. */
static void
test_of_absence_alone_nothing_may_be_known(void **state)
{
    (void)state;
    const udpai_unsettled away = {.prefix = UDPAI_STR("com"), .only_absence = true};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled =
        of_facts(&(udpai_settled_facts){.missing = &away, .n_missing = 1, .self = UDPAI_STR("a")});
    const udpai_str a = UDPAI_STR("com.acme/a"), load = UDPAI_STR("type.googleapis.com/"
                                                                  "udpa.load.v1.ClientLoad");
    assert_int_equal(query(settled, "com.acme"), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/a"), UDPAI_SETTLED);
    assert_null(udpai_settled_missing(settled, TYPE, UDPAI_STR("com.acme"), (udpai_str){0}));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    assert_false(udpai_settled_is_awaited(settled, resource));
    assert_false(udpai_settled_knows_absence(settled, TYPE, a));
    assert_true(udpai_settled_knows_absence(settled, TYPE, UDPAI_STR("org/a")));
    assert_true(
        udpai_settled_knows_absence(settled, UDPAI_STR(TEST_CDS), UDPAI_STR("udpa.node/a")));
    assert_true(udpai_settled_knows_absence(settled, load, a)); /* no publisher has that */
    assert_false(udpai_settled_knows_absence(NULL, TYPE, a));
    const udpai_unsettled other = {.prefix = UDPAI_STR("com")};
    UDPA_AUTO(udpai_settled_unref) udpai_settled *usual = missing(&other);
    assert_true(udpai_settled_knows_absence(usual, TYPE, a)); /* that is asked for otherwise */
}

/* Who asks for a name is not told that nobody is waited for, else it takes the name for absent. */
static void
test_what_is_missing_of_absence_is_waited_for(void **state)
{
    (void)state;
    const udpai_unsettled away = {.only_absence = true};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled =
        of_facts(&(udpai_settled_facts){.missing = &away, .n_missing = 1, .self = UDPAI_STR("a")});
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    assert_ok(udpa_bytes_new(&name, "com.acme/a", strlen("com.acme/a")));
    const udpai_settled_asked asked = {&name, 1, NULL, NULL};
    udpai_waits waits;
    assert_true(udpai_settled_waits_names(settled, TYPE, &asked, &waits));
    assert_false(udpai_waits_are_closed(&waits));
    assert_true(udpai_settled_waits(settled, TYPE, UDPAI_STR("com.acme"), &waits));
    assert_true(udpai_waits_are_closed(&waits));
}

/* A wait that b and this node, a, have for each other, at such a round of b. */
static udpai_settled_state
wait_for_each_other(const char *said, size_t len, const char *self)
{
    const udpai_unsettled source = {
        .type_url = UDPAI_STR(TEST_CDS),
        .peer_node = UDPAI_STR("b"),
        .may_wait_for_us = true,
        .waits = {said, len},
    };
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = of_facts(
        &(udpai_settled_facts){.missing = &source, .n_missing = 1, .self = udpai_str_from(self)});
    return udpai_settled_query(settled, UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme"), (udpai_str){0});
}

static void
test_those_who_wait_for_each_other_are_settled(void **state)
{
    (void)state;
#define WAITS(said, self) wait_for_each_other((said), sizeof(said) - 1, (self))
    assert_int_equal(WAITS("\x6a\x08\x0a\x01"
                           "b\x12\x01"
                           "a\x18\x02",
                           "a"),
                     UDPAI_SETTLED);
    assert_int_equal(WAITS("\x6a\x08\x0a\x01"
                           "b\x12\x01"
                           "a\x18\x01",
                           "a"),
                     UDPAI_SETTLED_AFTER_WAIT); /* it has not passed on what it has */
    assert_int_equal(WAITS("\x6a\x08\x0a\x01"
                           "b\x12\x01"
                           "c\x18\x02",
                           "a"),
                     UDPAI_SETTLED_AFTER_WAIT); /* it waits for another */
    assert_int_equal(WAITS("", "a"), UDPAI_SETTLED_AFTER_WAIT);
    assert_int_equal(WAITS("\x6a\x08\x0a\x01"
                           "b\x12\x01"
                           "a\x18\x02",
                           ""),
                     UDPAI_SETTLED_AFTER_WAIT); /* an endpoint */
#undef WAITS
}

#define B_WAITS_FOR_A                                                                              \
    UDPAI_STR("\x6a\x08\x0a\x01"                                                                   \
              "b\x12\x01"                                                                          \
              "a\x18\x02")

/* Whoever is asked on demand says for each question for whom he waits. */
static void
test_those_who_are_asked_on_demand_are_settled(void **state)
{
    (void)state;
    const udpai_str asked[] = {UDPAI_STR("com.acme"), UDPAI_STR("com.acme/x"),
                               UDPAI_STR("com.acme/y")};
    const udpai_waiting_question waiting[] = {{B_WAITS_FOR_A, asked, 1},
                                              {B_WAITS_FOR_A, asked + 1, 1}};
    const udpai_unsettled source = {
        .type_url = UDPAI_STR(TEST_TYPE),
        .peer_node = UDPAI_STR("b"),
        .may_wait_for_us = true,
        .on_demand = true,
        .asked = asked,
        .n_asked = 3,
        .waiting = waiting,
        .n_waiting = 2,
    };
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = of_facts(
        &(udpai_settled_facts){.missing = &source, .n_missing = 1, .self = UDPAI_STR("a")});
    assert_int_equal(query(settled, "com.acme"), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com.acme/sub"), UDPAI_SETTLED);
    assert_int_equal(query(settled, "com"), UDPAI_SETTLED_AFTER_WAIT);
    assert_int_equal(query_name(settled, "com.acme/x"), UDPAI_SETTLED);
    assert_int_equal(query_name(settled, "com.acme/y"), UDPAI_SETTLED_AFTER_WAIT);
    assert_int_equal(query_name(settled, "com.acme/z"), UDPAI_SETTLED_AFTER_WAIT);
}

/* What sources of its own have said of a name counts for it, and for what it lies in. */
static void
test_names_of_those_who_wait_for_each_other_are_settled(void **state)
{
    (void)state;
    udpai_settled_name item = {.type_url = TYPE,
                               .name = UDPAI_STR("com.acme/x"),
                               .is_missing = true,
                               .source = UDPAI_STR("s"),
                               .peer_node = UDPAI_STR("b"),
                               .may_wait_for_us = true,
                               .waits = B_WAITS_FOR_A};
    for (int said = 1; said >= 0; said--) {
        udpai_settled_state expected = said ? UDPAI_SETTLED : UDPAI_SETTLED_AFTER_WAIT;
        UDPA_AUTO(udpai_settled_names_unref)
        udpai_settled_names *names = udpai_settled_names_new(&item, 1);
        UDPA_AUTO(udpai_settled_unref)
        udpai_settled *settled =
            of_facts(&(udpai_settled_facts){.names = names, .self = UDPAI_STR("a")});
        assert_int_equal(query_name(settled, "com.acme/x"), expected);
        assert_int_equal(query(settled, "com.acme"), expected);
        item.waits = (udpai_str){0};
    }
}

/* Of several names, everybody is waited for who keeps one of them from being known. */
static void
test_waits_for_names_are_those_of_all(void **state)
{
    (void)state;
    const udpai_str answered[] = {UDPAI_STR("com.acme/x")};
    const udpai_unsettled source = {
        .peer_node = UDPAI_STR("b"),
        .may_wait_for_us = true,
        .answered = answered,
        .n_answered = 1,
    };
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = of_facts(
        &(udpai_settled_facts){.missing = &source, .n_missing = 1, .self = UDPAI_STR("a")});
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *x = NULL, *y = NULL;
    assert_ok(udpa_bytes_new(&x, "com.acme/x", 10));
    assert_ok(udpa_bytes_new(&y, "com.acme/y", 10));
    udpa_bytes *const names[] = {x, y};
    udpai_waits waits;
    assert_true(udpai_settled_waits_names(settled, TYPE,
                                          &(udpai_settled_asked){names, 1, NULL, NULL}, &waits));
    assert_int_equal(waits.for_whom[0], 0);
    assert_true(udpai_settled_waits_names(settled, TYPE,
                                          &(udpai_settled_asked){names, 2, NULL, NULL}, &waits));
    assert_int_equal(waits.for_whom[0], 2);
    assert_str(waits.instances[1], "b");
    assert_false(udpai_settled_waits_names(NULL, TYPE, &(udpai_settled_asked){names, 2, NULL, NULL},
                                           &waits));
}

static void
test_every_difference_is_one(void **state)
{
    (void)state;
    udpai_unsettled source;
    udpai_str texts[4];
    udpai_settled_facts facts = rich_facts(&source, texts);
    UDPA_AUTO(udpai_settled_unref) udpai_settled *settled = of_facts(&facts);
    assert_false(differs(settled, &facts));
#define DIFFERS(change)                                                                            \
    do {                                                                                           \
        facts = rich_facts(&source, texts);                                                        \
        change;                                                                                    \
        if (!differs(settled, &facts))                                                             \
            fail_msg("no difference: %s", #change);                                                \
    } while (0)
    DIFFERS(source.type_url = UDPAI_STR(TEST_CDS));
    DIFFERS(source.prefix = UDPAI_STR("com"));
    DIFFERS(source.source = UDPAI_STR("other"));
    DIFFERS(source.peer_node = UDPAI_STR("n2"));
    DIFFERS(source.waits = UDPAI_STR("\x6a\x04\x0a\x02n1"));
    DIFFERS(source.may_wait_for_us = true);
    DIFFERS(source.since_ms = 8);
    DIFFERS(source.on_demand = true);
    DIFFERS(texts[0] = UDPAI_STR("com.acme/z"));
    DIFFERS(texts[2] = UDPAI_STR("com.acme/z"));
    DIFFERS(source.n_answered = 0);
    DIFFERS(source.n_asked = 1);
    DIFFERS(source.n_waiting = 1);
    DIFFERS(rich_waiting[1].waits = UDPAI_STR("three"));
    DIFFERS(rich_waiting[1].n_asked = 1);
    DIFFERS(facts.n_missing = 0);
    DIFFERS(facts.only_known_types = true);
    DIFFERS(facts.n_known_types = 0);
    DIFFERS(texts[3] = UDPAI_STR(TEST_CDS));
    assert_true(udpai_settled_equal(NULL, NULL));
    assert_false(udpai_settled_equal(settled, NULL));
    assert_false(udpai_settled_equal(NULL, settled));
}

static udpa_err
make_one(void *context)
{
    udpai_settled *settled = udpai_settled_new(context);
    udpai_settled_unref(settled);
    return settled ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_without_memory(void **state)
{
    (void)state;
    udpai_unsettled source;
    udpai_str texts[4];
    udpai_settled_facts facts = rich_facts(&source, texts);
    assert_int_equal(oom_torture(make_one, &facts), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_snapshot_nothing_is_settled),
        cmocka_unit_test(test_with_nothing_missing_all_is_settled),
        cmocka_unit_test(test_client_resources_come_by_sources_of_endpoints_alone),
        cmocka_unit_test(test_prefixes_count_both_ways),
        cmocka_unit_test(test_types_count),
        cmocka_unit_test(test_who_asks_is_not_waited_for),
        cmocka_unit_test(test_an_answer_for_its_whole_prefix_is_one_for_wider_questions),
        cmocka_unit_test(test_a_ring_is_waited_out),
        cmocka_unit_test(test_what_was_answered_is_known),
        cmocka_unit_test(test_unknown_types_may_have_sources_yet),
        cmocka_unit_test(test_nodes_speak_for_themselves),
        cmocka_unit_test(test_what_was_asked_for_is_awaited),
        cmocka_unit_test(test_what_a_mirror_may_have_is_awaited),
        cmocka_unit_test(test_it_is_a_copy),
        cmocka_unit_test(test_of_absence_alone_nothing_may_be_known),
        cmocka_unit_test(test_what_is_missing_of_absence_is_waited_for),
        cmocka_unit_test(test_those_who_wait_for_each_other_are_settled),
        cmocka_unit_test(test_those_who_are_asked_on_demand_are_settled),
        cmocka_unit_test(test_names_of_those_who_wait_for_each_other_are_settled),
        cmocka_unit_test(test_waits_for_names_are_those_of_all),
        cmocka_unit_test(test_every_difference_is_one),
        cmocka_unit_test(test_what_stays_missing_keeps_its_time),
        cmocka_unit_test(test_the_first_that_is_missing_is_one_that_is_asked_for_all),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("settled", tests, NULL, NULL);
}
