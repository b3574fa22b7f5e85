/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that writes events, with topics as the stream thread has them. */
#include "transport/file/event_writer.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"

static char path[64];
static udpai_schema *schema;
static udpai_event_writer *writer;
static udpai_wheel wheel;
static udpai_topic *topic;
static udpai_event_source *source;
static udpai_topic_stream stream;

static void
on_pause(udpai_topic_stream *self, bool pause)
{
    (void)self;
    (void)pause;
}

static void
begin_with(const char *where, size_t max_entries)
{
    const udpai_topic_options options = {UDPAI_EVENT_REPORT, max_entries, 0, 0};
    const udpai_event_file files[UDPAI_EVENT_KINDS] = {[UDPAI_EVENT_REPORT] = {.path = where}};
    stream = (udpai_topic_stream){.pause = on_pause};
    udpai_wheel_init(&wheel, 1000);
    assert_ok(udpai_schema_new(&schema, NULL));
    assert_ok(udpai_event_writer_new(&writer, schema, files, NULL));
    assert_ok(udpai_topic_new(&topic, &options));
    udpai_topic_set_writer(topic, udpai_event_writer_take, writer);
    assert_ok(udpai_topic_join(topic, &wheel, UDPAI_STR("a"), &stream));
    source = udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    assert_non_null(source);
}

static void
begin(void)
{
    snprintf(path, sizeof(path), "/tmp/udpa-events-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    begin_with(path, 0);
}

static void
add(void)
{
    udpa_bytes *message;
    udpai_str bytes = W_MESSAGE(2, W_TEXT(1, "type.googleapis.com/google.protobuf.Empty"));
    assert_ok(udpa_bytes_new(&message, bytes.data, bytes.len));
    assert_ok(udpai_topic_add(topic, &stream, source, message, 5));
    udpa_bytes_unref(message);
}

/* As a node ends: nobody streams any more, what has come is written. */
static udpai_topic_facts
end_all(void)
{
    udpai_topic_facts facts;
    udpai_topic_leave(topic, &stream);
    udpai_topic_flush(topic);
    writer = udpai_event_writer_free(writer);
    udpai_topic_facts_get(topic, &facts);
    topic = udpai_topic_free(topic);
    udpai_event_source_unref(source);
    schema = udpai_schema_unref(schema);
    wire_free_all();
    return facts;
}

static size_t
count_lines_in(FILE *found, const char *words)
{
    char line[512];
    size_t n = 0;
    assert_non_null(found);
    while (fgets(line, sizeof(line), found))
        n += strstr(line, words) != NULL;
    fclose(found);
    unlink(path);
    return n;
}

static size_t
count_lines(const char *words)
{
    return count_lines_in(fopen(path, "r"), words);
}

static void
all_that_came_is_written_before_it_ends(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 1000; i++)
        add();
    udpai_topic_facts facts = end_all();
    assert_int_equal(facts.n_written, 1000);
    assert_int_equal(facts.n_failed, 0);
    assert_int_equal(count_lines("\"entry\":{\"@type\":"), 1000);
}

/* The writer waits for somebody to open the pipe, with the first event in its hands. */
static void
what_was_dropped_is_a_gap(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/udpa-events-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    assert_ok(mkfifo(path, 0600));
    begin_with(path, 10);
    for (size_t i = 0; i < 31; i++)
        add();
    FILE *pipe = fopen(path, "r");
    udpai_topic_facts facts = end_all();
    assert_int_equal(facts.n_accepted, 31);
    assert_int_equal(facts.n_dropped, 20);
    assert_int_equal(facts.n_written, 12); /* one of them says what is missing */
    assert_int_equal(count_lines_in(pipe, "{\"kind\":\"event\",\"lost\":20}"), 1);
}

static void
a_full_disk_holds_up_nobody(void **state)
{
    (void)state;
    begin_with("/dev/full", 0);
    for (size_t i = 0; i < 100; i++)
        add();
    udpai_topic_facts facts = end_all();
    assert_int_equal(facts.n_written, 0);
    assert_int_equal(facts.n_failed, 100);
}

static void
nothing_at_all_is_fine(void **state)
{
    (void)state;
    begin();
    assert_int_equal(end_all().n_written, 0);
    assert_int_equal(count_lines(""), 0);
    assert_null(udpai_event_writer_free(NULL));
}

/* Without memory for lines their batch is lost, and counted. The thread is the only one that
 * allocates then. */
static void
without_memory_lines_are_lost(void **state)
{
    (void)state;
    begin();
    udpai_event_batch *batch = udpai_alloc(sizeof(*batch) + sizeof(batch->events[0]));
    assert_non_null(batch);
    udpa_bytes *message;
    assert_ok(udpa_bytes_new(&message, "\x12", 1));
    udpai_list_init(&batch->node);
    batch->topic = topic;
    batch->n = 1;
    batch->events[0] = udpai_event_new(source, message);
    batch->events[0]->sequence = 9; /* so that there is a line of a gap, too */
    udpa_bytes_unref(message);
    udpai_alloc_fail_after(0);
    udpai_event_writer_take(writer, batch);
    writer = udpai_event_writer_free(writer); /* waits for it */
    udpai_alloc_fail_after(-1);
    udpai_topic_facts facts = end_all();
    assert_int_equal(facts.n_written, 0);
    assert_int_equal(facts.n_failed, 1); /* the gap: the event itself has no entry */
    assert_int_equal(count_lines(""), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_came_is_written_before_it_ends),
        cmocka_unit_test(what_was_dropped_is_a_gap),
        cmocka_unit_test(a_full_disk_holds_up_nobody),
        cmocka_unit_test(nothing_at_all_is_fine),
        cmocka_unit_test(without_memory_lines_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
