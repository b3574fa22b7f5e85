/* SPDX-License-Identifier: Apache-2.0 */
/* A watched directory on a real loop: what is told, when, and that nothing is told that is not so.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "file_bed.h"
#include "model/resource.h"
#include "tests/harness/oom.h"
#include "transport/file/origin.h"

#define BED (*(struct bed *)*state)
#define DEADLINE_MS 20000
/* So long that it cannot be what makes a test succeed. */
#define NEVER_MS (1000 * (uint64_t)DEADLINE_MS)

struct bed {
    file_bed files;
    uv_loop_t loop;
    udpai_file_origin_options options;
    udpai_file_origin *origin;
    unsigned n_changes, n_problem_changes, n_closed;
    bool has_errors;
    bool closes_in_callback;
    char held[1024]; /* "name=value …", as told last */
    char source[64], authority[64], root[FILE_BED_PATH];
};

static unsigned n_logged;
static char last_logged[1024];

static void
on_log(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    if (strcmp(component, "file") != 0)
        return;
    n_logged++;
    snprintf(last_logged, sizeof(last_logged), "%s", message);
}

static void
on_closed(void *userdata)
{
    ((struct bed *)userdata)->n_closed++;
}

static void
close_origin(struct bed *bed)
{
    udpai_file_origin_close(UDPAI_TAKE(bed->origin), on_closed, bed);
}

static void
copy(char *room, size_t size, udpai_str text)
{
    snprintf(room, size, "%.*s", (int)text.len, text.len ? text.data : "");
}

static void
on_changed(void *userdata, const udpai_directory *directory)
{
    struct bed *bed = userdata;
    udpai_strbuf text = {0};
    bed->n_changes++;
    bed->has_errors = directory->has_errors;
    udpai_strbuf_puts(&text, "");
    for (size_t i = 0; i < directory->n_resources; i++) {
        udpai_str value = udpai_resource_value(directory->resources[i]);
        udpai_strbuf_printf(&text, "%s%s=%.*s", i ? " " : "",
                            udpa_resource_name(directory->resources[i]), (int)value.len - 2,
                            value.data + 2);
    }
    copy(bed->held, sizeof(bed->held), udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
    copy(bed->source, sizeof(bed->source), directory->source);
    copy(bed->authority, sizeof(bed->authority), directory->authority);
    copy(bed->root, sizeof(bed->root), directory->root);
    if (bed->closes_in_callback)
        close_origin(bed);
}

static void
on_problems_changed(void *userdata)
{
    ((struct bed *)userdata)->n_problem_changes++;
}

static int
set_up(void **state)
{
    struct bed *bed = udpai_alloc(sizeof(*bed));
    assert_non_null(bed);
    file_bed_init(&bed->files);
    assert_ok(uv_loop_init(&bed->loop));
    bed->options = (udpai_file_origin_options){
        .root = bed->files.root,
        .default_namespace = UDPAI_STR("local"),
        .schema = bed->files.schema,
        .poll_ms = NEVER_MS,
    };
    n_logged = 0;
    udpa_log_set_sink(UDPA_LOG_INFO, on_log, NULL);
    *state = bed;
    return 0;
}

static udpa_err
open_origin(struct bed *bed, udpa_error **ret_error)
{
    const udpai_file_origin_ops ops = {on_changed, on_problems_changed, bed};
    assert_ok(udpai_file_origin_new(&bed->origin, &bed->loop, &bed->options, &ops, NULL));
    return udpai_file_origin_start(bed->origin, ret_error);
}

static int
tear_down(void **state)
{
    struct bed *bed = *state;
    close_origin(bed);
    assert_ok(uv_run(&bed->loop, UV_RUN_DEFAULT));
    assert_ok(uv_loop_close(&bed->loop));
    file_bed_done(&bed->files);
    udpai_free(bed);
    return 0;
}

struct wait {
    uv_timer_t deadline;
    uv_prepare_t turn;
    struct bed *bed;
    bool (*holds)(struct bed *bed, const void *what);
    const void *what;
    bool is_late;
};

static void
on_deadline(uv_timer_t *timer)
{
    struct wait *wait = timer->data;
    wait->is_late = true;
    uv_stop(&wait->bed->loop);
}

/* Before the loop sleeps: its own timers may have made it hold. */
static void
on_turn(uv_prepare_t *turn)
{
    struct wait *wait = turn->data;
    if (wait->holds(wait->bed, wait->what))
        uv_stop(&wait->bed->loop);
}

/* Runs the loop until the condition holds; the timer only bounds a test that fails. */
static void
run_until(struct bed *bed, bool (*holds)(struct bed *bed, const void *what), const void *what)
{
    struct wait wait = {.bed = bed, .holds = holds, .what = what};
    wait.deadline.data = wait.turn.data = &wait;
    uv_timer_init(&bed->loop, &wait.deadline);
    uv_timer_start(&wait.deadline, on_deadline, DEADLINE_MS, 0);
    uv_prepare_init(&bed->loop, &wait.turn);
    uv_prepare_start(&wait.turn, on_turn);
    uv_run(&bed->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&wait.deadline, NULL);
    uv_close((uv_handle_t *)&wait.turn, NULL);
    uv_run(&bed->loop, UV_RUN_NOWAIT);
    if (wait.is_late)
        fail_msg("'%s' was waited for, '%s' is there; last line: %s", (const char *)what, bed->held,
                 last_logged);
}

static bool
is_held(struct bed *bed, const void *what)
{
    return strcmp(bed->held, what) == 0;
}

static void
await(struct bed *bed, const char *held)
{
    run_until(bed, is_held, held);
}

static bool
is_logged(struct bed *bed, const void *what)
{
    return strstr(last_logged, what) != NULL;
}

static void
await_log(struct bed *bed, const char *part)
{
    run_until(bed, is_logged, part);
}

static void
the_first_reading_is_done_when_start_returns(void **state)
{
    char root[2 * FILE_BED_PATH];
    snprintf(root, sizeof(root), "%s//", BED.files.root);
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    BED.options.root = root;
    BED.options.source = UDPAI_STR("files");
    BED.options.authority = UDPAI_STR("me");
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/a=1");
    assert_string_equal(BED.root, BED.files.root);
    assert_string_equal(BED.source, "files");
    assert_string_equal(BED.authority, "me");
    assert_int_equal(BED.n_changes, 1);
    assert_int_equal(BED.n_problem_changes, 0);
    assert_true(udpai_file_origin_is_complete(BED.origin));
    assert_true(udpai_file_origin_is_readable(BED.origin));
    assert_int_equal(udpai_file_origin_n_files(BED.origin), 1);
    assert_int_equal(udpai_file_origin_n_resources(BED.origin), 1);
    assert_int_equal(n_logged, 0);
}

static void
an_empty_directory_is_told(void **state)
{
    assert_ok(open_origin(&BED, NULL));
    assert_int_equal(BED.n_changes, 1);
    assert_string_equal(BED.held, "");
    assert_true(udpai_file_origin_is_complete(BED.origin));
}

static void
a_file_renamed_into_place_is_seen(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_ok(open_origin(&BED, NULL));
    file_bed_replace(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    await(&BED, "local/a=2");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "3"));
    await(&BED, "local/a=3");
    file_bed_remove(&BED.files, "root/a.yaml");
    await(&BED, "");
}

static void
changes_that_come_together_are_told_once(void **state)
{
    assert_ok(open_origin(&BED, NULL));
    for (int i = 0; i < 5; i++) {
        char path[32], name[8];
        snprintf(path, sizeof(path), "root/%d.yaml", i);
        snprintf(name, sizeof(name), "r%d", i);
        file_bed_replace(&BED.files, path, file_bed_yaml(name, "1"));
    }
    await(&BED, "local/r0=1 local/r1=1 local/r2=1 local/r3=1 local/r4=1");
    assert_int_equal(BED.n_changes, 2);
}

/* Something changes again and again, faster than it would ever be quiet. */
struct busy {
    uv_timer_t timer;
    struct bed *bed;
    unsigned n_writes;
};

static void
write_more(uv_timer_t *timer)
{
    struct busy *busy = timer->data;
    busy->n_writes++;
    file_bed_put(&busy->bed->files, "root/busy.txt", "x");
}

static void
steady_changes_delay_only_so_long(void **state)
{
    struct busy busy = {.bed = &BED};
    BED.options.quiet_ms = NEVER_MS;
    BED.options.delay_max_ms = 50;
    assert_ok(open_origin(&BED, NULL));
    uv_timer_init(&BED.loop, &busy.timer);
    busy.timer.data = &busy;
    uv_timer_start(&busy.timer, write_more, 1, 1);
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    await(&BED, "local/a=1");
    assert_true(busy.n_writes > 0);
    uv_close((uv_handle_t *)&busy.timer, NULL);
    uv_run(&BED.loop, UV_RUN_NOWAIT);
}

static void
a_mistake_is_logged_and_listed_until_it_is_mended(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "1"));
    assert_ok(open_origin(&BED, NULL));
    file_bed_replace(&BED.files, "root/a.yaml", "name: a\nresource:\n  x: [1\n");
    await_log(&BED, "root/a.yaml:");
    assert_int_equal(n_logged, 1);
    assert_string_equal(BED.held, "local/a=1 local/b=1");
    assert_true(BED.has_errors);
    assert_int_equal(BED.n_problem_changes, 1);
    assert_int_equal(udpai_file_origin_n_problems(BED.origin, NULL), 1);
    const char *path = NULL;
    const udpa_error *error = udpai_file_origin_problem(BED.origin, 0, &path);
    assert_string_equal(udpa_error_message(error), last_logged);
    assert_true(udpai_str_starts(udpai_str_from(last_logged), udpai_str_from(path)));

    /* other things change, the mistake stays: it is not logged again */
    file_bed_replace(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    await(&BED, "local/a=1 local/b=2");
    assert_int_equal(n_logged, 1);
    assert_int_equal(BED.n_problem_changes, 1);

    file_bed_replace(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    await(&BED, "local/a=2 local/b=2");
    assert_int_equal(n_logged, 2);
    assert_non_null(strstr(last_logged, "root/a.yaml: reloaded, no errors found"));
    assert_int_equal(BED.n_problem_changes, 2);
    assert_false(BED.has_errors);
    assert_int_equal(udpai_file_origin_n_problems(BED.origin, NULL), 0);
}

static void
mistakes_at_the_start_are_problems_not_errors(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", "[");
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "1"));
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/b=1");
    assert_int_equal(udpai_file_origin_n_problems(BED.origin, NULL), 1);
    assert_false(udpai_file_origin_is_complete(BED.origin));
    file_bed_replace(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    await(&BED, "local/a=1 local/b=1");
    assert_true(udpai_file_origin_is_complete(BED.origin));
    /* it stays so: the node has said by then what there is not */
    file_bed_replace(&BED.files, "root/c.yaml", "[");
    await_log(&BED, "root/c.yaml:");
    assert_true(udpai_file_origin_is_complete(BED.origin));
}

static bool
is_complete(struct bed *bed, const void *what)
{
    return udpai_file_origin_is_complete(bed->origin);
}

/* Though there is no other resource: what there is not may be said from now on. */
static void
it_is_told_when_the_directory_is_complete(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", "[");
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "1"));
    assert_ok(open_origin(&BED, NULL));
    assert_int_equal(BED.n_changes, 1);
    file_bed_replace(&BED.files, "root/a.yaml", "[]");
    run_until(&BED, is_complete, "complete");
    assert_int_equal(BED.n_changes, 2);
}

/* As Kubernetes mounts a ConfigMap. */
static void
a_swapped_data_link_is_one_change(void **state)
{
    file_bed_mkdir(&BED.files, "root/..1");
    file_bed_put(&BED.files, "root/..1/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/..1/b.yaml", file_bed_yaml("b", "1"));
    file_bed_link(&BED.files, "..1", "root/..data");
    file_bed_link(&BED.files, "..data/a.yaml", "root/a.yaml");
    file_bed_link(&BED.files, "..data/b.yaml", "root/b.yaml");
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/a=1 local/b=1");
    file_bed_mkdir(&BED.files, "root/..2");
    file_bed_put(&BED.files, "root/..2/a.yaml", file_bed_yaml("a", "2"));
    file_bed_put(&BED.files, "root/..2/b.yaml", file_bed_yaml("b", "2"));
    file_bed_link(&BED.files, "..2", "root/..data");
    await(&BED, "local/a=2 local/b=2");
    assert_int_equal(BED.n_changes, 2);
    assert_int_equal(n_logged, 0);
}

static void
a_directory_that_is_another_by_rename_is_seen(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_mkdir(&BED.files, "next");
    file_bed_put(&BED.files, "next/a.yaml", file_bed_yaml("a", "2"));
    assert_ok(open_origin(&BED, NULL));
    file_bed_rename(&BED.files, "root", "before");
    file_bed_rename(&BED.files, "next", "root");
    await(&BED, "local/a=2");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "3"));
    await(&BED, "local/a=3");
}

static void
a_link_to_the_directory_may_be_swapped(void **state)
{
    char link[FILE_BED_PATH];
    snprintf(link, sizeof(link), "%s", file_bed_path(&BED.files, "current"));
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_mkdir(&BED.files, "next");
    file_bed_put(&BED.files, "next/a.yaml", file_bed_yaml("a", "2"));
    file_bed_link(&BED.files, "root", "current");
    BED.options.root = link;
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/a=1");
    file_bed_link(&BED.files, "next", "current");
    await(&BED, "local/a=2");
    file_bed_put(&BED.files, "next/a.yaml", file_bed_yaml("a", "3"));
    await(&BED, "local/a=3");
}

static void
a_directory_may_vanish_and_return(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_ok(open_origin(&BED, NULL));
    file_bed_remove(&BED.files, "root/a.yaml");
    file_bed_remove(&BED.files, "root");
    await_log(&BED, "cannot read the directory");
    assert_false(udpai_file_origin_is_readable(BED.origin));
    assert_string_equal(BED.held, "local/a=1");
    assert_true(BED.has_errors);
    file_bed_mkdir(&BED.files, "root");
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "1"));
    await(&BED, "local/b=1");
    assert_true(udpai_file_origin_is_readable(BED.origin));
    /* and is watched, not only looked at */
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    await(&BED, "local/b=2");
}

static void
a_directory_may_come_later(void **state)
{
    udpa_error *error = NULL;
    file_bed_remove(&BED.files, "root");
    assert_int_equal(open_origin(&BED, &error), UDPA_ERR_NOT_FOUND);
    assert_non_null(strstr(udpa_error_message(error), "root: cannot read the directory: No such"));
    udpa_error_unref(error);
    assert_int_equal(BED.n_changes, 0);
    assert_false(udpai_file_origin_is_complete(BED.origin));
    file_bed_mkdir(&BED.files, "root");
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    await(&BED, "local/a=1");
    assert_true(udpai_file_origin_is_complete(BED.origin));
}

/* Nothing tells of a file outside, so somebody has to look. */
static void
what_a_link_leads_to_outside_is_looked_at(void **state)
{
    file_bed_put(&BED.files, "a.yaml", file_bed_yaml("a", "1"));
    file_bed_link(&BED.files, "../a.yaml", "root/a.yaml");
    BED.options.poll_ms = 5;
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/a=1");
    file_bed_put(&BED.files, "a.yaml", file_bed_yaml("a", "2"));
    await(&BED, "local/a=2");
}

static void
a_poke_looks_again(void **state)
{
    file_bed_put(&BED.files, "a.yaml", file_bed_yaml("a", "1"));
    file_bed_link(&BED.files, "../a.yaml", "root/a.yaml");
    assert_ok(open_origin(&BED, NULL));
    file_bed_put(&BED.files, "a.yaml", file_bed_yaml("a", "2"));
    udpai_file_origin_poke(BED.origin);
    await(&BED, "local/a=2");
}

static void
it_can_be_told_again(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    assert_ok(open_origin(&BED, NULL));
    unsigned n = BED.n_changes;
    BED.held[0] = '\0';
    udpai_file_origin_report_again(BED.origin);
    assert_int_equal(BED.n_changes, n + 1);
    assert_string_equal(BED.held, "local/a=1");
}

static void
what_was_never_read_is_not_told(void **state)
{
    file_bed_remove(&BED.files, "root");
    assert_int_equal(open_origin(&BED, NULL), UDPA_ERR_NOT_FOUND);
    udpai_file_origin_report_again(BED.origin);
    assert_int_equal(BED.n_changes, 0);
}

static void
the_callback_may_close(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", "[");
    assert_ok(open_origin(&BED, NULL));
    BED.closes_in_callback = true;
    unsigned n_problem_changes = BED.n_problem_changes;
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "2"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("b", "2"));
    await(&BED, "local/a=2 local/b=2");
    assert_ok(uv_run(&BED.loop, UV_RUN_DEFAULT));
    assert_int_equal(BED.n_closed, 1);
    assert_int_equal(BED.n_problem_changes, n_problem_changes);
}

static bool
work_has_begun(struct bed *bed, const void *what)
{
    return bed->loop.active_reqs.count > 0;
}

/* With as many files as keep the pool busy for a moment. */
static void
a_close_during_a_scan_waits_for_it(void **state)
{
    for (int i = 0; i < 100; i++) {
        char path[32];
        snprintf(path, sizeof(path), "root/%02d.yaml", i);
        file_bed_put(&BED.files, path, file_bed_yaml(path, "1"));
    }
    assert_ok(open_origin(&BED, NULL));
    file_bed_put(&BED.files, "root/00.yaml", file_bed_yaml("new", "1"));
    run_until(&BED, work_has_begun, "a scan");
    unsigned n_changes = BED.n_changes;
    close_origin(&BED);
    assert_int_equal(BED.n_closed, 0);
    assert_ok(uv_run(&BED.loop, UV_RUN_DEFAULT));
    assert_int_equal(BED.n_closed, 1);
    assert_int_equal(BED.n_changes, n_changes);
}

static void
a_path_is_needed(void **state)
{
    udpa_error *error = NULL;
    const udpai_file_origin_ops ops = {on_changed, NULL, &BED};
    BED.options.root = "";
    assert_int_equal(udpai_file_origin_new(&BED.origin, &BED.loop, &BED.options, &ops, &error),
                     UDPA_ERR_INVAL);
    assert_null(BED.origin);
    assert_string_equal(udpa_error_message(error), "the directory of resource files has no path");
    udpa_error_unref(error);
}

static void
names_outside_the_namespaces_are_refused(void **state)
{
    const udpai_str namespaces[] = {UDPAI_STR("com.acme"), UDPAI_STR("local")};
    BED.options.namespaces = namespaces;
    BED.options.n_namespaces = 2;
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    file_bed_put(&BED.files, "root/b.yaml", file_bed_yaml("org.example/b", "1"));
    assert_ok(open_origin(&BED, NULL));
    assert_string_equal(BED.held, "local/a=1");
    assert_non_null(strstr(last_logged, "'org.example/b' may not be here, only names in com.acme, "
                                        "local"));
}

static udpa_err
open_and_close(void *context)
{
    struct bed *bed = context;
    const udpai_str name_space = UDPAI_STR("local");
    const udpai_file_origin_ops ops = {on_changed, NULL, bed};
    bed->options.namespaces = &name_space;
    bed->options.n_namespaces = 1;
    udpai_file_origin *origin = NULL;
    udpa_err err = udpai_file_origin_new(&origin, &bed->loop, &bed->options, &ops, NULL);
    if (err != UDPA_OK)
        return err;
    err = udpai_file_origin_start(origin, NULL);
    if (err == UDPA_OK && udpai_file_origin_n_problems(origin, NULL))
        err = udpa_error_code(udpai_file_origin_problem(origin, 0, NULL));
    udpai_file_origin_close(origin, NULL, NULL);
    uv_run(&bed->loop, UV_RUN_DEFAULT);
    return err;
}

static void
lack_of_memory_is_told(void **state)
{
    file_bed_put(&BED.files, "root/a.yaml", file_bed_yaml("a", "1"));
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_true(oom_torture(open_and_close, &BED) > 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_reading_is_done_when_start_returns),
        CASE(an_empty_directory_is_told),
        CASE(a_file_renamed_into_place_is_seen),
        CASE(changes_that_come_together_are_told_once),
        CASE(steady_changes_delay_only_so_long),
        CASE(a_mistake_is_logged_and_listed_until_it_is_mended),
        CASE(mistakes_at_the_start_are_problems_not_errors),
        CASE(it_is_told_when_the_directory_is_complete),
        CASE(a_swapped_data_link_is_one_change),
        CASE(a_directory_that_is_another_by_rename_is_seen),
        CASE(a_link_to_the_directory_may_be_swapped),
        CASE(a_directory_may_vanish_and_return),
        CASE(a_directory_may_come_later),
        CASE(what_a_link_leads_to_outside_is_looked_at),
        CASE(a_poke_looks_again),
        CASE(it_can_be_told_again),
        CASE(what_was_never_read_is_not_told),
        CASE(the_callback_may_close),
        CASE(a_close_during_a_scan_waits_for_it),
        CASE(a_path_is_needed),
        CASE(names_outside_the_namespaces_are_refused),
        CASE(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
