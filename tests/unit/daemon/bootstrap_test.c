/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/daemon/bootstrap_test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/bootstrap_check.h"

int
bootstrap_test_setup(void **state)
{
    bootstrap_test *test = udpai_alloc(sizeof(*test));
    assert_non_null(test);
    assert_ok(udpai_schema_new(&test->schema, NULL));
    *state = test;
    return 0;
}

int
bootstrap_test_teardown(void **state)
{
    bootstrap_test *test = *state;
    udpai_bootstrap_done(&test->bootstrap);
    udpai_diagnostics_done(&test->diagnostics);
    udpai_strbuf_done(&test->mistakes);
    udpai_schema_unref(test->schema);
    udpa_error_unref(test->error);
    udpai_free(test);
    return 0;
}

static void
note(const udpa_error *finding, bool is_warning, void *userdata)
{
    bootstrap_test *test = userdata;
    const char *text = udpa_error_message(finding);
    const char *name = strstr(text, "test.yaml");
    udpai_strbuf_puts(&test->mistakes, is_warning ? "warning: " : "");
    udpai_strbuf_puts(&test->mistakes, name ? name : text);
    udpai_strbuf_putc(&test->mistakes, '\n');
}

void
bootstrap_test_read_unchecked(bootstrap_test *test, const char *text)
{
    char directory[] = "/tmp/udpa-bootstrap-XXXXXX", *path = test->path;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(test->path), "%s/test.yaml", directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    test->err = udpai_bootstrap_read(&test->bootstrap, test->schema, path, &test->diagnostics,
                                     &test->error);
    unlink(path);
    rmdir(directory);
}

void
bootstrap_test_read(bootstrap_test *test, const char *text)
{
    bootstrap_test_read_unchecked(test, text);
    if (test->err == UDPA_OK)
        udpai_bootstrap_check(test->bootstrap.message, &test->diagnostics);
}

void
bootstrap_test_tell(bootstrap_test *test)
{
    test->mistakes.len = 0;
    udpai_diagnostics_report(&test->diagnostics, note, test);
}

void
bootstrap_test_assert_mistakes(bootstrap_test *test, const char *expected)
{
    bootstrap_test_tell(test);
    assert_string_equal(test->mistakes.len ? test->mistakes.data : "", expected);
}
