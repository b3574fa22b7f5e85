/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the bootstrap file have every field, and decide of each text whether it may be
 * shown; udpad.conf(5) has every field; and rows do what they say. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vector.h"
#include "daemon/bootstrap_fields.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define PACKAGE "udpa.config.v1"

static const char *page_path; /* udpad.conf(5) */

/* ---- all fields ---- */

typedef struct documented {
    const ProtobufCFieldDescriptor *field;
    const char *message;
    bool is_there;
} documented;

typedef struct search {
    const char *page;
    udpai_str part; /* of the page: about one field of the file */
    UDPAI_VECTOR(documented) fields;
    unsigned n_wrong, n_decided;
} search;

static bool
is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool
has_word(udpai_str text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = text.data; at + len < text.data + text.len; at++)
        if (memcmp(at, word, len) == 0 && !is_of_word(at[-1]) && !is_of_word(at[len]))
            return true;
    return false;
}

/* From the heading that is the name of the field to the next one. */
static udpai_str
part_of(const char *page, const char *name)
{
    char heading[64];
    snprintf(heading, sizeof(heading), "\n.SH %s\n", name);
    const char *begin = strstr(page, heading);
    if (!begin)
        return UDPAI_STR("");
    const char *end = strstr(begin + 1, "\n.SH ");
    return (udpai_str){begin + 1, end ? (size_t)(end - begin) : strlen(begin + 1)};
}

/* What is in several parts need not be in each. */
static void
note(search *self, const udpai_section *section, const ProtobufCFieldDescriptor *field)
{
    bool is_there = has_word(self->part, strcmp(field->name, "fixed_base") ? field->name : "base");
    for (size_t i = 0; i < self->fields.n; i++)
        if (self->fields.items[i].field == field) {
            self->fields.items[i].is_there |= is_there;
            return;
        }
    const documented noted = {field, section->descriptor->name, is_there};
    assert_true(udpai_vector_push(&self->fields, noted));
}

static const udpai_field *
find_row(const udpai_section *section, const char *name, size_t *ret_n)
{
    const udpai_field *found = NULL;
    *ret_n = 0;
    for (size_t i = 0; i < section->n_fields; i++)
        if (strcmp(section->fields[i].name, name) == 0) {
            found = &section->fields[i];
            ++*ret_n;
        }
    return found;
}

static const ProtobufCMessageDescriptor *
message_of(const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *message =
        field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
    return message && strcmp(message->package_name, PACKAGE) == 0 ? message : NULL;
}

static void
complain(search *self, const udpai_section *section, const char *field, const char *what)
{
    print_error("%s.%s %s\n", section->descriptor->name, field, what);
    self->n_wrong++;
}

/* Texts, and messages from elsewhere that have some. */
static bool
holds_text(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES ||
           (field->type == PROTOBUF_C_TYPE_MESSAGE && !message_of(field) &&
            field->descriptor != &google__protobuf__duration__descriptor &&
            field->descriptor != &google__protobuf__timestamp__descriptor);
}

static void look(search *self, const udpai_section *section, bool is_whole);

static void
look_at_field(search *self,
              const udpai_section *section,
              const ProtobufCFieldDescriptor *field,
              bool is_whole)
{
    size_t n;
    const udpai_field *row = find_row(section, field->name, &n);
    const ProtobufCMessageDescriptor *message = message_of(field);
    if (is_whole)
        self->part = part_of(self->page, field->name);
    if (is_whole && self->part.len == 0)
        complain(self, section, field->name, "has no section in udpad.conf(5)");
    if (!is_whole)
        note(self, section, field);
    if (n != 1)
        complain(self, section, field->name, "needs one row in its table");
    else if (row->of && row->of->descriptor != message)
        complain(self, section, field->name, "has the table of another message");
    else if (row->of)
        look(self, row->of, false);
    else if (message && !row->check)
        complain(self, section, field->name, "is a message without a table");
    if (row && holds_text(field) != (row->disclosure != UDPAI_DISCLOSURE_UNDECIDED))
        complain(self, section, field->name,
                 holds_text(field) ? "needs a decision: UDPAI_PUBLIC, or UDPAI_MAY_BE_SECRET if "
                                     "the page /config may not show it (docs/design/admin.md)"
                                   : "is no text: the page /config always has it");
    self->n_decided += row && holds_text(field);
}

static void
look(search *self, const udpai_section *section, bool is_whole)
{
    const ProtobufCMessageDescriptor *message = section->descriptor;
    for (unsigned i = 0; i < message->n_fields; i++)
        look_at_field(self, section, &message->fields[i], is_whole);
    for (size_t i = 0; i < section->n_fields; i++)
        if (!protobuf_c_message_descriptor_get_field_by_name(message, section->fields[i].name))
            complain(self, section, section->fields[i].name, "is no field of it");
}

static char *
read_page(void)
{
    FILE *file = fopen(page_path, "re");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = udpai_alloc(size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static void
every_field_has_a_row_and_stands_in_the_man_page(void **state)
{
    UDPAI_AUTO_FREE char *page = read_page();
    search self = {.page = page};
    look(&self, &udpai_bootstrap_section, true);
    assert_true(self.fields.n > 150);
    assert_true(self.n_decided > 100);
    for (size_t i = 0; i < self.fields.n; i++)
        if (!self.fields.items[i].is_there) {
            print_error("%s.%s is not in udpad.conf(5)\n", self.fields.items[i].message,
                        self.fields.items[i].field->name);
            self.n_wrong++;
        }
    udpai_vector_done(&self.fields);
    assert_int_equal(self.n_wrong, 0);
}

/* ---- rows ---- */

static const udpai_field node_rows[] = {
    {.name = "id", .none = "must be there", .is_namespace = true},
};

static const udpai_section node_table = {UDPAI_SECTION(node, node_rows)};

static const udpai_field status_rows[] = {
    {.name = "whole_tree", UDPAI_TO(csds.asks_tree)},
    {.name = "ttl", .min = 1000, UDPAI_TO(settings.client_ttl_ms), .otherwise = 30000},
    {.name = "wait", .max = 1500, .bounds = "a moment", UDPAI_TO(csds.wait_ms), .otherwise = 7},
};

static const udpai_section status_table = {UDPAI_SECTION(client_status, status_rows)};

static const udpai_field rows[] = {
    {.name = "client_status", .of = &status_table},
    {.name = "node", .of = &node_table},
    {.name = "workers", .max = 2, .bounds = "are a crowd", UDPAI_TO(settings.n_workers)},
    {.name = "client_types", .max = 1, .none = "is required", .empty = "is nothing"},
};

static const udpai_section table = {UDPAI_SECTION(bootstrap, rows)};

static void
values_beyond_their_bounds_are_told(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read_unchecked(test, "client_status: {ttl: 0.9s, wait: 1.501s}\n"
                                        "node: {}\n"
                                        "workers: 3\n"
                                        "client_types: [a, '']\n");
    udpai_section_check(&table, test->bootstrap.message, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:22: client_status.ttl: 0.9s is too short: it must be at least 1s\n"
              "test.yaml:1:34: client_status.wait: must lie between 0 s and a moment\n"
              "test.yaml:2:7: node.id: must be there\n"
              "test.yaml:3:10: workers: 3 are a crowd: at most 2\n"
              "test.yaml:4:15: client_types: are 2; at most 1 can be\n"
              "test.yaml:4:19: client_types[1]: is nothing\n");
}

static void
what_is_not_there_is_told_of_lists_but_not_of_what_lies_below(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read_unchecked(test, "workers: 2\n");
    udpai_section_check(&table, test->bootstrap.message, &test->diagnostics);
    bootstrap_test_assert_mistakes(test, "test.yaml:1:1: client_types: is required\n");
}

static void
apply(bootstrap_test *test, const char *text, bool is_good, udpai_plan *plan)
{
    bootstrap_test_read_unchecked(test, text);
    assert_int_equal(udpai_section_apply(&table, test->bootstrap.message, plan), is_good);
}

static void
what_is_given_goes_to_its_place(void **state)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    apply(*state, "client_status: {whole_tree: true, ttl: 2s, wait: 0s}\nworkers: 2\n", true, plan);
    assert_true(plan->csds.asks_tree);
    assert_true(plan->settings.client_ttl_ms == 2000);
    assert_true(plan->csds.wait_ms == 0);
    assert_int_equal(plan->settings.n_workers, 2);
    udpai_free(plan);
}

static void
what_is_not_given_has_its_default_also_without_the_section(void **state)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    plan->settings.n_workers = 5;
    apply(*state, "node: {}\n", true, plan);
    assert_false(plan->csds.asks_tree);
    assert_true(plan->settings.client_ttl_ms == 30000);
    assert_true(plan->csds.wait_ms == 7);
    assert_int_equal(plan->settings.n_workers, 5);
    udpai_free(plan);
}

static void
what_is_too_short_stays_as_it_was(void **state)
{
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    plan->settings.client_ttl_ms = 11;
    apply(*state, "client_status: {ttl: -2s}\n", false, plan);
    assert_true(plan->settings.client_ttl_ms == 11);
    udpai_free(plan);
}

static void
count(void *userdata, const char *name_space)
{
    size_t *n = userdata;
    assert_string_equal(name_space, "com.acme");
    ++*n;
}

static void
namespaces_are_found_by_their_rows(void **state)
{
    bootstrap_test *test = *state;
    size_t n = 0;
    bootstrap_test_read_unchecked(test, "node: {id: com.acme, cluster: x}\nclient_types: [b]\n");
    udpai_section_namespaces(&table, test->bootstrap.message, count, &n);
    assert_int_equal(n, 1);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_row_and_stands_in_the_man_page),
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(values_beyond_their_bounds_are_told),
        CASE(what_is_not_there_is_told_of_lists_but_not_of_what_lies_below),
        CASE(what_is_given_goes_to_its_place),
        CASE(what_is_not_given_has_its_default_also_without_the_section),
        CASE(what_is_too_short_stays_as_it_was),
        CASE(namespaces_are_found_by_their_rows),
#undef CASE
    };
    page_path = argc > 1 ? argv[1] : "docs/man/udpad.conf.5";
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
