/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/workers.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/banner.h"
#include "daemon/worker.h"
#include "daemon/worker_counts.h"
#include "daemon/worker_link.h"
#include "session/transfer.h"
#include "transport/socket_address.h"

#define LOG "workers"
#define PROGRAM "/proc/self/exe"
/* A worker that was ordered to end, and does not. */
#define END_PATIENCE_MS 10000
#define START_PATIENCE_MS 30000
/* The largest publication is 64 MiB by default; the status of all streams is smaller. */
#define MAX_REPORT_BYTES ((size_t)128 << 20)

typedef struct member {
    udpai_workers *workers;
    size_t number;
    uv_process_t process;
    udpai_worker_link *link;
    udpai_transfer transfer;
    bool is_running, listens;
} member;

struct udpai_workers {
    udpai_workers_env env;
    udpa_endpoint *endpoint; /* set before anything is reported */
    member *members;         /* the first is number 1 */
    size_t n, n_open;        /* n_open: processes that the loop still has */
    UDPAI_VECTOR(int) reserved;
    uv_timer_t patience;
    bool has_patience; /* the timer runs: for workers that are to listen */
    bool is_closing;
    udpa_error *failure; /* one was lost */
};

/* ---- the end ---- */

static void
on_freed(uv_handle_t *handle)
{
    udpai_workers *workers = handle->data;
    for (size_t i = 0; i < workers->reserved.n; i++)
        close(workers->reserved.items[i]);
    udpai_vector_done(&workers->reserved);
    udpa_error_unref(workers->failure);
    udpai_free(workers->members);
    udpai_free(workers);
}

static void
free_if_alone(udpai_workers *workers)
{
    if (workers->is_closing && workers->n_open == 0 &&
        !uv_is_closing((uv_handle_t *)&workers->patience))
        uv_close((uv_handle_t *)&workers->patience, on_freed);
}

static void
on_process_closed(uv_handle_t *handle)
{
    member *worker = handle->data;
    worker->workers->n_open--;
    free_if_alone(worker->workers);
}

static void
lose(member *worker, const char *what)
{
    udpai_workers *workers = worker->workers;
    if (workers->is_closing || workers->failure)
        return;
    workers->failure =
        udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                       "worker %zu %s: the node ends, to be started anew", worker->number, what);
    workers->env.lost(workers->env.userdata, workers->failure);
}

static void
on_exit(uv_process_t *process, int64_t status, int signal_number)
{
    member *worker = process->data;
    char what[64];
    if (signal_number)
        snprintf(what, sizeof(what), "was ended by signal %d", signal_number);
    else
        snprintf(what, sizeof(what), "has ended with status %d", (int)status);
    worker->is_running = false;
    udpai_worker_link_close(UDPAI_TAKE(worker->link));
    uv_close((uv_handle_t *)process, on_process_closed);
    lose(worker, what);
}

static void
on_patience(uv_timer_t *timer)
{
    udpai_workers *workers = timer->data;
    workers->has_patience = false;
    for (size_t i = 0; i < workers->n && workers->is_closing; i++)
        if (workers->members[i].is_running)
            uv_process_kill(&workers->members[i].process, SIGKILL);
}

void
udpai_workers_close(udpai_workers *workers)
{
    if (!workers || workers->is_closing)
        return;
    workers->is_closing = true;
    for (size_t i = 0; i < workers->n; i++) {
        udpai_worker_link_close(UDPAI_TAKE(workers->members[i].link));
        udpai_transfer_done(&workers->members[i].transfer);
    }
    uv_timer_start(&workers->patience, on_patience, END_PATIENCE_MS, 0);
    free_if_alone(workers);
}

/* ---- what they send ---- */

static void
take_report(member *worker, udpai_str payload)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_report *report = NULL;
    if (udpai_report_decode(&worker->transfer, payload, &report, &error) == UDPA_OK)
        udpai_endpoint_take_worker_report(worker->workers->endpoint, worker->number, report);
    else
        lose(worker, udpa_error_message(error));
}

static void
take_counts(member *worker, udpai_str payload)
{
    udpai_stream_counts counts;
    udpa_err err = udpai_worker_counts_decode(payload, &counts);
    if (err == UDPA_OK)
        udpai_endpoint_take_worker_counts(worker->workers->endpoint, worker->number, &counts);
    else
        lose(worker, udpa_err_text(err));
}

static void
on_frame(void *userdata, udpai_frame_kind kind, udpai_str payload)
{
    member *worker = userdata;
    char what[512];
    if (kind == UDPAI_FRAME_LISTENING) {
        worker->listens = true;
    } else if (kind == UDPAI_FRAME_FAILED) {
        snprintf(what, sizeof(what), "fails: %.*s", (int)udpai_min_size(payload.len, 400),
                 payload.data);
        lose(worker, what);
    } else if (kind == UDPAI_FRAME_REPORT) {
        take_report(worker, payload);
    } else if (kind == UDPAI_FRAME_COUNTS) {
        take_counts(worker, payload);
    }
}

/* That it has hung up is reported by its end, which has more. */
static void
on_ended(void *userdata, const udpa_error *why)
{
    if (why)
        lose(userdata, udpa_error_message(why));
}

/* ---- what they are sent ---- */

void
udpai_workers_order(void *userdata, size_t worker, const udpai_order *order)
{
    udpai_workers *workers = *(udpai_workers **)userdata;
    member *to = workers && worker <= workers->n ? &workers->members[worker - 1] : NULL;
    udpai_strbuf bytes = {0};
    if (!to || !to->link)
        return;
    if (udpai_order_encode(order, &bytes) == UDPA_OK)
        (void)udpai_worker_link_send(to->link, UDPAI_FRAME_ORDER, udpai_strbuf_view(&bytes));
    else
        lose(to, "cannot be sent a change: out of memory");
    udpai_strbuf_done(&bytes);
}

static void
send_all(udpai_workers *workers, udpai_frame_kind kind, udpai_str payload)
{
    for (size_t i = 0; i < workers->n; i++)
        if (workers->members[i].link)
            (void)udpai_worker_link_send(workers->members[i].link, kind, payload);
}

void
udpai_workers_serve(void *userdata, bool is_serving)
{
    udpai_workers *workers = *(udpai_workers **)userdata;
    if (workers)
        send_all(workers, UDPAI_FRAME_SERVING, is_serving ? UDPAI_STR("1") : UDPAI_STR("0"));
}

void
udpai_workers_read_certificates(udpai_workers *workers)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_CERTIFICATES, (udpai_str){0});
}

void
udpai_workers_switch(udpai_workers *workers, udpai_str switches)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_SWITCHES, switches);
}

/* ---- listening ---- */

/* The port is kept by a socket on which nothing listens: others that were not given it cannot take
 * it, and port 0 becomes the same one for all. */
static udpa_err
reserve(udpai_workers *workers,
        const char *address,
        int *ret_port,
        udpai_strbuf *addresses,
        udpa_error **ret_error)
{
    char text[300];
    int fd = -1, probe = -1;
    /* Not shared with strangers that share it: first alone, then for the workers. */
    udpa_err err = udpai_address_bind(address, &probe, ret_error);
    if (err != UDPA_OK)
        return err;
    close(probe);
    err = udpai_address_bind_shared(address, &fd, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_vector_push(&workers->reserved, fd)) {
        close(fd);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_port = udpai_socket_port(fd);
    udpai_banner_address(text, sizeof(text), address, *ret_port);
    udpai_strbuf_append(addresses, text, strlen(text) + 1);
    return UDPA_OK;
}

static bool
all_listen(const udpai_workers *workers)
{
    for (size_t i = 0; i < workers->n; i++)
        if (!workers->members[i].listens)
            return false;
    return true;
}

static udpa_err
wait_for_all(udpai_workers *workers, udpa_error **ret_error)
{
    workers->has_patience = true;
    uv_timer_start(&workers->patience, on_patience, START_PATIENCE_MS, 0);
    while (!all_listen(workers) && !workers->failure && workers->has_patience)
        uv_run(workers->env.loop, UV_RUN_ONCE);
    uv_timer_stop(&workers->patience);
    if (workers->failure) {
        *ret_error = udpa_error_ref(workers->failure);
        return udpa_error_code(workers->failure);
    }
    if (!workers->has_patience)
        return udpai_fail(ret_error, UDPA_ERR_DEADLINE, "the workers do not listen within %d s",
                          START_PATIENCE_MS / 1000);
    return UDPA_OK;
}

udpa_err
udpai_workers_listen(udpai_workers *workers,
                     udpa_endpoint *endpoint,
                     int *ret_ports,
                     udpa_error **ret_error)
{
    const udpai_plan *plan = workers->env.plan;
    udpai_strbuf addresses = {0};
    udpa_err err = UDPA_OK;
    workers->endpoint = endpoint;
    for (size_t i = 0; i < plan->sockets.n && err == UDPA_OK; i++)
        err =
            reserve(workers, plan->sockets.items[i].address, &ret_ports[i], &addresses, ret_error);
    if (err == UDPA_OK && udpai_strbuf_failed(&addresses))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        send_all(workers, UDPAI_FRAME_LISTEN, udpai_strbuf_view(&addresses));
    udpai_strbuf_done(&addresses);
    return err == UDPA_OK ? wait_for_all(workers, ret_error) : err;
}

/* ---- the beginning ---- */

/* As this process was called, and which worker it is. */
static char **
arguments_of(const udpai_options *options, char **own, size_t n_own)
{
    size_t n = 0;
    while (options->arguments[n])
        n++;
    char **all = udpai_alloc_array(n + n_own + 1, sizeof(*all));
    for (size_t i = 0; all && i < n + n_own; i++)
        all[i] = i < n ? options->arguments[i] : own[i - n];
    return all;
}

static int
spawn(member *worker, int fd)
{
    char number[40], instance[UDPAI_AUTHORITY_MAX + 16], run[64], replica[UDPAI_AUTHORITY_MAX + 32];
    const udpai_endpoint_settings *settings = &worker->workers->env.plan->settings;
    udpai_str life = udpai_node_info_metadata(settings->info, UDPAI_NODE_KEY_RUN);
    snprintf(number, sizeof(number), "--worker=%zu", worker->number);
    snprintf(instance, sizeof(instance), "--instance=%.*s", (int)settings->node.instance.len,
             settings->node.instance.data);
    snprintf(run, sizeof(run), "--run=%.*s", UDPAI_SHOWN(life));
    udpai_str which = udpai_node_info_replica(settings->info);
    snprintf(replica, sizeof(replica), "--replica=%.*s", (int)which.len,
             which.data ? which.data : "");
    char *own[] = {number, instance, run, replica};
    char **arguments =
        arguments_of(worker->workers->env.options, own, UDPAI_ARRAY_LEN(own) - !which.len);
    uv_stdio_container_t files[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = fd},
    };
    const uv_process_options_t options = {
        .file = PROGRAM,
        .args = arguments,
        .exit_cb = on_exit,
        .stdio = files,
        .stdio_count = UDPAI_ARRAY_LEN(files),
    };
    int failure =
        arguments ? uv_spawn(worker->workers->env.loop, &worker->process, &options) : UV_ENOMEM;
    udpai_free(arguments);
    return failure;
}

static udpa_err
start(member *worker, udpa_error **ret_error)
{
    int pair[2];
    const udpai_worker_link_env link = {on_frame, on_ended, worker, MAX_REPORT_BYTES};
    uv_loop_t *loop = worker->workers->env.loop;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a pair of sockets for a worker");
    udpa_err err = udpai_worker_link_open(&worker->link, loop, pair[0], &link, ret_error);
    worker->process.data = worker;
    int failure = err == UDPA_OK ? spawn(worker, pair[1]) : 0;
    close(pair[1]);
    if (err != UDPA_OK)
        return err;
    worker->workers->n_open++;
    worker->is_running = failure == 0;
    if (failure == 0)
        return UDPA_OK;
    uv_close((uv_handle_t *)&worker->process, on_process_closed);
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot start a worker: %s", uv_strerror(failure));
}

udpa_err
udpai_workers_open(udpai_workers **ret_workers,
                   const udpai_workers_env *env,
                   udpa_error **ret_error)
{
    size_t n = env->plan->settings.n_workers;
    udpai_workers *workers = udpai_alloc(sizeof(*workers));
    if (workers)
        workers->members = udpai_alloc_array(n, sizeof(*workers->members));
    if (!workers || !workers->members) {
        udpai_free(workers);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    workers->env = *env;
    workers->n = n;
    uv_timer_init(env->loop, &workers->patience); /* cannot fail */
    workers->patience.data = workers;
    *ret_workers = workers;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n; i++) {
        workers->members[i].workers = workers;
        workers->members[i].number = i + 1;
        udpai_transfer_init(&workers->members[i].transfer);
    }
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = start(&workers->members[i], ret_error);
    return err;
}
