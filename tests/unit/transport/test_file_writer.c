/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose contents are written into a directory: what is written when, and what is waited for.
 */
#include "transport/file/writer.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "endpoint/endpoint.h"
#include "file_bed.h"
#include "tests/harness/resources.h"
#include "xds/audience.h"

#define BED (*(struct bed *)*state)
#define ROOT "files of the node" /* for the node; nothing is read */
#define PATIENCE_MS 10000
#define MAX_RESOURCES 8

/* Clusters by their bytes: name, and for EDS the type and the service. */
#define CLUSTER(name) "\x0a\x01" name
#define EDS_CLUSTER(name, service)                                                                 \
    "\x0a\x01" name "\x10\x03"                                                                     \
    "\x1a\x03\x12\x01" service
#define ASSIGNMENT(name) "\x0a\x01" name

struct bed {
    file_bed files;
    uv_loop_t loop;
    uv_timer_t tick;
    unsigned n_ticks;
    udpa_endpoint *endpoint;
    udpai_xds_audience audience;
    udpai_file_writer *writer;
    udpa_resource *resources[MAX_RESOURCES];
    size_t n_resources;
    unsigned n_problem_changes;
    bool is_closed;
};

/* ---- the node ---- */

static void
make_endpoint(struct bed *bed, bool waits_for_endpoints)
{
    static const udpai_str eds[] = {{TEST_EDS, sizeof(TEST_EDS) - 1}};
    static const udpai_source_config source = {
        .name = {"late", 4}, .kind = UDPAI_SOURCE_UDPA_LISTEN, .peer = {"nobody", 6}};
    static const udpai_descriptor_config descriptor = {.source = {"late", 4}};
    static const udpai_provider_config provider = {eds, 1, &descriptor, 1};
    udpai_endpoint_settings settings;
    const udpai_node_parts parts = {.id = UDPAI_STR("node")};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &parts));
    udpai_endpoint_settings_init(&settings);
    settings.node.id = settings.node.authority = UDPAI_STR("node");
    settings.info = info;
    settings.node.sources = &source;
    settings.node.providers = &provider;
    settings.node.n_sources = settings.node.n_providers = waits_for_endpoints;
    assert_ok(udpai_endpoint_new(&bed->endpoint, &bed->loop, &settings, NULL));
    assert_ok(udpai_node_expect_files(udpai_endpoint_node(bed->endpoint), UDPAI_STR(ROOT)));
    udpai_endpoint_start(bed->endpoint);
}

static void
on_tick(uv_timer_t *timer)
{
    ((struct bed *)timer->data)->n_ticks++;
}

static int
set_up(void **state)
{
    struct bed *bed = udpai_alloc(sizeof(*bed));
    assert_non_null(bed);
    file_bed_init(&bed->files);
    assert_ok(uv_loop_init(&bed->loop));
    assert_ok(uv_timer_init(&bed->loop, &bed->tick));
    bed->tick.data = bed;
    assert_ok(uv_timer_start(&bed->tick, on_tick, 2, 2));
    bed->audience.default_namespace = UDPAI_STR("local");
    udpai_xds_audience_init(&bed->audience);
    *state = bed;
    return 0;
}

static void
on_closed(void *userdata)
{
    ((struct bed *)userdata)->is_closed = true;
}

static void
close_writer(struct bed *bed)
{
    bed->is_closed = false;
    udpai_file_writer_close(bed->writer, on_closed, bed);
    while (!bed->is_closed)
        uv_run(&bed->loop, UV_RUN_ONCE);
    bed->writer = NULL;
}

static int
tear_down(void **state)
{
    struct bed *bed = *state;
    if (bed->writer)
        close_writer(bed);
    bed->is_closed = false;
    udpa_endpoint_close(bed->endpoint, on_closed, bed);
    while (!bed->is_closed)
        uv_run(&bed->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&bed->tick, NULL);
    uv_run(&bed->loop, UV_RUN_DEFAULT);
    assert_ok(uv_loop_close(&bed->loop));
    for (size_t i = 0; i < bed->n_resources; i++)
        udpa_resource_unref(bed->resources[i]);
    file_bed_done(&bed->files);
    udpai_free(bed);
    return 0;
}

static void
on_node_called(void *userdata)
{
    udpai_endpoint_touch(((struct bed *)userdata)->endpoint);
}

static void
on_problem_changed(void *userdata)
{
    ((struct bed *)userdata)->n_problem_changes++;
}

static void
open_writer(struct bed *bed, const char *directory)
{
    static const udpai_str types[] = {
        {TEST_CDS, sizeof(TEST_CDS) - 1},
        {TEST_EDS, sizeof(TEST_EDS) - 1},
        {TEST_TYPE, sizeof(TEST_TYPE) - 1},
    };
    const udpai_file_writer_options options = {
        .directory = file_bed_path(&bed->files, directory),
        .audience = &bed->audience,
        .types = types,
        .n_types = UDPAI_ARRAY_LEN(types),
        .format = UDPAI_FORMAT_BINARY,
        .schema = bed->files.schema,
        .quiet_ms = 1,
        .patience_ms = 300,
        .retry_ms = 10,
    };
    const udpai_file_writer_ops ops = {on_node_called, on_problem_changed, bed};
    assert_ok(udpai_file_writer_new(&bed->writer, &bed->loop, udpai_endpoint_node(bed->endpoint),
                                    &options, &ops, NULL));
    udpai_endpoint_touch(bed->endpoint);
}

/* ---- what the node has ---- */

static void
add(struct bed *bed, const char *type, const char *name, const char *value)
{
    assert_true(bed->n_resources < MAX_RESOURCES);
    bed->resources[bed->n_resources++] = RESOURCE(name, .type = type, .value = value);
}

static void
drop(struct bed *bed, size_t index)
{
    udpa_resource_unref(bed->resources[index]);
    bed->resources[index] = bed->resources[--bed->n_resources];
}

static void
set(struct bed *bed)
{
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT), .resources = bed->resources, .n_resources = bed->n_resources};
    assert_ok(udpai_node_set_files(udpai_endpoint_node(bed->endpoint), &directory, NULL));
    udpai_endpoint_touch(bed->endpoint);
}

/* ---- what is written ---- */

static bool
holds(const struct bed *bed, const char *path, const char *part)
{
    char text[2048] = "";
    FILE *file = fopen(file_bed_path(&bed->files, path), "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof(text), file);
    fclose(file);
    return memmem(text, n, part, strlen(part)) != NULL;
}

static bool
exists(const struct bed *bed, const char *path)
{
    struct stat status;
    return stat(file_bed_path(&bed->files, path), &status) == 0;
}

static void
turn(struct bed *bed)
{
    unsigned n = bed->n_ticks;
    while (bed->n_ticks == n)
        uv_run(&bed->loop, UV_RUN_ONCE);
}

#define WAIT_FOR(bed, condition)                                                                   \
    do {                                                                                           \
        uint64_t end_ms_ = uv_now(&(bed)->loop) + PATIENCE_MS;                                     \
        while (!(condition)) {                                                                     \
            if (uv_now(&(bed)->loop) > end_ms_)                                                    \
                fail_msg("not seen: %s", #condition);                                              \
            turn(bed);                                                                             \
        }                                                                                          \
    } while (0)

/* ---- */

static void
nothing_is_said_before_it_is_certain(void **state)
{
    make_endpoint(&BED, false);
    open_writer(&BED, "out");
    WAIT_FOR(&BED, exists(&BED, "out/endpoints")); /* a job was done */
    for (int i = 0; i < 20; i++)
        turn(&BED);
    assert_false(exists(&BED, "out/clusters.pb"));
    add(&BED, TEST_CDS, "local/c", CLUSTER("c"));
    set(&BED);
    WAIT_FOR(&BED, holds(&BED, "out/clusters.pb", CLUSTER("c")));
}

static void
what_parents_refer_to_is_written_and_nothing_else(void **state)
{
    make_endpoint(&BED, false);
    add(&BED, TEST_CDS, "local/c", EDS_CLUSTER("c", "e"));
    add(&BED, TEST_EDS, "local/e", ASSIGNMENT("e"));
    add(&BED, TEST_EDS, "local/x", ASSIGNMENT("x"));
    add(&BED, TEST_CDS, "other/d", CLUSTER("d")); /* not shown to this audience */
    add(&BED, TEST_TYPE, "local/a/b", "thing");
    set(&BED);
    open_writer(&BED, "out");
    WAIT_FOR(&BED, holds(&BED, "out/clusters.pb", EDS_CLUSTER("c", "e")));
    assert_true(holds(&BED, "out/endpoints/e.pb", ASSIGNMENT("e")));
    assert_true(holds(&BED, "out/test.Thing/a%2Fb.pb", "thing"));
    assert_false(exists(&BED, "out/endpoints/x.pb"));
    assert_false(holds(&BED, "out/clusters.pb", CLUSTER("d")));
    udpa_resource_unref(BED.resources[0]);
    BED.resources[0] = RESOURCE("local/c", .type = TEST_CDS, .value = EDS_CLUSTER("c", "x"));
    set(&BED);
    WAIT_FOR(&BED, !exists(&BED, "out/endpoints/e.pb"));
    assert_true(holds(&BED, "out/clusters.pb", EDS_CLUSTER("c", "x")));
    assert_true(holds(&BED, "out/endpoints/x.pb", ASSIGNMENT("x")));
    drop(&BED, 2); /* the endpoints that are used now */
    set(&BED);
    WAIT_FOR(&BED, !holds(&BED, "out/endpoints/x.pb", ASSIGNMENT("x")));
    assert_true(exists(&BED, "out/endpoints/x.pb"));
}

static void
unknown_children_are_waited_for_but_not_for_ever(void **state)
{
    make_endpoint(&BED, true);
    add(&BED, TEST_CDS, "local/c", EDS_CLUSTER("c", "e"));
    set(&BED);
    file_bed_mkdir(&BED.files, "out");
    file_bed_mkdir(&BED.files, "out/endpoints");
    file_bed_put(&BED.files, "out/endpoints/old.pb", "x");
    open_writer(&BED, "out");
    uint64_t begin_ms = uv_now(&BED.loop);
    WAIT_FOR(&BED, exists(&BED, "out/clusters.pb"));
    assert_true(uv_now(&BED.loop) - begin_ms >= 250);
    assert_true(exists(&BED, "out/endpoints/e.pb")); /* there, for a client refuses the path else */
    assert_false(holds(&BED, "out/endpoints/e.pb", ASSIGNMENT("e")));
}

static void
known_children_let_parents_go_at_once(void **state)
{
    make_endpoint(&BED, true); /* of which nobody says that there are no others */
    add(&BED, TEST_CDS, "local/c", EDS_CLUSTER("c", "e"));
    add(&BED, TEST_EDS, "local/e", ASSIGNMENT("e"));
    set(&BED);
    open_writer(&BED, "out");
    WAIT_FOR(&BED, exists(&BED, "out/clusters.pb"));
    assert_true(holds(&BED, "out/endpoints/e.pb", ASSIGNMENT("e")));
}

static void
a_failure_is_told_and_tried_again(void **state)
{
    make_endpoint(&BED, false);
    add(&BED, TEST_CDS, "local/c", CLUSTER("c"));
    set(&BED);
    file_bed_put(&BED.files, "out", "a file");
    open_writer(&BED, "out");
    WAIT_FOR(&BED, udpai_file_writer_problem(BED.writer));
    assert_non_null(strstr(udpa_error_message(udpai_file_writer_problem(BED.writer)),
                           "out/: cannot be opened: "));
    assert_int_equal(BED.n_problem_changes, 1);
    file_bed_remove(&BED.files, "out");
    WAIT_FOR(&BED, holds(&BED, "out/clusters.pb", CLUSTER("c")));
    WAIT_FOR(&BED, !udpai_file_writer_problem(BED.writer));
    assert_int_equal(BED.n_problem_changes, 2);
}

static void
it_may_end_at_any_time(void **state)
{
    make_endpoint(&BED, false);
    for (unsigned n = 0; n < 12; n++) {
        char name[16];
        snprintf(name, sizeof(name), "local/%c", 'a' + (int)n);
        if (n < MAX_RESOURCES)
            add(&BED, TEST_TYPE, name, "x");
        set(&BED);
        open_writer(&BED, "out");
        for (unsigned i = 0; i < n; i++)
            uv_run(&BED.loop, UV_RUN_ONCE);
        close_writer(&BED);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(nothing_is_said_before_it_is_certain),
        CASE(what_parents_refer_to_is_written_and_nothing_else),
        CASE(unknown_children_are_waited_for_but_not_for_ever),
        CASE(known_children_let_parents_go_at_once),
        CASE(a_failure_is_told_and_tried_again),
        CASE(it_may_end_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
