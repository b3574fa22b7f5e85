/* SPDX-License-Identifier: Apache-2.0 */
/* Files looked at again: what is opened, what is kept, what is told, and what of it is served. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "codec/convert.h"
#include "file_bed.h"
#include "model/resource.h"
#include "tests/harness/oom.h"
#include "transport/file/served.h"

#define BED (*(struct bed *)*state)

struct bed {
    file_bed files;
    udpai_file_scan scan;
    udpai_file_served served;
    udpai_file_result *result;
};

static udpai_file_rules
default_rules(const struct bed *bed)
{
    return (udpai_file_rules){
        .root = bed->files.root,
        .schema = bed->files.schema,
        .default_namespace = UDPAI_STR("local"),
        .max_file_size = 65536,
        .max_files = 100,
        .max_resources = 100,
    };
}

static int
set_up(void **state)
{
    struct bed *bed = udpai_alloc(sizeof(*bed));
    assert_non_null(bed);
    file_bed_init(&bed->files);
    const udpai_file_rules rules = default_rules(bed);
    udpai_file_scan_init(&bed->scan, &rules);
    udpai_file_served_init(&bed->served);
    *state = bed;
    return 0;
}

static int
tear_down(void **state)
{
    struct bed *bed = *state;
    udpai_file_result_free(bed->result);
    udpai_file_served_done(&bed->served);
    udpai_file_scan_done(&bed->scan);
    file_bed_done(&bed->files);
    udpai_free(bed);
    return 0;
}

static void
look(struct bed *bed)
{
    udpai_file_result *result = NULL;
    udpai_file_scan_run(&bed->scan);
    assert_ok(udpai_file_served_update(&bed->served, &bed->scan, &result, NULL));
    udpai_file_result_free(bed->result);
    bed->result = result;
}

/* "name=value name=value", the values without the two bytes before them. */
static void
assert_serves(struct bed *bed, const char *expected)
{
    udpai_strbuf text = {0};
    look(bed);
    udpai_strbuf_puts(&text, "");
    for (size_t i = 0; i < bed->result->n_resources; i++) {
        udpai_str value = udpai_resource_value(bed->result->resources[i]);
        assert_true(value.len >= 2);
        udpai_strbuf_printf(&text, "%s%s=%.*s", i ? " " : "",
                            udpa_resource_name(bed->result->resources[i]), (int)value.len - 2,
                            value.data + 2);
    }
    assert_str(udpai_strbuf_view(&text), expected);
    udpai_strbuf_done(&text);
}

/* In the test's own directory, whose name differs each time, the message is base + expected. */
static void
assert_problem(const struct bed *bed, size_t index, udpa_err code, const char *expected)
{
    assert_true(index < bed->result->problems.n);
    const udpai_file_problem *problem = &bed->result->problems.items[index];
    char message[1024];
    snprintf(message, sizeof(message), "%s%s", bed->files.root, expected);
    assert_string_equal(udpa_error_message(problem->error), message);
    assert_int_equal(udpa_error_code(problem->error), code);
    assert_true(udpai_str_starts(udpai_str_from(message), udpai_str_from(problem->path)));
}

static void
assert_no_problem(const struct bed *bed)
{
    if (bed->result->problems.n)
        fail_msg("%s", udpa_error_message(bed->result->problems.items[0].error));
    assert_true(bed->result->is_read);
}

static void
names_that_count(void **state)
{
    (void)state;
    static const char *const taken[] = {"a.yaml", "a.yml",      "a.json",
                                        "a.pb",   "b#.pb_text", "#.yaml"};
    static const char *const not_taken[] = {
        ".a.yaml", "a.yaml~", "#a.yaml#", ".#a.yaml", "a.yaml.swp", "a.tmp", "a", "README.md",
        "..data",  ".",       "..",       ".yaml",    "",           "~",     "#", "##",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(taken); i++)
        assert_true(udpai_file_scan_takes_name(taken[i]));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(not_taken); i++)
        assert_false(udpai_file_scan_takes_name(not_taken[i]));
}

static void
only_resource_files_of_one_level_are_read(void **state)
{
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/.a.yaml", "[bad");
    file_bed_put(&BED.files, "root/a.yaml~", "[bad");
    file_bed_put(&BED.files, "root/#a.yaml#", "[bad");
    file_bed_put(&BED.files, "root/.a.yaml.swp", "[bad");
    file_bed_put(&BED.files, "root/notes.txt", "[bad");
    file_bed_mkdir(&BED.files, "root/sub.yaml");
    file_bed_put(&BED.files, "root/sub.yaml/c.yaml", file_bed_yaml("c", "3"));
    assert_serves(&BED, "local/a=1 local/b=2");
    assert_no_problem(&BED);
    assert_int_equal(BED.result->n_files, 2);
    assert_true(BED.result->is_good);
}

static void
an_empty_directory_is_good(void **state)
{
    assert_serves(&BED, "");
    assert_no_problem(&BED);
    assert_true(BED.result->is_good);
}

static void
a_bad_file_keeps_what_it_had(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    assert_serves(&BED, "local/a=1 local/b=2");
    file_bed_replace(&BED.files, "root/a.yaml", "name: a\nresorce: {}\n");
    file_bed_replace(&BED.files, "root/b.yaml", file_bed_yaml("b", "3"));
    assert_serves(&BED, "local/a=1 local/b=3");
    assert_int_equal(BED.result->problems.n, 1);
    assert_non_null(
        strstr(udpa_error_message(BED.result->problems.items[0].error), "root/a.yaml:1:1: "));
    assert_true(BED.result->is_good);

    /* the same bytes again: the same error, not another */
    const udpa_error *error = BED.result->problems.items[0].error;
    assert_true(BED.result->problems.items[0].is_of_contents);
    file_bed_replace(&BED.files, "root/a.yaml", "name: a\nresorce: {}\n");
    assert_serves(&BED, "local/a=1 local/b=3");
    assert_ptr_equal(BED.result->problems.items[0].error, error);

    file_bed_replace(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_serves(&BED, "local/a=1 local/b=3");
    assert_no_problem(&BED);
}

static void
a_file_that_never_was_good_is_missing(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", "[");
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    assert_serves(&BED, "local/b=2");
    assert_int_equal(BED.result->problems.n, 1);
    assert_true(BED.result->is_read);
    assert_false(BED.result->is_good);
    file_bed_remove(&BED.files, "root/a.yaml");
    assert_serves(&BED, "local/b=2");
    assert_true(BED.result->is_good);
}

/* The resource objects are the same ones: nothing was read again. */
static void
what_has_not_changed_is_not_parsed_again(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    udpa_resource *first = udpa_resource_ref(BED.result->resources[0]);
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    file_bed_replace(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_serves(&BED, "local/a=1 local/b=2");
    assert_ptr_equal(BED.result->resources[0], first);
    udpa_resource_unref(first);
}

/* Makes the scan believe that the file is as it was when it was read. */
static void
hide_change(struct bed *bed, udpai_scanned_file *file)
{
    struct stat status;
    assert_ok(stat(file->path, &status));
    file->stamp = (udpai_file_stamp){status.st_dev, status.st_ino, status.st_size, status.st_mtim,
                                     status.st_ctim};
}

/* Within one step of the file system's clock nothing but the contents tells. */
static void
a_change_that_the_stamp_hides_is_found(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    hide_change(&BED, BED.scan.files.items[0]);
    assert_serves(&BED, "local/a=2");
    /* but what changed long ago is not opened every time */
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "3"));
    hide_change(&BED, BED.scan.files.items[0]);
    BED.scan.files.items[0]->is_recent = false;
    assert_serves(&BED, "local/a=2");
}

static void
a_removed_file_withdraws(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    file_bed_put(&BED.files, "root/c.yaml", file_bed_yaml("c", "3"));
    look(&BED);
    file_bed_remove(&BED.files, "root/b.yaml");
    assert_serves(&BED, "local/a=1 local/c=3");
    file_bed_rename(&BED.files, "root/a.yaml", "root/z.yaml");
    assert_serves(&BED, "local/c=3 local/a=1");
    file_bed_put(&BED.files, "root/z.yaml", "# nothing any more\n");
    assert_serves(&BED, "local/c=3");
    assert_no_problem(&BED);
}

static void
an_emptied_file_keeps_what_it_had(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    file_bed_put(&BED.files, "root/a.yaml", "");
    assert_serves(&BED, "local/a=1");
    assert_problem(&BED, 0, UDPA_ERR_PRECONDITION,
                   "/a.yaml: is empty, so what it had stays; to withdraw that, remove the file");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    assert_serves(&BED, "local/a=2");
    assert_no_problem(&BED);
    file_bed_put(&BED.files, "root/new.yaml", "");
    assert_serves(&BED, "local/a=2");
    assert_no_problem(&BED);
}

static void
what_was_served_first_stays(void **state)
{
    file_bed_put(&BED.files, "root/m.yaml", file_bed_yaml("a", "m"));
    file_bed_put(&BED.files, "root/n.yaml", file_bed_yaml("a", "n"));
    assert_serves(&BED, "local/a=m");
    char expected[1024];
    snprintf(expected, sizeof(expected),
             "/n.yaml:2:1: 'local/a' of this type is served from %s/m.yaml:2:1; remove one of them",
             BED.files.root);
    assert_int_equal(BED.result->problems.n, 1);
    assert_problem(&BED, 0, UDPA_ERR_EXISTS, expected);

    /* one whose name comes first takes nothing over */
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "a"));
    assert_serves(&BED, "local/a=m");
    assert_int_equal(BED.result->problems.n, 2);
    file_bed_put(&BED.files, "root/m.yaml", file_bed_yaml("a", "m2"));
    assert_serves(&BED, "local/a=m2");
    /* until there is nothing to be taken over from */
    file_bed_remove(&BED.files, "root/m.yaml");
    assert_serves(&BED, "local/a=a");
    assert_int_equal(BED.result->problems.n, 1);
    file_bed_remove(&BED.files, "root/n.yaml");
    assert_serves(&BED, "local/a=a");
    assert_no_problem(&BED);
}

static void
one_name_may_have_several_types(void **state)
{
    static const char duration[] =
        "name: a\nresource: {\"@type\": type.googleapis.com/google.protobuf.BytesValue, value: "
        "eHg=}\n";
    file_bed_put(&BED.files, "root/m.yaml", file_bed_yaml("a", "m"));
    file_bed_put(&BED.files, "root/n.yaml", duration);
    assert_serves(&BED, "local/a=m local/a=xx");
    assert_no_problem(&BED);
    file_bed_put(&BED.files, "root/a.yaml", duration);
    assert_serves(&BED, "local/a=m local/a=xx");
    assert_int_equal(BED.result->problems.n, 1);
}

static void
names_outside_the_namespaces_are_refused(void **state)
{
    const udpai_str allowed[] = {UDPAI_STR("com.acme"), UDPAI_STR("org.example")};
    BED.scan.rules.namespaces = allowed;
    BED.scan.rules.n_namespaces = 2;
    BED.scan.rules.default_namespace = UDPAI_STR("com.acme");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("com.acme.foo/b", "2"));
    assert_serves(&BED, "com.acme/a=1 com.acme.foo/b=2");
    assert_no_problem(&BED);
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("com.acmecorp/b", "3"));
    assert_serves(&BED, "com.acme/a=1 com.acme.foo/b=2");
    assert_problem(&BED, 0, UDPA_ERR_DENIED,
                   "/b.yaml:2:1: 'com.acmecorp/b' may not be here, only names in com.acme, "
                   "org.example");
}

/* The node renews it at half of that. */
static void
a_ttl_below_a_second_is_refused(void **state)
{
    char text[600];
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    (void)snprintf(text, sizeof(text), "%s%s", file_bed_yaml("b", "1"), "ttl: 1s\n");
    file_bed_put(&BED.files, "root/b.yaml", text);
    assert_serves(&BED, "local/a=1 local/b=1");
    assert_no_problem(&BED);
    (void)snprintf(text, sizeof(text), "%s%s", file_bed_yaml("b", "2"), "ttl: 0.999s\n");
    file_bed_put(&BED.files, "root/b.yaml", text);
    assert_serves(&BED, "local/a=1 local/b=1");
    assert_problem(&BED, 0, UDPA_ERR_INVAL,
                   "/b.yaml:2:1: 'local/b': its ttl of 999 ms is too short: the node renews what a "
                   "directory has at half of its ttl, which must be 1s or more");
}

static void
a_large_file_is_refused(void **state)
{
    BED.scan.rules.max_file_size = 200;
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    char large[250];
    memset(large, '#', sizeof(large));
    file_bed_put_bytes(&BED.files, "root/a.yaml", (udpai_str){large, 200});
    assert_serves(&BED, "");
    assert_no_problem(&BED);
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    file_bed_put_bytes(&BED.files, "root/a.yaml", (udpai_str){large, 201});
    assert_serves(&BED, "local/a=1");
    assert_problem(&BED, 0, UDPA_ERR_LIMIT,
                   "/a.yaml: is larger than 200 bytes; divide it into several files");
    /* the contents of before are judged anew, though they are the same */
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_serves(&BED, "local/a=1");
    assert_no_problem(&BED);
}

static void
too_many_files_change_nothing(void **state)
{
    BED.scan.rules.max_files = 2;
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "1"));
    assert_serves(&BED, "local/a=1 local/b=1");
    file_bed_put(&BED.files, "root/c.yaml", file_bed_yaml("c", "1"));
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    assert_serves(&BED, "local/a=1 local/b=1");
    assert_false(BED.result->is_read);
    assert_problem(&BED, 0, UDPA_ERR_LIMIT,
                   ": there are more than 2 resource files; nothing here is read until there are "
                   "fewer");
    file_bed_remove(&BED.files, "root/b.yaml");
    assert_serves(&BED, "local/a=2 local/c=1");
    assert_no_problem(&BED);
}

static void
too_many_resources_are_refused_until_there_is_room(void **state)
{
    char two[1024];
    snprintf(two, sizeof(two), "%s%s", file_bed_yaml("b", "1"), file_bed_yaml("c", "1"));
    BED.scan.rules.max_resources = 2;
    file_bed_put(&BED.files, "root/a.yaml", two);
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b2", "1"));
    assert_serves(&BED, "local/b=1 local/c=1");
    assert_problem(&BED, 0, UDPA_ERR_LIMIT,
                   "/b.yaml: with its 1 resources the directory would have more than 2, which is "
                   "the limit");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("b", "2"));
    assert_serves(&BED, "local/b=2 local/b2=1");
    assert_no_problem(&BED);
    /* one that stands before grows as another behind it shrinks */
    file_bed_put(&BED.files, "root/a.yaml", two);
    file_bed_put(&BED.files, "root/b.yaml", "[]");
    assert_serves(&BED, "local/b=1 local/c=1");
    assert_no_problem(&BED);
}

static void
what_cannot_be_opened_is_a_problem(void **state)
{
    file_bed_link(&BED.files, "nowhere", "root/a.yaml");
    assert_ok(mkfifo(file_bed_path(&BED.files, "root/b.yaml"), 0600));
    assert_serves(&BED, "");
    assert_int_equal(BED.result->problems.n, 2);
    assert_problem(&BED, 0, UDPA_ERR_IO, "/a.yaml: cannot be read: No such file or directory");
    assert_problem(&BED, 1, UDPA_ERR_INVAL, "/b.yaml: is no regular file");
    assert_false(BED.result->is_good);
    file_bed_put(&BED.files, "root/nowhere", file_bed_yaml("a", "1"));
    assert_serves(&BED, "local/a=1");
    assert_int_equal(BED.result->problems.n, 1);
}

static void
a_missing_directory_changes_nothing(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    look(&BED);
    file_bed_rename(&BED.files, "root", "away");
    assert_serves(&BED, "local/a=1");
    assert_false(BED.result->is_read);
    assert_false(BED.result->is_good);
    assert_problem(&BED, 0, UDPA_ERR_NOT_FOUND,
                   ": cannot read the directory: No such file or directory; what was read before "
                   "stays");
    file_bed_rename(&BED.files, "away", "root");
    assert_serves(&BED, "local/a=1");
    assert_no_problem(&BED);
}

static void
the_number_of_problems_is_bounded(void **state)
{
    BED.scan.rules.max_files = 1000;
    for (int i = 0; i < UDPAI_FILE_PROBLEMS_MAX + 10; i++) {
        char name[32];
        snprintf(name, sizeof(name), "root/%03d.yaml", i);
        file_bed_put(&BED.files, name, "[");
    }
    look(&BED);
    assert_int_equal(BED.result->problems.n, UDPAI_FILE_PROBLEMS_MAX);
    assert_int_equal(BED.result->n_problems_left_out, 10);
}

/* ---- files of Envoy ---- */

#define WRAPPED "type.googleapis.com/envoy.service.discovery.v3.Resource"
#define STRING "type.googleapis.com/google.protobuf.StringValue"

static void
put_binary_response(struct bed *bed, const char *path, const char *json)
{
    udpa_error *error = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    const udpai_source source = {
        .name = "x.json", .text = udpai_str_from(json), .format = UDPAI_FORMAT_JSON};
    if (udpai_convert_to_binary(bed->files.schema,
                                UDPAI_STR("envoy.service.discovery.v3.DiscoveryResponse"), &source,
                                &bytes, &error))
        fail_msg("%s", udpa_error_message(error));
    file_bed_put_bytes(&bed->files, path, udpai_bytes_view(bytes));
}

static void
discovery_responses_are_read_in_every_format(void **state)
{
    file_bed_put(&BED.files, "root/1.yaml",
                 "resources:\n- \"@type\": " WRAPPED
                 "\n  name: y\n  resource:\n    \"@type\": " STRING "\n    value: \"1\"\n");
    file_bed_put(&BED.files, "root/2.json",
                 "{\"resources\": [{\"@type\": \"" WRAPPED "\", \"name\": \"j\", \"resource\": "
                 "{\"@type\": \"" STRING "\", \"value\": \"2\"}}]}");
    file_bed_put(&BED.files, "root/3.pb_text",
                 "resources { [" WRAPPED "] { name: \"t\" resource { [" STRING
                 "] { value: \"3\" } } } }");
    put_binary_response(&BED, "root/4.pb",
                        "{\"resources\": [{\"@type\": \"" WRAPPED "\", \"name\": \"b\", "
                        "\"resource\": {\"@type\": \"" STRING "\", \"value\": \"4\"}}]}");
    assert_serves(&BED, "local/y=1 local/j=2 local/t=3 local/b=4");
    assert_no_problem(&BED);
}

/* ---- memory ---- */

static udpa_err
first_error(const udpai_file_result *result)
{
    for (size_t i = 0; i < result->problems.n; i++)
        if (udpa_error_code(result->problems.items[i].error) == UDPA_ERR_NOMEM)
            return UDPA_ERR_NOMEM;
    return UDPA_OK;
}

static udpa_err
look_from_nothing(void *context)
{
    struct bed *bed = context;
    const udpai_file_rules rules = default_rules(bed);
    udpai_file_scan scan;
    udpai_file_served served;
    udpai_file_scan_init(&scan, &rules);
    udpai_file_served_init(&served);
    UDPA_AUTO(udpai_file_result_free) udpai_file_result *result = NULL;
    udpai_file_scan_run(&scan);
    udpa_err err = udpai_file_served_update(&served, &scan, &result, NULL);
    udpai_file_served_done(&served);
    udpai_file_scan_done(&scan);
    return err == UDPA_OK ? first_error(result) : err;
}

static void
lack_of_memory_is_told(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("a", "2"));
    file_bed_put(&BED.files, "root/c.yaml", "[");
    assert_true(oom_torture(look_from_nothing, &BED) > 10);
}

/* A scan that had no memory leaves all as it was, and the next one finds what it did not. */
static void
after_lack_of_memory_all_is_found(void **state)
{
    for (long n = 0; n < 60; n++) {
        char value[16], expected[64];
        snprintf(value, sizeof(value), "v%ld", n);
        snprintf(expected, sizeof(expected), "local/a=%s local/b=%s", value, value);
        file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", value));
        file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", value));
        udpai_file_result *result = NULL;
        udpai_alloc_fail_after(n);
        udpai_file_scan_run(&BED.scan);
        udpa_err err = udpai_file_served_update(&BED.served, &BED.scan, &result, NULL);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK && n > 0 && BED.result)
            assert_int_equal(result->n_resources, BED.result->n_resources);
        udpai_file_result_free(result);
        assert_serves(&BED, expected);
        assert_no_problem(&BED);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_count),
        CASE(only_resource_files_of_one_level_are_read),
        CASE(an_empty_directory_is_good),
        CASE(a_bad_file_keeps_what_it_had),
        CASE(a_file_that_never_was_good_is_missing),
        CASE(what_has_not_changed_is_not_parsed_again),
        CASE(a_change_that_the_stamp_hides_is_found),
        CASE(a_removed_file_withdraws),
        CASE(an_emptied_file_keeps_what_it_had),
        CASE(what_was_served_first_stays),
        CASE(one_name_may_have_several_types),
        CASE(names_outside_the_namespaces_are_refused),
        CASE(a_ttl_below_a_second_is_refused),
        CASE(a_large_file_is_refused),
        CASE(too_many_files_change_nothing),
        CASE(too_many_resources_are_refused_until_there_is_room),
        CASE(what_cannot_be_opened_is_a_problem),
        CASE(a_missing_directory_changes_nothing),
        CASE(the_number_of_problems_is_bounded),
        CASE(discovery_responses_are_read_in_every_format),
        CASE(lack_of_memory_is_told),
        CASE(after_lack_of_memory_all_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
