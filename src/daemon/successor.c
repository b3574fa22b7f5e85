/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "daemon/feed.h"
#include "daemon/restart_step.h"
#include "daemon/worker_link.h"
#include "transport/front/handed_socket.h"
#include "transport/socket_list.h"

#define LOG "restart"
#define HEAD 5
#define MAX_BYTES 4096 /* of what comes: a step */

/* A process has one life. */
static struct {
    bool is_one;
    char run[40];
    udpai_worker_link *link;
    bool is_given_up;
    udpai_restart_step step; /* the last one that has come */
    const bool *is_stopping;
    udpai_feed *feed; /* to the process before it, until that has ended; NULL: none */
} self;

/* ---- what it was handed ---- */

static udpa_err
take_sockets(udpa_error **ret_error)
{
    char room[UDPAI_HANDED_LABEL_MAX], label[UDPAI_HANDED_LABEL_MAX + 1];
    udpai_str text;
    int file;
    udpa_err err;
    while ((err = udpai_socket_take_handed(UDPAI_SUCCESSOR_SOCKETS_FD, room, &text, &file,
                                           ret_error)) == UDPA_OK) {
        memcpy(label, text.data, text.len);
        label[text.len] = '\0';
        if (!udpai_socket_list_put(label, file))
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (err != UDPA_ERR_UNAVAILABLE)
        return err;
    if (ret_error)
        udpa_error_unref(UDPAI_TAKE(*ret_error)); /* that was all */
    return UDPA_OK;
}

/* Neither is for processes that this one starts. */
udpa_err
udpai_successor_begin(udpai_options *options, udpa_error **ret_error)
{
    const char *run = getenv(UDPAI_SUCCESSOR_VARIABLE);
    if (!run || options->worker)
        return UDPA_OK;
    size_t len = udpai_min_size(strlen(run), sizeof(self.run) - 1);
    memcpy(self.run, run, len);
    unsetenv(UDPAI_SUCCESSOR_VARIABLE);
    if (fcntl(UDPAI_SUCCESSOR_FD, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(UDPAI_SUCCESSOR_SOCKETS_FD, F_SETFD, FD_CLOEXEC) != 0)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "the environment has " UDPAI_SUCCESSOR_VARIABLE
                          ", which is for a process that udpad starts itself");
    self.is_one = true;
    options->run = self.run;
    options->is_restored = options->is_forced = false; /* they were of the first start */
    options->restore_from = NULL;
    udpa_err err = take_sockets(ret_error);
    close(UDPAI_SUCCESSOR_SOCKETS_FD);
    return err;
}

bool
udpai_successor_is(void)
{
    return self.is_one;
}

/* ---- the steps ---- */

/* Steps are short and few, so they fit into the socket. It may be that no loop runs. */
static void
send_step(udpai_restart_step step, udpai_str text)
{
    char bytes[HEAD + 1 + MAX_BYTES];
    size_t n_text = udpai_min_size(text.len, MAX_BYTES - 1), len = n_text + 1;
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(len >> (8 * i) & 0xff);
    bytes[4] = (char)UDPAI_FRAME_STEP;
    bytes[HEAD] = (char)step;
    if (n_text)
        memcpy(bytes + HEAD + 1, text.data, n_text);
    ssize_t n;
    do
        n = write(UDPAI_SUCCESSOR_FD, bytes, HEAD + len);
    while (n < 0 && errno == EINTR);
}

void
udpai_successor_fail(const char *why)
{
    if (self.is_one && !self.is_given_up)
        send_step(UDPAI_RESTART_FAILED, udpai_str_from(why));
    self.is_given_up = true;
}

static void
on_frame(void *userdata, udpai_frame_kind kind, udpai_str payload)
{
    (void)userdata;
    if (kind == UDPAI_FRAME_STEP && payload.len)
        self.step = (udpai_restart_step)payload.data[0];
}

static void
on_ended(void *userdata, const udpa_error *why)
{
    (void)userdata;
    (void)why;
    self.is_given_up = true;
    if (!self.is_one) /* it serves, and that one has no clients any more */
        udpai_successor_end();
}

static udpa_err
wait_for(uv_loop_t *loop, udpai_restart_step step, udpa_error **ret_error)
{
    while (self.step != step && !self.is_given_up && !*self.is_stopping)
        uv_run(loop, UV_RUN_ONCE);
    if (*self.is_stopping)
        return UDPA_ERR_CLOSED;
    return self.step == step
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_CLOSED,
                            "the process that has started this one goes on in its place");
}

udpa_err
udpai_successor_take_store(uv_loop_t *loop,
                           const udpai_plan *plan,
                           const bool *is_stopping,
                           udpa_error **ret_error)
{
    const udpai_worker_link_env link = {
        .frame = on_frame, .ended = on_ended, .max_bytes = MAX_BYTES};
    if (!self.is_one)
        return UDPA_OK;
    self.is_stopping = is_stopping;
    UDPAI_AUTO_FREE char *identity = udpai_successor_identity(plan);
    if (!identity)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_worker_link_open(&self.link, loop, UDPAI_SUCCESSOR_FD, &link, ret_error);
    if (err != UDPA_OK)
        return err;
    send_step(UDPAI_RESTART_CHECKED, udpai_str_from(identity));
    return wait_for(loop, UDPAI_RESTART_TAKE, ret_error);
}

udpa_err
udpai_successor_take_sockets(uv_loop_t *loop, udpa_error **ret_error)
{
    if (!self.is_one)
        return UDPA_OK;
    send_step(UDPAI_RESTART_READY, (udpai_str){0});
    return wait_for(loop, UDPAI_RESTART_GO, ret_error);
}

void
udpai_successor_serves(udpa_endpoint *endpoint)
{
    if (!self.is_one)
        return;
    size_t n = udpai_socket_list_drop();
    if (n)
        udpai_log(UDPA_LOG_INFO, LOG,
                  "%zu sockets of the process before are closed: the bootstrap "
                  "file has them no more",
                  n);
    send_step(UDPAI_RESTART_SERVES, (udpai_str){0});
    self.is_one = false;
    if (udpai_feed_begin(&self.feed, endpoint, self.link) != UDPA_OK)
        udpai_successor_end();
}

/* The descriptor is another's from now on. */
void
udpai_successor_end(void)
{
    if (self.link)
        self.is_given_up = true;
    udpai_feed_end(UDPAI_TAKE(self.feed));
    udpai_worker_link_close(UDPAI_TAKE(self.link));
}

char *
udpai_successor_identity(const udpai_plan *plan)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(
        &text, "node id %.*s, state %s, workers %zu, %s", UDPAI_SHOWN(plan->settings.node.id),
        plan->state_directory ? plan->state_directory : "none", plan->settings.n_workers,
        plan->settings.acceptance ? "transport OWN" : "transport GRPC_CORE");
    udpai_strbuf_putc(&text, '\0');
    char *copy = udpai_strbuf_failed(&text) ? NULL : udpai_strdup(udpai_strbuf_view(&text).data);
    udpai_strbuf_done(&text);
    return copy;
}
