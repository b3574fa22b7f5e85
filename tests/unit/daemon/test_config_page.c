/* SPDX-License-Identifier: Apache-2.0 */
/* The page /config: both forms, where it is from, what was read again, and its limit. */
#include "daemon/config_page.h"

#include <string.h>

#include "base/alloc.h"
#include "tests/harness/oom.h"
#include "tests/unit/daemon/bootstrap_test.h"

static char program[] = "udpad", flag[] = "-c", file[] = "/etc/a\nb.yaml";
static char *arguments[] = {program, flag, file, NULL};

typedef struct page_test {
    bootstrap_test *test;
    udpai_plan plan;
    udpai_options options;
    udpai_effective effective;
    udpai_http_reading reading;
    const char *type;
    udpai_strbuf text;
} page_test;

static void
begin(page_test *self, bootstrap_test *test, const char *text)
{
    *self = (page_test){.test = test};
    bootstrap_test_read_unchecked(test, text);
    self->plan.bootstrap = test->bootstrap;
    self->plan.bootstrap.read_us = 0;
    self->options = (udpai_options){.config_file = "/etc/udpa/u.yaml", .arguments = arguments};
    self->effective = (udpai_effective){.plan = &self->plan, .options = &self->options};
}

static udpa_err
ask(page_test *self, const char *query, const char *accept)
{
    self->reading.query = udpai_str_from(query);
    self->reading.accept = udpai_str_from(accept);
    udpai_strbuf_done(&self->text);
    self->text = (udpai_strbuf){0};
    return udpai_config_page_read(&self->effective, self->test->schema, &self->reading, &self->type,
                                  &self->text, NULL);
}

static void
expect_words(const page_test *self, const char *words)
{
    if (!self->text.data || !memmem(self->text.data, self->text.len, words, strlen(words)))
        fail_msg("there is no '%s' in:\n%.*s", words, (int)self->text.len, self->text.data);
}

static void
end(page_test *self)
{
    udpai_strbuf_done(&self->text);
    udpai_free(self->effective.restart);
}

static void
yaml_has_where_it_is_from_as_comments(void **state)
{
    page_test page;
    begin(&page, *state, "# secret\nnode: {id: edge}\nstore: {user: secret}\n");
    assert_ok(ask(&page, "", "*/*"));
    assert_string_equal(page.type, "application/yaml");
    expect_words(&page, "\n# file: /etc/udpa/u.yaml\n# read: 1970-01-01T00:00:00Z\n# SHA-256: ");
    expect_words(&page, page.plan.bootstrap.sha256);
    expect_words(&page, "the file: -c (redacted)\n\n"
                        "node:\n  id: edge\nstore:\n  user: \"(redacted)\"\n");
    assert_null(memmem(page.text.data, page.text.len, "secret\n", 7));
    assert_null(memmem(page.text.data, page.text.len, "read again", 10));
    end(&page);
}

static void
json_has_it_as_fields(void **state)
{
    static const char head[] = "{\"redacted\":\"(redacted)\",\n\"file\":\"/etc/udpa/u.yaml\",\n";
    static const char tail[] = "\"arguments\":[\"-c\", \"(redacted)\"],\n"
                               "\"bootstrap\":{\"node\":{\"id\":\"edge\"}}}\n";
    page_test page;
    begin(&page, *state, "node: {id: edge}\n");
    assert_ok(ask(&page, "format=json", ""));
    assert_string_equal(page.type, "application/json");
    assert_memory_equal(page.text.data, head, sizeof(head) - 1);
    expect_words(&page, tail);
    assert_ok(ask(&page, "", "text/html, application/json;q=0.9"));
    assert_string_equal(page.type, "application/json");
    assert_ok(ask(&page, "format=yaml", "application/json"));
    assert_string_equal(page.type, "application/yaml");
    assert_int_equal(ask(&page, "format=xml", ""), UDPA_ERR_INVAL);
    assert_int_equal(ask(&page, "format=json&x", ""), UDPA_ERR_INVAL);
    end(&page);
}

static void
without_a_file_there_is_none(void **state)
{
    page_test page;
    begin(&page, *state, "");
    page.options = (udpai_options){0};
    assert_ok(ask(&page, "", ""));
    expect_words(&page, "# file: none\n");
    expect_words(&page, "\n\n{}\n");
    assert_null(memmem(page.text.data, page.text.len, "SHA", 3));
    end(&page);
}

static void
what_was_read_again_is_reported(void **state)
{
    page_test page;
    begin(&page, *state, "node: {id: edge}\n");
    page.effective.again_us = 1000000;
    memcpy(page.effective.again_sha256, "abc", 4);
    page.effective.restart = udpai_strdup("node.id, sockets");
    assert_ok(ask(&page, "", ""));
    expect_words(&page, "# read again: 1970-01-01T00:00:01Z\n# SHA-256 then: abc\n"
                        "# differs in the file, and takes a restart: node.id, sockets\n\nnode:");
    page.effective.is_rejected = true;
    page.effective.rejected_us = 2000000;
    assert_ok(ask(&page, "format=json", ""));
    expect_words(&page, "\"rejected_since\":\"1970-01-01T00:00:02Z\",\n"
                        "\"restart_needed\":\"node.id, sockets\",\n\"bootstrap\":{");
    end(&page);
}

static void
what_is_too_large_is_left_out(void **state)
{
    udpai_strbuf text = {0};
    page_test page;
    udpai_strbuf_puts(&text, "node: {id: edge, authority: ");
    for (size_t i = 0; i < UDPAI_CONFIG_PAGE_MAX; i++)
        udpai_strbuf_putc(&text, 'x');
    udpai_strbuf_puts(&text, "}\n");
    udpai_strbuf_putc(&text, '\0');
    assert_false(udpai_strbuf_failed(&text));
    begin(&page, *state, text.data);
    assert_ok(ask(&page, "", ""));
    expect_words(&page, "\n# not here: it is larger");
    assert_true(page.text.len < 1000);
    assert_ok(ask(&page, "format=json", ""));
    expect_words(&page, "read the file\"}\n");
    udpai_strbuf_done(&text);
    end(&page);
}

static udpa_err
ask_yaml(void *context)
{
    page_test *self = context;
    udpa_err err = ask(self, "", "");
    udpai_strbuf_done(&self->text);
    self->text = (udpai_strbuf){0};
    return err;
}

static void
without_memory_it_fails(void **state)
{
    page_test page;
    begin(&page, *state, "node: {id: edge}\nruntime: {base: {k: v}}\n");
    assert_true(oom_torture(ask_yaml, &page) > 2);
    end(&page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(yaml_has_where_it_is_from_as_comments), CASE(json_has_it_as_fields),
        CASE(without_a_file_there_is_none),          CASE(what_was_read_again_is_reported),
        CASE(what_is_too_large_is_left_out),         CASE(without_memory_it_fails),
#undef CASE
    };
    return cmocka_run_group_tests_name("config_page", tests, NULL, NULL);
}
