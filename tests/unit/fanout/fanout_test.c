/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

#include "base/bytes.h"
#include "model/links.h"
#include "model/removal.h"
#include "model/variant.h"
#include "tests/harness/constraints.h"

#define NAMESPACE "com.acme/"

/* ---- words ---- */

static const char *const known_types[][2] = {
    {"CDS", TEST_CDS},
    {"EDS", TEST_EDS},
    {"LDS", TEST_LDS},
    {"RDS", TEST_RDS},
};

const char *
fanout_type(const char *word, char room[128])
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_types); i++)
        if (strcmp(word, known_types[i][0]) == 0)
            return known_types[i][1];
    (void)snprintf(room, 128, "type.googleapis.com/test.%s", word);
    return room;
}

static void
short_type(char word[16], udpai_str type_url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_types); i++) {
        if (udpai_str_eq(type_url, udpai_str_from(known_types[i][1]))) {
            (void)snprintf(word, 16, "%s", known_types[i][0]);
            return;
        }
    }
    udpai_str start = UDPAI_STR("type.googleapis.com/test.");
    assert_true(udpai_str_starts(type_url, start));
    (void)snprintf(word, 16, "%.*s", (int)(type_url.len - start.len), type_url.data + start.len);
}

static void
long_name(char full[128], udpai_str name)
{
    bool is_full = name.len && name.data[0] == '/';
    int n = is_full ? snprintf(full, 128, "%.*s", (int)name.len - 1, name.data + 1)
                    : snprintf(full, 128, NAMESPACE "%.*s", (int)name.len, name.data);
    assert_true(n < 128);
}

static void
short_name(char word[64], udpai_str name)
{
    bool is_ours = udpai_str_starts(name, UDPAI_STR(NAMESPACE));
    size_t skip = is_ours ? sizeof(NAMESPACE) - 1 : 0;
    int n =
        snprintf(word, 64, "%s%.*s", is_ours ? "" : "/", (int)(name.len - skip), name.data + skip);
    assert_true(n < 64);
}

static void
append(char text[FANOUT_TEST_TEXT], const char *separator, const char *word)
{
    size_t used = strlen(text);
    int n = snprintf(text + used, FANOUT_TEST_TEXT - used, "%s%s", used ? separator : "", word);
    assert_true(used + (size_t)n < FANOUT_TEST_TEXT);
}

/* ---- tests of parameters ---- */

#define MAX_TESTS 256

/* Constraints in words, and as bytes; until the bed goes. */
static struct {
    char word[64];
    udpai_str bytes;
} known_tests[MAX_TESTS];

static size_t n_known_tests;

static udpai_str
make_test(const char *word, size_t len)
{
    char text[64], *value;
    bool is_not = word[0] == '!';
    (void)snprintf(text, sizeof(text), "%.*s", (int)len - is_not, word + is_not);
    value = strchr(text, '~');
    if (value)
        *value++ = '\0';
    udpai_str test = value ? C_IS(text, value) : C_HAS(text);
    return is_not ? C_NOT(test) : test;
}

static udpai_str
constraints_of(const char *word)
{
    udpai_str tests[8];
    size_t n = 0;
    for (size_t i = 0; i < n_known_tests; i++)
        if (strcmp(known_tests[i].word, word) == 0)
            return known_tests[i].bytes;
    for (const char *at = word; *at; n++) {
        size_t len = strcspn(at, "&");
        assert_true(n < UDPAI_ARRAY_LEN(tests));
        tests[n] = make_test(at, len);
        at += len + (at[len] == '&');
    }
    udpai_str bytes = n == 1 ? tests[0] : constraints_list(3, tests, n);
    assert_true(n_known_tests < MAX_TESTS);
    (void)snprintf(known_tests[n_known_tests].word, sizeof(known_tests[0].word), "%s", word);
    known_tests[n_known_tests++].bytes = bytes;
    return bytes;
}

static const char *
word_of(udpai_str constraints)
{
    for (size_t i = 0; i < n_known_tests; i++)
        if (udpai_str_eq(known_tests[i].bytes, constraints))
            return known_tests[i].word;
    return constraints.len ? "unknown" : "";
}

/* Of "env~prod&version~1". */
static udpai_str
parameters_of(const char *word, char room[256])
{
    udpai_parameter items[8];
    size_t n = 0;
    char *at = room;
    const char *text = word;
    (void)constraints_of(word);
    for (; *text; n++) {
        size_t key = strcspn(text, "~"), value = strcspn(text + key + 1, "&");
        items[n] = (udpai_parameter){{text, key}, {text + key + 1, value}};
        text += key + 1 + value + (text[key + 1 + value] == '&');
    }
    n = udpai_parameters_sort(items, n);
    return udpai_parameters_put(&at, items, n);
}

/* ---- the renderer ---- */

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    if (renderer->shows_content_only && item->refresh && !item->ttl_ms)
        return 0;
    char name[64];
    short_name(name, udpai_resource_name(item->resource));
    return strlen(name) + udpai_resource_value(item->resource).len + FANOUT_TEST_OVERHEAD;
}

static udpai_str
shown_version(const udpai_renderer *renderer,
              const udpa_resource *resource,
              char room[UDPAI_CONTENT_HASH_HEX])
{
    if (!renderer->shows_content_only)
        return udpai_resource_version(resource);
    udpai_content_hash_hex(udpai_resource_content_hash(resource), room);
    return (udpai_str){room, UDPAI_CONTENT_HASH_HEX};
}

static void
write_item(char text[FANOUT_TEST_TEXT], const udpai_send_item *item)
{
    char name[64], word[128], ttl[32] = "";
    udpai_str value = udpai_resource_value(item->resource);
    short_name(name, udpai_resource_name(item->resource));
    if (item->ttl_ms)
        (void)snprintf(ttl, sizeof(ttl), "%%%llu", (unsigned long long)item->ttl_ms);
    (void)snprintf(word, sizeof(word), "%s%s=%.*s%s", item->refresh ? "~" : "", name,
                   (int)value.len, value.len ? value.data : "", ttl);
    append(text, " ", word);
}

/* The first part is what the reader shows, the second has one mark for each item. */
static udpa_err
compose(const udpai_renderer *base, const udpai_render *what, udpai_body *body)
{
    const fanout_renderer *renderer = (const fanout_renderer *)base;
    char text[FANOUT_TEST_TEXT] = "", marks[FANOUT_TEST_NAMES] = "";
    ++*renderer->n_composed;
    assert_true(what->n_items < sizeof(marks));
    for (size_t i = 0; i < what->n_items; i++) {
        write_item(text, &what->items[i]);
        marks[i] = what->items[i].refresh ? '~' : '+';
    }
    for (size_t i = 0; i < what->n_removed; i++) {
        char name[64], word[80];
        short_name(name, what->removed[i]);
        (void)snprintf(word, sizeof(word), "-%s", name);
        append(text, " ", word);
    }
    for (size_t i = 0; i < what->n_lost; i++) {
        char name[64], word[160];
        short_name(name, what->lost[i].name);
        (void)snprintf(word, sizeof(word), "-%s;%s", name, word_of(what->lost[i].constraints));
        append(text, " ", word);
    }
    if (what->complete)
        (void)snprintf(text, sizeof(text), "%.*s", (int)what->scope.len,
                       what->scope.len ? what->scope.data : "");
    if (what->waits.len)
        (void)snprintf(text, sizeof(text), "waits %u", what->waits_behind);
    udpa_bytes *first = udpai_bytes_cstring(udpai_str_from(text)),
               *second = udpai_bytes_cstring(udpai_str_from(marks));
    bool made = udpai_body_add_part(body, first);
    return udpai_body_add_part(body, second) && made ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- the bed ---- */

static void
on_interest(void *userdata, const udpai_interest_of *of)
{
    char type[16], shown[64] = "", word[128];
    short_type(type, of->type_url);
    if (of->name.len)
        short_name(shown, of->name);
    else
        (void)snprintf(shown, sizeof(shown), "%.*s", (int)of->prefix.len, of->prefix.data);
    const char *by = !of->by_nodes ? "" : of->is_again ? "~" : "^";
    (void)snprintf(word, sizeof(word), "%c%s%c%s%s", of->subscribed ? '+' : '-', type,
                   of->name.len ? '/' : ':', shown, by);
    append(((fanout_bed *)userdata)->interest, " ", word);
}

void
fanout_bed_init(fanout_bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    udpai_list_init(&bed->readers);
    bed->options = (udpai_fanout_options){
        .cycle_timeout_ms = 20000,
        .view_linger_ms = 1000,
        .tombstones_min = 64,
        .max_views = 100,
        .max_views_per_owner = 100,
        .max_names = 100,
        .max_held = 100,
        .max_held_bytes = 10000,
        .body_cache_bytes = 1 << 20,
        .response_bytes = 1 << 20,
    };
    bed->renderer = (fanout_renderer){
        .base = {.item_size = item_size, .version = shown_version, .compose = compose},
        .n_composed = &bed->n_composed,
    };
    udpai_wheel_init(&bed->wheel, 1000);
    assert_ok(udpai_fanout_new(&bed->fanout, &bed->wheel, &bed->options));
    udpai_fanout_set_interest(bed->fanout, on_interest, bed);
}

void
fanout_bed_restart(fanout_bed *bed)
{
    udpai_fanout_free(bed->fanout);
    bed->interest[0] = '\0';
    assert_ok(udpai_fanout_new(&bed->fanout, &bed->wheel, &bed->options));
    udpai_fanout_set_interest(bed->fanout, on_interest, bed);
}

void
fanout_bed_page(fanout_bed *bed, size_t n_items)
{
    bed->options.response_bytes = n_items * (FANOUT_TEST_OVERHEAD + 2);
    fanout_bed_restart(bed);
}

void
fanout_bed_done(fanout_bed *bed)
{
    UDPAI_LIST_FOREACH_SAFE (node, &bed->readers)
        fanout_close(UDPAI_LIST_ENTRY(node, fanout_reader, in_bed));
    udpai_fanout_free(bed->fanout);
    wire_free_all();
    n_known_tests = 0;
    assert_true(udpai_wheel_next(&bed->wheel) == UDPAI_WHEEL_NEVER);
}

static unsigned long live_before;

int
fanout_bed_setup(void **state)
{
    fanout_bed *bed = malloc(sizeof(*bed));
    assert_non_null(bed);
    live_before = udpai_alloc_live();
    fanout_bed_init(bed);
    *state = bed;
    return 0;
}

int
fanout_bed_teardown(void **state)
{
    fanout_bed_done(*state);
    free(*state);
    return udpai_alloc_live() == live_before ? 0 : -1;
}

void
fanout_bed_at(fanout_bed *bed, uint64_t now_ms)
{
    udpai_wheel_advance(&bed->wheel, now_ms);
}

/* ---- changes ---- */

struct change {
    test_resource spec;
    char type_room[128], name[128], value[64], aliases[TEST_ALIASES_MAX][128], node[32];
    uint64_t links[8];
    size_t n_links;
    bool is_aimed;
    uint64_t deadline_ms;
};

/* Copies up to one of the marks that begin something else; returns where it stopped. */
static const char *
take_word(char *room, size_t size, const char *text)
{
    size_t n = strcspn(text, "=^@%:$;> ");
    assert_true(n < size);
    memcpy(room, text, n);
    room[n] = '\0';
    return text + n;
}

static const char *
parse_mark(struct change *change, size_t *n_aliases, const char *at)
{
    char mark = *at++, word[128];
    at = take_word(word, sizeof(word), at);
    switch (mark) {
    case '=':
        (void)snprintf(change->value, sizeof(change->value), "%.63s", word);
        break;
    case '^':
        assert_true(*n_aliases < TEST_ALIASES_MAX);
        long_name(change->aliases[*n_aliases], udpai_str_from(word));
        change->spec.aliases[*n_aliases] = change->aliases[*n_aliases];
        ++*n_aliases;
        break;
    case '@':
        (void)snprintf(change->node, sizeof(change->node), "%.31s", word);
        break;
    case '>':
        change->is_aimed = true;
        for (const char *digit = word; *digit; digit++)
            change->links[change->n_links++] = (uint64_t)(*digit - '0');
        break;
    case '%':
        change->deadline_ms = strtoull(word, NULL, 10);
        change->spec.ttl_ms = 1000;
        break;
    case ':':
        change->spec.generation = strtoull(word, NULL, 10);
        break;
    case '$':
        change->spec.lazy = true;
        break;
    case ';':
        change->spec.constraints = constraints_of(word);
        break;
    default:
        fail_msg("'%c%s' in a change", mark, word);
    }
    return at;
}

/* Behind the '+'; returns where the next one begins. */
static const char *
parse_change(struct change *change, const char *at)
{
    char type[32], name[96];
    size_t n = strcspn(at, "/"), n_aliases = 0;
    memset(change, 0, sizeof(*change));
    assert_true(n < sizeof(type) && at[n] == '/');
    (void)snprintf(type, sizeof(type), "%.*s", (int)n, at);
    at = take_word(name, sizeof(name), at + n + 1);
    long_name(change->name, udpai_str_from(name));
    while (*at && *at != ' ')
        at = parse_mark(change, &n_aliases, at);
    change->spec.type = fanout_type(type, change->type_room);
    change->spec.name = change->name;
    change->spec.value = change->value;
    return at + (*at == ' ');
}

static udpa_err
add_change(udpai_change_set *set, udpai_change_kind kind, const struct change *change)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = test_resource_make(&change->spec);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = NULL, *links = NULL;
    if (!resource)
        return UDPA_ERR_NOMEM;
    if (change->node[0] && udpa_bytes_new(&node, change->node, strlen(change->node)) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    if (change->is_aimed && !(links = udpai_links_new(change->links, change->n_links)))
        return UDPA_ERR_NOMEM;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *said = NULL;
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    parts.authority = UDPAI_STR("acme");
    if (kind == UDPAI_CHANGE_REMOVE && parts.generation &&
        udpai_removal_make(&said, udpai_resource_type_url(resource), &parts) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    const udpai_change told = {
        .kind = kind,
        .removal = said,
        .resource = resource,
        .deadline_ms = change->deadline_ms,
        .from_node = node,
        .visible_to = links,
    };
    return udpai_change_set_add(set, &told);
}

udpai_change_set *
fanout_changes(const char *changes)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    udpa_err err = set ? UDPA_OK : UDPA_ERR_NOMEM;
    while (*changes && err == UDPA_OK) {
        struct change change;
        udpai_change_kind kind = *changes == '+'   ? UDPAI_CHANGE_SET
                                 : *changes == '~' ? UDPAI_CHANGE_REFRESH
                                                   : UDPAI_CHANGE_REMOVE;
        assert_non_null(strchr("+~-", *changes));
        changes = parse_change(&change, changes + 1);
        err = add_change(set, kind, &change);
    }
    return err == UDPA_OK ? UDPAI_TAKE(set) : NULL;
}

void
fanout_change(fanout_bed *bed, const char *changes)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = fanout_changes(changes);
    size_t place = 0;
    assert_non_null(set);
    assert_ok(udpai_fanout_apply(bed->fanout, set, &place));
}

void
fanout_settle(fanout_bed *bed)
{
    udpai_settled *settled = udpai_settled_new(&(udpai_settled_facts){0});
    assert_non_null(settled);
    udpai_fanout_set_settled(bed->fanout, settled);
}

void
fanout_settle_except(fanout_bed *bed, const udpai_unsettled *missing)
{
    udpai_settled *settled =
        udpai_settled_new(&(udpai_settled_facts){.missing = missing, .n_missing = 1});
    assert_non_null(settled);
    udpai_fanout_set_settled(bed->fanout, settled);
}

/* ---- readers ---- */

static void
on_wake(udpai_subscriber *subscriber)
{
    UDPAI_CONTAINER_OF(subscriber, fanout_reader, subscriber)->n_wakes++;
}

static const udpai_subscriber_ops reader_ops = {.wake = on_wake};

void
fanout_open_with(fanout_reader *reader, fanout_bed *bed, const fanout_renderer *renderer)
{
    memset(reader, 0, sizeof(*reader));
    reader->bed = bed;
    reader->checks_refreshes = true;
    udpai_list_init(&reader->in_bed);
    udpai_list_append(&bed->readers, &reader->in_bed);
    udpai_subscriber_init(&reader->subscriber, bed->fanout, &reader_ops, &renderer->base);
}

void
fanout_open(fanout_reader *reader, fanout_bed *bed)
{
    fanout_open_with(reader, bed, &bed->renderer);
}

void
fanout_close(fanout_reader *reader)
{
    udpai_list_remove(&reader->in_bed);
    udpai_subscriber_done(&reader->subscriber);
    for (size_t i = 0; i < reader->n_held; i++)
        udpa_resource_unref(reader->held[i].resource);
    reader->n_held = 0;
}

udpai_subscription *
fanout_in_mode(fanout_reader *reader, const char *type, udpai_delivery_mode mode)
{
    char room[128];
    udpai_subscription *subscription =
        udpai_subscriber_get(&reader->subscriber, udpai_str_from(fanout_type(type, room)), mode);
    assert_non_null(subscription);
    return subscription;
}

udpai_subscription *
fanout_of(fanout_reader *reader, const char *type)
{
    return fanout_in_mode(reader, type, UDPAI_MODE_DELTA);
}

void
fanout_wildcard(fanout_reader *reader, const char *type, const char *prefix)
{
    assert_ok(udpai_subscribe_wildcard(fanout_of(reader, type), udpai_str_from(prefix), NULL));
}

void
fanout_drop_wildcard(fanout_reader *reader, const char *type, const char *prefix)
{
    assert_ok(udpai_unsubscribe_wildcard(fanout_of(reader, type), udpai_str_from(prefix)));
}

static udpai_locator
read_locator(const char *text, size_t len, char full[128], char room[256])
{
    char name[64], *parameters;
    (void)snprintf(name, sizeof(name), "%.*s", (int)len, text);
    parameters = strchr(name, ';');
    if (parameters)
        *parameters++ = '\0';
    long_name(full, udpai_str_from(name));
    udpai_locator locator = {.name = udpai_str_from(full)};
    if (parameters)
        locator.parameters = parameters_of(parameters, room);
    return locator;
}

void
fanout_ask(fanout_reader *reader, const char *type, const char *names)
{
    while (*names) {
        char full[128], room[256];
        size_t n = strcspn(names, " ");
        const udpai_locator locator = read_locator(names, n, full, room);
        assert_ok(udpai_subscribe_locator(fanout_of(reader, type), &locator, NULL));
        names += n + (names[n] == ' ');
    }
}

void
fanout_drop_name(fanout_reader *reader, const char *type, const char *name)
{
    char full[128], room[256];
    const udpai_locator locator = read_locator(name, strlen(name), full, room);
    udpai_unsubscribe_locator(fanout_of(reader, type), &locator, true);
}

/* ---- what a reader holds ---- */

static fanout_held *
find_held(fanout_reader *reader, const char *type, const char *name)
{
    for (size_t i = 0; i < reader->n_held; i++)
        if (strcmp(reader->held[i].type, type) == 0 && strcmp(reader->held[i].name, name) == 0)
            return &reader->held[i];
    return NULL;
}

const fanout_held *
fanout_find_held(const fanout_reader *reader, const char *type, const char *name)
{
    return find_held((fanout_reader *)(uintptr_t)reader, type, name);
}

const char *
fanout_holds(fanout_reader *reader, const char *type, const char *name)
{
    const fanout_held *held = find_held(reader, type, name);
    udpai_str value = held ? udpai_resource_value(held->resource) : (udpai_str){"", 0};
    (void)snprintf(reader->text, sizeof(reader->text), "%.*s", (int)value.len, value.data);
    return reader->text;
}

static void
hold(fanout_reader *reader, const char *type, udpa_resource *resource, bool is_refresh)
{
    char name[64];
    short_name(name, udpai_resource_name(resource));
    fanout_held *held = find_held(reader, type, name);
    if (is_refresh && reader->checks_refreshes) {
        if (!held)
            fail_msg("%s %s was refreshed, but never sent", type, name);
        else
            assert_true(
                udpai_str_eq(udpai_resource_value(held->resource), udpai_resource_value(resource)));
    }
    if (!held) {
        assert_true(reader->n_held < FANOUT_TEST_NAMES);
        held = &reader->held[reader->n_held++];
        memset(held, 0, sizeof(*held));
        (void)snprintf(held->type, sizeof(held->type), "%s", type);
        (void)snprintf(held->name, sizeof(held->name), "%s", name);
    }
    udpa_resource_ref(resource);
    udpa_resource_unref(held->resource);
    held->resource = resource;
}

void
fanout_drop(fanout_reader *reader, const char *type, const char *name)
{
    fanout_held *held = find_held(reader, type, name);
    if (!held)
        return;
    udpa_resource_unref(held->resource);
    *held = reader->held[--reader->n_held];
}

static void
drop_type(fanout_reader *reader, const char *type)
{
    for (size_t i = reader->n_held; i-- > 0;)
        if (strcmp(reader->held[i].type, type) == 0)
            fanout_drop(reader, type, reader->held[i].name);
}

void
fanout_receive(fanout_reader *reader, const udpai_delivery *delivery)
{
    char type[16];
    short_type(type, udpai_subscription_type_url(delivery->subscription));
    const udpai_body *body = delivery->body;
    const char *marks = udpa_bytes_data(body->parts.items[1]);
    assert_int_equal(strlen(marks), body->resources.n);
    assert_int_equal(body->seqs.n, body->resources.n);
    if (delivery->kind == UDPAI_DELIVERY_STATE && body->n_refreshes == 0)
        drop_type(reader, type);
    reader->last_size = 0;
    reader->last_items = body->resources.n + body->removed.n;
    for (size_t i = 0; i < body->resources.n; i++) {
        udpai_send_item item = {.resource = body->resources.items[i]};
        reader->last_size += item_size(&reader->bed->renderer.base, &item);
        hold(reader, type, body->resources.items[i], marks[i] == '~');
    }
    for (size_t i = 0; i < body->removed.n; i++) {
        char name[64];
        short_name(name, udpai_bytes_view(body->removed.items[i]));
        fanout_drop(reader, type, name);
    }
}

const char *
fanout_next(fanout_reader *reader)
{
    udpai_delivery delivery = {0};
    char type[16];
    reader->text[0] = '\0';
    udpa_err err = udpai_subscriber_next(&reader->subscriber, &delivery);
    if (err == UDPA_ERR_ABORTED)
        return "ABORTED";
    assert_ok(err);
    assert_int_equal(delivery.kind == UDPAI_DELIVERY_NONE, delivery.body == NULL);
    if (!delivery.body)
        return reader->text;
    short_type(type, udpai_subscription_type_url(delivery.subscription));
    fanout_receive(reader, &delivery);
    const char *what = udpa_bytes_data(delivery.body->parts.items[0]);
    int n = delivery.kind == UDPAI_DELIVERY_COMPLETE
                ? snprintf(reader->text, sizeof(reader->text), "%s!%s", type, what)
                : snprintf(reader->text, sizeof(reader->text), "%s%s[%s]", type,
                           delivery.kind == UDPAI_DELIVERY_STATE ? "*" : "", what);
    assert_true((size_t)n < sizeof(reader->text));
    udpai_body_unref(delivery.body);
    return reader->text;
}

const char *
fanout_all(fanout_reader *reader)
{
    char all[FANOUT_TEST_TEXT] = "";
    const char *next;
    for (size_t i = 0; *(next = fanout_next(reader)); i++) {
        assert_true(i < 1000 && strcmp(next, "ABORTED") != 0);
        append(all, " ", next);
    }
    memcpy(reader->text, all, sizeof(all));
    return reader->text;
}
