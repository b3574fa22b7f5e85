/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of a plan that take the place of others, with a stream thread that listens. */
#include "daemon/sockets.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "session/udpa.h"
#include "tests/harness/oom.h"
#include "transport/front/front.h"

#define DRAIN_MS 100

typedef struct world {
    udpai_node_info *info;
    udpai_stream_thread *thread;
    udpai_sockets *sockets;
    udpai_plan plan;
    char path[40];
} world;

static void
drop_report(void *userdata, udpai_report *report)
{
    (void)userdata;
    udpai_report_free(report);
}

static void
start_thread(world *self)
{
    static const udpai_grpc_method method = {.path = UDPAI_UDPA_PATH,
                                             .open = udpai_udpa_session_new};
    const udpai_node_parts parts = {.id = UDPAI_STR("node")};
    assert_ok(udpai_node_info_new(&self->info, &parts));
    const udpai_stream_thread_options options = {
        .hub =
            {
                .fanout = {.view_linger_ms = 1000,
                           .max_views = 10,
                           .max_views_per_owner = 10,
                           .max_names = 10,
                           .max_held = 10,
                           .max_held_bytes = 1000,
                           .body_cache_bytes = 1000,
                           .response_bytes = 1000},
                .info = self->info,
                .max_pending = 4,
                .max_pending_bytes = 1000,
            },
        .methods = &method,
        .n_methods = 1,
        .acceptance = &udpai_front_acceptance,
        .report = drop_report,
    };
    assert_ok(udpai_stream_thread_new(&self->thread, &options, NULL));
}

static void
have(world *self, const udpai_plan_socket *sockets, size_t n)
{
    self->plan.sockets.n = 0;
    for (size_t i = 0; i < n; i++)
        assert_true(udpai_vector_push(&self->plan.sockets, sockets[i]));
}

#define HAVE(world, ...)                                                                           \
    have((world), (const udpai_plan_socket[]){__VA_ARGS__},                                        \
         sizeof((udpai_plan_socket[]){__VA_ARGS__}) / sizeof(udpai_plan_socket))
#define ANY                                                                                        \
    {                                                                                              \
        .address = "127.0.0.1:0"                                                                   \
    }
#define LARGER                                                                                     \
    {                                                                                              \
        .address = "127.0.0.1:0", .max_message_bytes = 5                                           \
    }

static int
setup(void **state)
{
    world *self = udpai_alloc(sizeof(*self));
    assert_non_null(self);
    start_thread(self);
    snprintf(self->path, sizeof(self->path), "unix:/tmp/udpa-sockets-XXXXXX");
    int fd = mkstemp(self->path + 5);
    assert_true(fd >= 0);
    close(fd);
    unlink(self->path + 5);
    assert_ok(udpai_sockets_new(&self->sockets));
    HAVE(self, ANY, {.address = self->path});
    assert_ok(udpai_sockets_listen(self->sockets, self->thread, NULL, &self->plan, NULL));
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    world *self = *state;
    udpai_stream_thread_free(self->thread);
    udpai_sockets_free(self->sockets);
    udpai_node_info_unref(self->info);
    udpai_vector_done(&self->plan.sockets);
    assert_int_not_equal(access(self->path + 5, F_OK), 0);
    udpai_free(self);
    return 0;
}

static void
put(void *userdata, const char *address, const char *change)
{
    udpai_strbuf_printf(userdata, "%s %s, ", strncmp(address, "unix:", 5) ? address : "unix",
                        change);
}

static void
expect_changes(const udpai_sockets_next *next, const char *expected)
{
    udpai_strbuf text = {0};
    udpai_sockets_visit(next, put, &text);
    udpai_strbuf_puts(&text, "");
    char *shown = udpai_strbuf_take(&text);
    assert_string_equal(shown ? shown : "", expected);
    udpai_free(shown);
}

static void
take(world *self, const char *expected)
{
    udpai_sockets_next *next = NULL;
    assert_ok(udpai_sockets_prepare(self->sockets, &self->plan, &next, NULL));
    expect_changes(next, expected);
    udpai_sockets_take(self->sockets, next, DRAIN_MS);
}

static void
the_same_is_no_change(void **state)
{
    world *self = *state;
    int port = udpai_sockets_port(self->sockets, 0);
    take(self, "");
    assert_int_equal(udpai_sockets_port(self->sockets, 0), port);
}

static void
they_come_and_go(void **state)
{
    world *self = *state;
    int port = udpai_sockets_port(self->sockets, 0);
    HAVE(self, ANY, ANY);
    take(self, "127.0.0.1:0 added, unix removed, ");
    assert_int_equal(udpai_sockets_port(self->sockets, 0), port);
    assert_int_not_equal(udpai_sockets_port(self->sockets, 1), port);
    HAVE(self, ANY, ANY, {.address = "127.0.0.2:0"});
    take(self, "127.0.0.2:0 added, ");
}

/* What was ordered before its socket was added has been done when that greets a client. */
static void
wait_for_thread(world *self)
{
    char greeting[9];
    HAVE(self, ANY, {.address = self->path}, {.address = "127.0.0.2:0"});
    take(self, "127.0.0.2:0 added, ");
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)udpai_sockets_port(self->sockets, 2)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(recv(fd, greeting, sizeof(greeting), MSG_WAITALL), sizeof(greeting));
    close(fd);
}

/* Of two at one address each is one. */
static void
an_edited_one_has_its_port(void **state)
{
    world *self = *state;
    int port = udpai_sockets_port(self->sockets, 0);
    HAVE(self, LARGER, {.address = self->path, .max_message_bytes = 7});
    take(self, "127.0.0.1:0 edited, unix edited, ");
    assert_int_equal(udpai_sockets_port(self->sockets, 0), port);
    take(self, "");
    HAVE(self, ANY, {.address = self->path});
    take(self, "127.0.0.1:0 edited, unix edited, ");
    assert_int_equal(udpai_sockets_port(self->sockets, 0), port);
    wait_for_thread(self);
    assert_int_equal(access(self->path + 5, F_OK), 0);
}

static void
proxies_are_kept(void **state)
{
    world *self = *state;
    udpai_network *networks = udpai_alloc_array(2, sizeof(*networks));
    assert_non_null(networks);
    networks[0].n_bits = 8;
    HAVE(self, {.address = "127.0.0.1:0", .proxies = networks, .n_proxies = 1},
         {.address = self->path});
    take(self, "127.0.0.1:0 edited, ");
    take(self, "");
    networks[0].n_bits = 9;
    take(self, "127.0.0.1:0 edited, ");
    udpai_free(networks); /* as with a plan */
}

static void
what_is_left_has_changed_nothing(void **state)
{
    world *self = *state;
    udpai_sockets_next *next = NULL;
    HAVE(self, LARGER, {.address = "127.0.0.2:0"});
    assert_ok(udpai_sockets_prepare(self->sockets, &self->plan, &next, NULL));
    expect_changes(next, "127.0.0.1:0 edited, 127.0.0.2:0 added, unix removed, ");
    udpai_sockets_leave(next);
    HAVE(self, ANY, {.address = self->path});
    take(self, "");
}

static void
one_that_cannot_be_bound_is_an_error(void **state)
{
    world *self = *state;
    char taken[40];
    udpai_sockets_next *next = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    snprintf(taken, sizeof(taken), "127.0.0.1:%d", udpai_sockets_port(self->sockets, 0));
    HAVE(self, ANY, {.address = self->path}, {.address = "127.0.0.2:0"}, {.address = taken});
    assert_int_equal(udpai_sockets_prepare(self->sockets, &self->plan, &next, &error), UDPA_ERR_IO);
    assert_non_null(strstr(udpa_error_message(error), taken));
    assert_null(next);
}

static udpa_err
prepare_and_leave(void *context)
{
    world *self = context;
    udpai_sockets_next *next = NULL;
    udpa_err err = udpai_sockets_prepare(self->sockets, &self->plan, &next, NULL);
    if (err == UDPA_OK)
        udpai_sockets_leave(next);
    return err;
}

static void
without_memory_nothing_changes(void **state)
{
    world *self = *state;
    HAVE(self, LARGER, {.address = "127.0.0.2:0"});
    oom_torture(prepare_and_leave, self);
    HAVE(self, ANY, {.address = self->path});
    take(self, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(the_same_is_no_change),
        CASE(they_come_and_go),
        CASE(an_edited_one_has_its_port),
        CASE(proxies_are_kept),
        CASE(what_is_left_has_changed_nothing),
        CASE(one_that_cannot_be_bound_is_an_error),
        CASE(without_memory_nothing_changes),
#undef CASE
    };
    return cmocka_run_group_tests_name("daemon sockets", tests, NULL, NULL);
}
