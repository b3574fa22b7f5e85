/* SPDX-License-Identifier: Apache-2.0 */
/* A bootstrap file without what could be a secret: each kind of it, and what nobody has decided. */
#include "daemon/redact.h"

#include "base/alloc.h"
#include "daemon/bootstrap_fields.h"
#include "tests/harness/oom.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define HIDDEN "(redacted)"

typedef Udpa__Config__V1__Bootstrap bootstrap;

static bootstrap *
copy(const bootstrap *message, udpai_arena *arena)
{
    size_t size = udpa__config__v1__bootstrap__get_packed_size(message);
    uint8_t *room = udpai_alloc(size + 1);
    if (!room)
        return NULL;
    udpa__config__v1__bootstrap__pack(message, room);
    bootstrap *found = udpa__config__v1__bootstrap__unpack(&arena->allocator, size, room);
    udpai_free(room);
    return found;
}

static bootstrap *
redacted(bootstrap_test *test, const udpai_section *section, const char *text, udpai_arena *arena)
{
    udpai_arena_init(arena);
    bootstrap_test_read_unchecked(test, text);
    bootstrap *message = copy(test->bootstrap.message, arena);
    assert_true(udpai_redact(section, &message->base, arena));
    return message;
}

/* ---- texts ---- */

static void
expect_text(const char *text, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_redact_text(&out, udpai_str_from(text));
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
names_addresses_and_paths_stay(void **state)
{
    (void)state;
    expect_text("", "");
    expect_text("ops@acme.com", "ops@acme.com");
    expect_text("spiffe://acme.com/edge/ops@1", "spiffe://acme.com/edge/ops@1");
    expect_text("a.example:1,[2001:db8::1]:2", "a.example:1,[2001:db8::1]:2");
    expect_text("unix:/run/udpa/a@b.sock", "unix:/run/udpa/a@b.sock");
    expect_text("://", "://");
}

static void
users_in_urls_go(void **state)
{
    (void)state;
    expect_text("https://user:pass@host:1/x", "https://" HIDDEN "@host:1/x");
    expect_text("https://token@host", "https://" HIDDEN "@host");
    expect_text("https://a@b@host?x", "https://" HIDDEN "@host?x");
    expect_text("x://a@b y://c@d", "x://" HIDDEN "@b y://" HIDDEN "@d");
    expect_text("x://a://b@c", "x://a://" HIDDEN "@c");
}

static void
texts_of_lines_go(void **state)
{
    (void)state;
    expect_text("-----BEGIN PRIVATE KEY-----\nMHc", HIDDEN);
    expect_text("a\tb", HIDDEN);
    expect_text("a\r", HIDDEN);
}

/* ---- messages ---- */

static void
what_may_be_a_secret_goes(void **state)
{
    udpai_arena arena;
    bootstrap *message = redacted(
        *state, &udpai_bootstrap_section,
        "store: {user: 'udpa:secret', password_file: /p, engine: ETCD}\n"
        "static_resources: {config_sources: [{name: a, xds: {address: 'h:1', client: {metadata: "
        "{k: secret}}}}]}\n"
        "audiences: [{match: {metadata: [{path: [p], value: secret}], dynamic_parameters: [{key: "
        "k, value: secret}]}}]\n"
        "acl: {rules: [{identities: ['x://secret@h', '']}]}\n",
        &arena);
    const Udpa__Config__V1__ClientMatch *match = message->audiences[0]->match;
    const Google__Protobuf__Struct *metadata =
        message->static_resources->config_sources[0]->xds->client->metadata;
    assert_string_equal(message->store->user, HIDDEN);
    assert_string_equal(message->store->password_file, "/p");
    assert_int_equal(message->store->engine, UDPA__CONFIG__V1__STORE__ENGINE__ETCD);
    assert_string_equal(message->static_resources->config_sources[0]->xds->address, "h:1");
    assert_string_equal(metadata->fields[0]->key, "k");
    assert_string_equal(metadata->fields[0]->value->string_value, HIDDEN);
    assert_string_equal(match->metadata[0]->path[0], "p");
    assert_string_equal(match->metadata[0]->value, HIDDEN);
    assert_string_equal(match->dynamic_parameters[0]->key, "k");
    assert_string_equal(match->dynamic_parameters[0]->value, HIDDEN);
    assert_string_equal(message->acl->rules[0]->identities[0], "x://" HIDDEN "@h");
    assert_string_equal(message->acl->rules[0]->identities[1], "");
    udpai_arena_done(&arena);
}

static void
expect_hidden(const Google__Protobuf__Value *value)
{
    assert_int_equal(value->kind_case, GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE);
    assert_string_equal(value->string_value, HIDDEN);
}

static void
of_the_runtime_the_keys_stay(void **state)
{
    udpai_arena arena;
    bootstrap *message = redacted(
        *state, &udpai_bootstrap_section,
        "runtime: {base: {a: {b: secret}, n: 4711, t: true, l: [secret, [1], {c: 1}]}}\n", &arena);
    const Google__Protobuf__Struct *base = message->runtime->fixed_base;
    assert_int_equal(base->n_fields, 4);
    for (size_t i = 0; i < base->n_fields; i++) {
        const Google__Protobuf__Value *value = base->fields[i]->value;
        switch (*base->fields[i]->key) {
        case 'a':
            assert_string_equal(value->struct_value->fields[0]->key, "b");
            expect_hidden(value->struct_value->fields[0]->value);
            break;
        case 'l':
            expect_hidden(value->list_value->values[0]);
            expect_hidden(value->list_value->values[1]->list_value->values[0]);
            expect_hidden(value->list_value->values[2]->struct_value->fields[0]->value);
            break;
        default:
            expect_hidden(value);
        }
    }
    udpai_arena_done(&arena);
}

static void
what_nobody_has_decided_goes(void **state)
{
    static const udpai_field node_rows[] = {{.name = "id", UDPAI_PUBLIC}, {.name = "cluster"}};
    static const udpai_section node = {UDPAI_SECTION(node, node_rows)};
    static const udpai_field rows[] = {{.name = "node", .of = &node}, {.name = "runtime"}};
    static const udpai_section table = {UDPAI_SECTION(bootstrap, rows)};
    udpai_arena arena;
    bootstrap *message = redacted(
        *state, &table,
        "node: {id: a, cluster: b, authority: c, locality: {zone: d}}\n"
        "runtime: {base: {k: secret}, symlink_root: r}\nlog: {to: e, level: ERROR}\nworkers: 3\n",
        &arena);
    assert_string_equal(message->node->id, "a");
    assert_string_equal(message->node->cluster, HIDDEN);
    assert_string_equal(message->node->authority, HIDDEN);
    assert_string_equal(message->node->namespace_, "");
    assert_string_equal(message->node->locality->zone, HIDDEN);
    assert_string_equal(message->runtime->symlink_root, HIDDEN);
    expect_hidden(message->runtime->fixed_base->fields[0]->value);
    assert_string_equal(message->log->to, HIDDEN);
    assert_int_equal(message->log->level, UDPA__CONFIG__V1__LOG__LEVEL__ERROR);
    assert_int_equal(message->workers, 3);
    udpai_arena_done(&arena);
}

static udpa_err
redact_all(void *context)
{
    const bootstrap_test *test = context;
    udpai_arena arena;
    udpai_arena_init(&arena);
    bootstrap *message = copy(test->bootstrap.message, &arena);
    bool is_good = message && udpai_redact(&udpai_bootstrap_section, &message->base, &arena);
    if (is_good)
        assert_string_equal(message->node->id, "edge");
    udpai_arena_done(&arena);
    return is_good ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_it_fails(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read_unchecked(test, "node: {id: edge}\nruntime: {base: {k: v}}\n");
    assert_true(oom_torture(redact_all, test) > 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_addresses_and_paths_stay),
        cmocka_unit_test(users_in_urls_go),
        cmocka_unit_test(texts_of_lines_go),
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(what_may_be_a_secret_goes),
        CASE(of_the_runtime_the_keys_stay),
        CASE(what_nobody_has_decided_goes),
        CASE(without_memory_it_fails),
#undef CASE
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
