/* SPDX-License-Identifier: Apache-2.0 */
/* What lands in a directory, in which order, and what does not. */
#include "transport/file/write_job.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "codec/resource_file.h"
#include "file_bed.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/harness/test.h"

#define STRINGS "type.googleapis.com/google.protobuf.StringValue"
#define BED (*(struct bed *)*state)

struct bed {
    file_bed files;
    udpai_validator *validator;
    udpai_write_job job;
    udpa_resource *resource;
};

static int
set_up(void **state)
{
    struct bed *bed = udpai_alloc(sizeof(*bed));
    assert_non_null(bed);
    file_bed_init(&bed->files);
    assert_ok(udpai_validator_new(&bed->validator, bed->files.schema, NULL));
    *state = bed;
    return 0;
}

static int
tear_down(void **state)
{
    struct bed *bed = *state;
    udpai_write_job_done(&bed->job);
    udpai_validator_unref(bed->validator);
    file_bed_done(&bed->files);
    udpai_free(bed);
    return 0;
}

static void
begin(struct bed *bed)
{
    udpai_write_job_done(&bed->job);
    bed->job = (udpai_write_job){
        .directory = bed->files.root,
        .schema = bed->files.schema,
        .format = UDPAI_FORMAT_BINARY,
        .validator = bed->validator,
        .has_parents = true,
    };
    assert_true(udpai_vector_push(&bed->job.folders, "things"));
}

static void
child(struct bed *bed, const char *name, const char *value)
{
    udpai_written_file *file =
        udpai_write_job_add_child(&bed->job, "things", udpai_str_from(name), TEST_TYPE);
    assert_non_null(file);
    if (!value)
        return;
    udpa_resource *resource = RESOURCE("com.acme/x", .value = value);
    assert_true(udpai_written_file_add(file, resource));
    udpa_resource_unref(resource);
}

static void
parent(struct bed *bed, const char *name, const char *value)
{
    udpai_written_file *file = udpai_write_job_add_parent(&bed->job, name, TEST_TYPE);
    udpa_resource *resource = RESOURCE("com.acme/y", .value = value);
    assert_non_null(file);
    assert_true(udpai_written_file_add(file, resource));
    udpa_resource_unref(resource);
}

static void
run(struct bed *bed, size_t n_written, size_t n_removed)
{
    udpai_write_job_run(&bed->job);
    if (bed->job.error)
        fail_msg("%s", udpa_error_message(bed->job.error));
    assert_int_equal(bed->job.n_written, n_written);
    assert_int_equal(bed->job.n_removed, n_removed);
}

static void
run_and_fail(struct bed *bed, const char *error)
{
    udpai_write_job_run(&bed->job);
    assert_non_null(bed->job.error);
    if (!strstr(udpa_error_message(bed->job.error), error))
        fail_msg("%s", udpa_error_message(bed->job.error));
}

static bool
exists(const struct bed *bed, const char *path)
{
    struct stat status;
    return lstat(file_bed_path(&bed->files, path), &status) == 0;
}

static void
read_into(const struct bed *bed, const char *path, char *text, size_t size)
{
    FILE *file = fopen(file_bed_path(&bed->files, path), "re");
    assert_non_null(file);
    size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
}

/* ---- names ---- */

static void
names_stay_where_they_are(void **state)
{
    (void)state;

    static const struct {
        const char *name, *written;
    } cases[] = {
        {"a-B_9.c", "a-B_9.c"},
        {"..", "%2E."},
        {".", "%2E"},
        {".hidden", "%2Ehidden"},
        {"../../etc", "%2E.%2F..%2Fetc"},
        {"a/b", "a%2Fb"},
        {"a%2Fb", "a%252Fb"},
        {"", ""},
        {"ä b", "%C3%A4%20b"},
        {"a\nb", "a%0Ab"},
        {"xdstp://a/b?c=d", "xdstp%3A%2F%2Fa%2Fb%3Fc%3Dd"},
    };

    char written[UDPAI_WRITTEN_NAME_MAX + 1];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_written_name(udpai_str_from(cases[i].name), written);
        assert_string_equal(written, cases[i].written);
    }
    udpai_written_name((udpai_str){"a\0b", 3}, written);
    assert_string_equal(written, "a%00b");
}

static void
long_names_differ(void **state)
{
    (void)state;
    char name[600], a[UDPAI_WRITTEN_NAME_MAX + 1], b[UDPAI_WRITTEN_NAME_MAX + 1];
    for (size_t len = 150; len < sizeof(name); len++) {
        for (int slashes = 0; slashes < 2; slashes++) {
            memset(name, slashes ? '/' : 'x', len);
            udpai_written_name((udpai_str){name, len}, a);
            name[len - 1] = 'y';
            udpai_written_name((udpai_str){name, len}, b);
            assert_true(strlen(a) <= UDPAI_WRITTEN_NAME_MAX);
            assert_string_not_equal(a, b);
            assert_null(strchr(a, '/'));
        }
    }
    memset(name, 'x', UDPAI_WRITTEN_NAME_MAX);
    udpai_written_name((udpai_str){name, UDPAI_WRITTEN_NAME_MAX}, a);
    assert_memory_equal(a, name, UDPAI_WRITTEN_NAME_MAX);
}

/* Where the hash of what was cut begins with the digits of a byte that is written as such. */
static void
no_short_name_stands_for_a_long_one(void **state)
{
    (void)state;
    char name[600], cut[UDPAI_WRITTEN_NAME_MAX + 1], hash[UDPAI_CONTENT_HASH_HEX];
    const size_t kept = UDPAI_WRITTEN_NAME_MAX - UDPAI_CONTENT_HASH_HEX - 1;
    size_t len;
    memset(name, 'x', sizeof(name));
    for (len = 300; len < sizeof(name); len++) {
        udpai_content_hash_hex(udpai_content_hash_of((udpai_str){0}, (udpai_str){name, len}), hash);
        if (hash[0] == '2' && hash[1] <= '9')
            break;
    }
    assert_true(len < sizeof(name));
    udpai_written_name((udpai_str){name, len}, cut);
    /* the short one: the same beginning, that byte, and the other digits */
    name[kept] = (char)(0x20 + hash[1] - '0');
    memcpy(name + kept + 1, hash + 2, UDPAI_CONTENT_HASH_HEX - 2);
    char written[UDPAI_WRITTEN_NAME_MAX + 1];
    udpai_written_name((udpai_str){name, kept + UDPAI_CONTENT_HASH_HEX - 1}, written);
    assert_int_equal(strlen(written), UDPAI_WRITTEN_NAME_MAX);
    assert_string_not_equal(written, cut);
}

/* ---- jobs ---- */

static void
a_response_is_written_for_each(void **state)
{
    char text[512];
    begin(&BED);
    child(&BED, "a/b", "1");
    child(&BED, "none", NULL);
    parent(&BED, "all", "2");
    run(&BED, 3, 0);
    read_into(&BED, "root/things/a%2Fb.pb", text, sizeof(text));
    assert_int_equal(text[0], 1 << 3 | 2); /* version_info */
    assert_int_equal(text[1], 32);
    assert_non_null(strstr(text, TEST_TYPE));
    assert_true(exists(&BED, "root/all.pb"));
    assert_true(exists(&BED, "root/things/none.pb"));
    struct stat status;
    assert_ok(stat(file_bed_path(&BED.files, "root/all.pb"), &status));
    assert_int_equal(status.st_mode & 07, 0);
}

static void
what_has_not_changed_is_not_touched(void **state)
{
    begin(&BED);
    child(&BED, "a", "1");
    parent(&BED, "all", "2");
    run(&BED, 2, 0);
    begin(&BED);
    child(&BED, "a", "1");
    parent(&BED, "all", "3");
    run(&BED, 1, 0);
    assert_ok(truncate(file_bed_path(&BED.files, "root/things/a.pb"), 3)); /* by somebody */
    begin(&BED);
    child(&BED, "a", "1");
    parent(&BED, "all", "3");
    run(&BED, 1, 0);
}

static void
children_go_when_parents_were_written(void **state)
{
    begin(&BED);
    child(&BED, "a", "1");
    child(&BED, "b", "1");
    parent(&BED, "all", "1");
    run(&BED, 3, 0);
    file_bed_put(&BED.files, "root/things/.hidden.pb", "x");
    file_bed_put(&BED.files, "root/things/note.txt", "x");
    file_bed_put(&BED.files, "root/other.pb", "x");
    begin(&BED);
    BED.job.has_parents = false;
    child(&BED, "b", "2");
    parent(&BED, "all", "2");
    run(&BED, 1, 0);
    assert_true(exists(&BED, "root/things/a.pb"));
    begin(&BED);
    child(&BED, "b", "2");
    parent(&BED, "all", "2");
    run(&BED, 1, 1);
    assert_false(exists(&BED, "root/things/a.pb"));
    assert_true(exists(&BED, "root/things/.hidden.pb"));
    assert_true(exists(&BED, "root/things/note.txt"));
    assert_true(exists(&BED, "root/other.pb"));
}

static void
a_failure_stops_before_parents(void **state)
{
    file_bed_mkdir(&BED.files, "root/things");
    file_bed_mkdir(&BED.files, "root/things/a.pb");
    begin(&BED);
    child(&BED, "a", "1");
    parent(&BED, "all", "1");
    run_and_fail(&BED, "root/things/a.pb: cannot be written: ");
    assert_false(exists(&BED, "root/all.pb"));
    assert_false(exists(&BED, "root/things/.a.pb.tmp"));
}

/* As a full disk does. */
static void
what_cannot_be_written_whole_leaves_the_old_file(void **state)
{
    char before[512], after[512];
    struct rlimit old, limit;
    begin(&BED);
    parent(&BED, "all", "1");
    run(&BED, 1, 0);
    read_into(&BED, "root/all.pb", before, sizeof(before));
    assert_ok(getrlimit(RLIMIT_FSIZE, &old));
    limit = old;
    limit.rlim_cur = 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(setrlimit(RLIMIT_FSIZE, &limit));
    begin(&BED);
    parent(&BED, "all", "2");
    udpai_write_job_run(&BED.job);
    assert_ok(setrlimit(RLIMIT_FSIZE, &old));
    signal(SIGXFSZ, SIG_DFL);
    assert_non_null(BED.job.error);
    assert_non_null(strstr(udpa_error_message(BED.job.error), "root/all.pb: cannot be written: "));
    read_into(&BED, "root/all.pb", after, sizeof(after));
    assert_string_equal(before, after);
    assert_false(exists(&BED, "root/.all.pb.tmp"));
    begin(&BED);
    parent(&BED, "all", "2");
    run(&BED, 1, 0);
}

static void
links_are_not_followed(void **state)
{
    file_bed_mkdir(&BED.files, "elsewhere");
    file_bed_put(&BED.files, "elsewhere/kept.pb", "x");
    file_bed_link(&BED.files, "../elsewhere", "root/things");
    begin(&BED);
    parent(&BED, "all", "1");
    run_and_fail(&BED, "root/things: cannot be read: ");
    assert_true(exists(&BED, "elsewhere/kept.pb"));
    file_bed_remove(&BED.files, "root/things");
    file_bed_put(&BED.files, "elsewhere/target", "kept");
    file_bed_link(&BED.files, "../elsewhere/target", "root/.more.pb.tmp");
    begin(&BED);
    parent(&BED, "more", "1");
    run(&BED, 1, 0);
    char text[16];
    read_into(&BED, "elsewhere/target", text, sizeof(text));
    assert_string_equal(text, "kept");
}

static void
what_is_there_may_stay(void **state)
{
    char text[64];
    file_bed_mkdir(&BED.files, "root/things");
    file_bed_put(&BED.files, "root/things/a.pb", "old");
    begin(&BED);
    child(&BED, "a", NULL);
    child(&BED, "b", NULL);
    BED.job.children.items[0].if_absent = BED.job.children.items[1].if_absent = true;
    run(&BED, 1, 0);
    read_into(&BED, "root/things/a.pb", text, sizeof(text));
    assert_string_equal(text, "old");
    assert_true(exists(&BED, "root/things/b.pb"));
}

static void
put_string(struct bed *bed, const char *value)
{
    begin(bed);
    bed->job.format = UDPAI_FORMAT_JSON;
    udpai_written_file *file = udpai_write_job_add_parent(&bed->job, "strings", STRINGS);
    udpa_resource *resource = RESOURCE("com.acme/s", .type = STRINGS, .value = value);
    assert_non_null(file);
    assert_true(udpai_written_file_add(file, resource));
    udpa_resource_unref(resource);
}

static void
text_is_written_whole_or_not_at_all(void **state)
{
    char text[512];
    put_string(&BED, "\x0a\x02hi");
    run(&BED, 1, 0);
    read_into(&BED, "root/strings.json", text, sizeof(text));
    assert_non_null(strstr(text, "\"value\":\"hi\""));
    put_string(&BED, "\x0a\x02hi\x12\x01x");
    run_and_fail(&BED, "strings.json: 'com.acme/s' cannot be written as text, let the format be "
                       "BINARY: field number 2 is unknown");
    begin(&BED);
    BED.job.format = UDPAI_FORMAT_YAML;
    parent(&BED, "all", "1");
    run_and_fail(&BED, "its type has no descriptors here");
}

static void
what_cannot_be_text_holds_up_no_other(void **state)
{
    begin(&BED);
    BED.job.format = UDPAI_FORMAT_JSON;
    child(&BED, "bad", "1");
    child(&BED, "good", NULL);
    parent(&BED, "all", "1");
    run_and_fail(&BED, "things/bad.json: ");
    assert_false(exists(&BED, "root/things/bad.json"));
    assert_true(exists(&BED, "root/things/good.json"));
    assert_false(exists(&BED, "root/all.json")); /* it would refer to what is not there */
}

static void
a_directory_is_made(void **state)
{
    begin(&BED);
    BED.job.directory = file_bed_path(&BED.files, "new");
    parent(&BED, "all", "1");
    run(&BED, 1, 0);
    begin(&BED);
    BED.job.directory = file_bed_path(&BED.files, "no/such");
    run_and_fail(&BED, "no/such/: cannot be opened: No such file");
}

/* From an empty directory each time. */
static udpa_err
write_from_nothing(void *context)
{
    struct bed *bed = context;
    udpa_resource *resource = bed->resource;
    udpai_write_job job = {
        .directory = bed->files.root, .schema = bed->files.schema, .has_parents = true};
    job.format = UDPAI_FORMAT_BINARY;
    (void)remove(file_bed_path(&bed->files, "root/things/a.pb"));
    bool is_made = udpai_vector_push(&job.folders, "things");
    udpai_written_file *child =
        udpai_write_job_add_child(&job, "things", UDPAI_STR("a"), TEST_TYPE);
    is_made = is_made && child && udpai_written_file_add(child, resource);
    udpai_written_file *whole = udpai_write_job_add_parent(&job, "all", TEST_TYPE);
    is_made = is_made && whole && udpai_written_file_add(whole, resource);
    if (is_made)
        udpai_write_job_run(&job);
    udpa_err err = is_made ? udpa_error_code(job.error) : UDPA_ERR_NOMEM;
    udpai_write_job_done(&job);
    return err;
}

static void
lack_of_memory_is_told(void **state)
{
    BED.resource = RESOURCE("com.acme/x", .value = "1");
    assert_true(oom_torture(write_from_nothing, &BED) > 10);
    assert_true(exists(&BED, "root/all.pb"));
    assert_true(exists(&BED, "root/things/a.pb"));
    udpa_resource_unref(BED.resource);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay_where_they_are),
        cmocka_unit_test(long_names_differ),
        cmocka_unit_test(no_short_name_stands_for_a_long_one),
        CASE(a_response_is_written_for_each),
        CASE(what_has_not_changed_is_not_touched),
        CASE(children_go_when_parents_were_written),
        CASE(a_failure_stops_before_parents),
        CASE(what_cannot_be_written_whole_leaves_the_old_file),
        CASE(links_are_not_followed),
        CASE(what_is_there_may_stay),
        CASE(text_is_written_whole_or_not_at_all),
        CASE(what_cannot_be_text_holds_up_no_other),
        CASE(a_directory_is_made),
        CASE(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
