/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor sets from files. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec_test.h"

static char directory[] = "/tmp/udpa-test-XXXXXX";
static char path[64];

static int
setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/set", directory);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void
write_file(const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The message is @p before, the name, @p after. */
static void
assert_not_added(const char *name, udpa_err code, const char *before, const char *after)
{
    udpai_schema *schema = NULL;
    udpa_error *error = NULL;
    char message[300];
    assert_ok(udpai_schema_new(&schema, NULL));
    assert_int_equal(udpai_schema_add_file(schema, name, &error), code);
    snprintf(message, sizeof(message), "%s%s%s", before, name, after);
    assert_string_equal(udpa_error_message(error), message);
    udpa_error_unref(error);
    udpai_schema_unref(schema);
}

static void
reads_a_set(void **state)
{
    (void)state;
    udpai_schema *schema = NULL;
    udpa_error *error = NULL;
    write_file(test_descriptors, test_descriptors_size);
    assert_ok(udpai_schema_new(&schema, NULL));
    assert_false(udpai_schema_has(schema, UDPAI_STR(EVERYTHING)));
    if (udpai_schema_add_file(schema, path, &error))
        fail_msg("%s", udpa_error_message(error));
    assert_true(udpai_schema_has(schema, UDPAI_STR(EVERYTHING)));
    udpai_schema_unref(schema);
}

/* More than is read at once, and so large a name that it does not fit one buffer. */
static void
reads_large_files(void **state)
{
    (void)state;
    udpai_schema *schema = NULL;
    udpa_error *error = NULL;
    char *large = udpai_alloc(200000);
    memset(large, 'x', 200000);
    memcpy(large, "\x0a\xbb\x9a\x0c\x0a\xb7\x9a\x0c", 8); /* a file with a name of 199,991 bytes */
    write_file(large, 199999);
    udpai_free(large);
    assert_ok(udpai_schema_new(&schema, NULL));
    assert_ok(udpai_schema_add_file(schema, path, &error));
    udpai_schema_unref(schema);
}

static void
says_what_is_wrong(void **state)
{
    (void)state;
    assert_not_added("no/such.file", UDPA_ERR_IO, "cannot open descriptors ",
                     ": No such file or directory");
    assert_not_added(directory, UDPA_ERR_IO, "cannot read ", ": Is a directory");
    write_file("hello", 5);
    assert_not_added(path, UDPA_ERR_MALFORMED, "",
                     " is no FileDescriptorSet: make one with protoc --include_imports "
                     "--descriptor_set_out=FILE");
}

/* The file is sparse: its size is looked at, not its contents. */
static void
size_is_bounded(void **state)
{
    (void)state;
    write_file("", 0);
    assert_int_equal(truncate(path, (off_t)UDPAI_DESCRIPTOR_SET_MAX * 4), 0);
    udpai_schema *schema = NULL;
    udpa_error *error = NULL;
    assert_ok(udpai_schema_new(&schema, NULL));
    assert_int_equal(udpai_schema_add_file(schema, path, &error), UDPA_ERR_LIMIT);
    udpa_error_unref(error);
    udpai_schema_unref(schema);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_set),
        cmocka_unit_test(reads_large_files),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(size_is_bounded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
