/* SPDX-License-Identifier: Apache-2.0 */
/* Connections by a unix socket: the kernel proves whose they are. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/metered.h"
#include "tests/harness/test.h"
#include "tests/unit/transport/door_bed.h"
#include "transport/front/local_socket.h"

static char folder[64], path[80];
static door_bed bed;
static door_peer peer;
static udpai_local_file file;

static int
begin(void **state)
{
    (void)state;
    udpai_door_listen_options with = {.socket = -1};
    snprintf(folder, sizeof(folder), "/tmp/udpa-local-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/socket", folder);
    assert_ok(
        udpai_local_socket_listen(path, UDPAI_LOCAL_SOCKET_MODE, 10, &with.socket, &file, NULL));
    assert_ok(door_bed_open_listening(&bed, &with));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    door_peer_close(&peer);
    door_bed_close(&bed);
    udpai_local_file_remove(&file);
    assert_int_equal(bed.n_open, 0);
    return rmdir(folder);
}

static void
dial(door_peer *one)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int socket_file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(socket_file >= 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_ok(connect(socket_file, (const struct sockaddr *)&address, sizeof(address)));
    assert_ok(fcntl(socket_file, F_SETFL, O_NONBLOCK));
    door_peer_open(one, socket_file);
    frames_put_begin(&one->to);
    door_peer_call(one, 1, "/a.B/C", NULL);
}

static void
its_peer_is_the_user_that_has_connected(void **state)
{
    (void)state;
    char user[32], process[32];
    snprintf(user, sizeof(user), "unix:%u", (unsigned)getuid());
    snprintf(process, sizeof(process), "process %ld", (long)getpid());
    dial(&peer);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    assert_string_equal(bed.identity, user);
    assert_string_equal(bed.address, process);
    assert_true(bed.is_secure);
}

static void
a_user_counts_as_one_address(void **state)
{
    (void)state;
    door_peer second = {.socket = -1};
    udpai_door_set_max(bed.door, 100, 1);
    dial(&peer);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    dial(&second);
    assert_true(door_bed_run_until_over(&bed, &second));
    assert_int_equal(udpai_door_count(bed.door).n_refused, 1);
    assert_int_equal(metered(udpai_door_meters(bed.door), UDPAI_METRIC_CONNECTIONS_REFUSED,
                             "max_streams_per_identity"),
                     1);
    door_peer_close(&second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(its_peer_is_the_user_that_has_connected),
        CASE(a_user_counts_as_one_address),
#undef CASE
    };
    return cmocka_run_group_tests_name("door_local", tests, NULL, NULL);
}
