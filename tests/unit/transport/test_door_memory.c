/* SPDX-License-Identifier: Apache-2.0 */
/* What connections and their streams take, as it is counted. */
#include "tests/harness/metered.h"
#include "tests/unit/transport/door_bed.h"

static door_bed bed;
static door_peer peer;

static int
begin(void **state)
{
    (void)state;
    assert_ok(door_bed_open(&bed));
    assert_ok(door_bed_connect(&bed, &peer, "192.0.2.1:1"));
    frames_put_begin(&peer.to);
    door_bed_run(&bed, &peer);
    frames_put(&peer.to, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, (udpai_str){0});
    return 0;
}

static int
end(void **state)
{
    (void)state;
    door_peer_close(&peer);
    door_bed_close(&bed);
    assert_int_equal(bed.n_open, 0);
    return 0;
}

static void
say(uint32_t id, const char *text)
{
    udpai_str message = udpai_str_from(text);
    frames_put_message(&peer.to, id, message, (uint32_t)message.len);
}

static void
half_close(uint32_t id)
{
    frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, (udpai_str){0});
}

static int64_t
memory_of_connections(void)
{
    return metered(udpai_door_meters(bed.door), UDPAI_METRIC_MEMORY, "connections");
}

/* A connection takes what it needs, a stream as long as it lasts, and messages nothing that stays.
 */
static void
what_connections_take_is_counted(void **state)
{
    (void)state;
    door_bed_run(&bed, &peer);
    int64_t idle = memory_of_connections();
    assert_true(idle > 2000);
    for (uint32_t id = 1; id < 100; id += 2) {
        door_peer_call(&peer, id, "/a.B/C", NULL);
        say(id, "hello");
        door_bed_run(&bed, &peer);
        int64_t open = memory_of_connections();
        assert_true(open > idle + (int64_t)sizeof(udpai_door_stream));
        for (int i = 0; i < 20; i++) {
            say(id, "hello");
            door_bed_run(&bed, &peer);
        }
        assert_in_range(memory_of_connections(), open - 500, open + 500);
        half_close(id);
        door_bed_run(&bed, &peer);
    }
    door_bed_run(&bed, &peer);
    assert_in_range(memory_of_connections(), idle - 5000, idle + 5000); /* with tables of HPACK */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_connections_take_is_counted, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
