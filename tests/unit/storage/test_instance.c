/* SPDX-License-Identifier: Apache-2.0 */
/* The instance of a state directory: it stays over restarts, and a copy has another. */
#include "storage/instance.h"

#include "base/log.h"
#include "tests/unit/storage/storage_test.h"

#define instance_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static char logged[512];

static void
note_log(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)component;
    (void)userdata;
    snprintf(logged, sizeof(logged), "%d %s", (int)level, message);
}

static void
get(struct fixture *fixture, const char *name, char instance[UDPAI_INSTANCE_LEN + 1])
{
    char path[128];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    *logged = '\0';
    udpa_log_set_sink(UDPA_LOG_DEBUG, note_log, NULL);
    udpa_err err = udpai_instance_get(path_in(fixture, name, path), instance, &error);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_ok(err);
    assert_int_equal(strspn(instance, "0123456789abcdef"), UDPAI_INSTANCE_LEN);
}

static size_t
read_file(struct fixture *fixture, const char *name, char *text, size_t size)
{
    char path[128];
    int fd = open(path_in(fixture, name, path), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, size);
    close(fd);
    return (size_t)n;
}

/* A file of its own, with these bytes. */
static void
put_file(struct fixture *fixture, const char *name, const char *text, size_t len)
{
    char path[128];
    (void)unlink(path_in(fixture, name, path));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
}

static void
it_stays_over_restarts(void **state)
{
    struct fixture *fixture = *state;
    char first[UDPAI_INSTANCE_LEN + 1], again[UDPAI_INSTANCE_LEN + 1];
    get(fixture, "state", first);
    assert_non_null(strstr(logged, first));
    get(fixture, "state", again);
    assert_string_equal(first, again);
    assert_string_equal(logged, "");
}

static void
two_directories_are_two(void **state)
{
    struct fixture *fixture = *state;
    char one[UDPAI_INSTANCE_LEN + 1], two[UDPAI_INSTANCE_LEN + 1];
    get(fixture, "one", one);
    get(fixture, "two", two);
    assert_string_not_equal(one, two);
}

static void
a_copy_is_another(void **state)
{
    struct fixture *fixture = *state;
    char first[UDPAI_INSTANCE_LEN + 1], copy[UDPAI_INSTANCE_LEN + 1], text[128], path[128];
    get(fixture, "state", first);
    size_t len = read_file(fixture, "state/instance", text, sizeof(text));
    assert_int_equal(mkdir(path_in(fixture, "copy", path), 0700), 0);
    put_file(fixture, "copy/instance", text, len);
    get(fixture, "copy", copy);
    assert_string_not_equal(first, copy);
    assert_non_null(strstr(logged, "was copied, restored or moved"));
    get(fixture, "copy", first);
    assert_string_equal(first, copy);
}

static void
what_is_none_is_made_anew(void **state)
{
    static const char *const texts[] = {"", "x", "0123456789abcdef0123456789abcdef",
                                        "0123456789abcdef0123456789abcdeg 1 2\n"};
    struct fixture *fixture = *state;
    char before[UDPAI_INSTANCE_LEN + 1], instance[UDPAI_INSTANCE_LEN + 1];
    get(fixture, "state", before);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        put_file(fixture, "state/instance", texts[i], strlen(texts[i]));
        get(fixture, "state", instance);
        assert_string_not_equal(instance, before);
        assert_null(strstr(texts[i], instance));
    }
}

static void
where_nothing_can_be_written_it_says_so(void **state)
{
    struct fixture *fixture = *state;
    char path[128], instance[UDPAI_INSTANCE_LEN + 1];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    put_file(fixture, "file", "", 0);
    assert_int_equal(udpai_instance_get(path_in(fixture, "file", path), instance, &error),
                     UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), path));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        instance_test(it_stays_over_restarts),
        instance_test(two_directories_are_two),
        instance_test(a_copy_is_another),
        instance_test(what_is_none_is_made_anew),
        instance_test(where_nothing_can_be_written_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
