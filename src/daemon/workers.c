/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/workers.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "daemon/banner.h"
#include "daemon/liveness.h"
#include "daemon/worker.h"
#include "daemon/worker_counts.h"
#include "daemon/worker_link.h"
#include "daemon/worker_sockets.h"
#include "loop/clock.h"
#include "session/transfer.h"
#include "transport/front/handed_socket.h"

#define LOG "workers"
#define PROGRAM "/proc/self/exe"
/* A worker that was ordered to end, and does not. */
#define END_PATIENCE_MS 10000
#define START_PATIENCE_MS 30000
/* The largest publication is 64 MiB by default; the status of all streams is smaller. */
#define MAX_REPORT_BYTES ((size_t)128 << 20)
/* They send what they have counted twice a second. */
#define SILENT_MS 3000

typedef struct member {
    udpai_workers *workers;
    size_t number;
    uv_process_t process;
    udpai_worker_link *link;
    int handing; /* its sockets: this end of a pair; -1: it has them */
    udpai_transfer transfer;
    bool is_running, listens;
    udpa_bytes *readings; /* what it has counted, as it has sent it last; NULL: nothing */
    uint64_t counted_ms;  /* when that was */
} member;

struct udpai_workers {
    udpai_workers_env env;
    udpa_endpoint *endpoint;       /* set before anything is reported */
    member *members;               /* the first is number 1 */
    size_t n, n_open;              /* n_open: processes that the loop still has */
    udpai_worker_sockets *sockets; /* NULL: they do not listen yet */
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
    udpa_error_unref(workers->failure);
    for (size_t i = 0; i < workers->n; i++)
        udpa_bytes_unref(workers->members[i].readings);
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

static void
end_handing(member *worker)
{
    if (worker->handing >= 0)
        close(worker->handing);
    worker->handing = -1;
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
        end_handing(&workers->members[i]);
    }
    udpai_worker_sockets_close(UDPAI_TAKE(workers->sockets));
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

/* Without memory what it has sent before stays. */
static void
keep_readings(member *worker, udpai_str readings)
{
    udpa_bytes *kept = NULL;
    worker->counted_ms = udpai_monotonic_ms();
    if (udpa_bytes_new(&kept, readings.data, readings.len) != UDPA_OK)
        return;
    udpa_bytes_unref(worker->readings);
    worker->readings = kept;
}

static void
take_counts(member *worker, udpai_str payload)
{
    udpai_stream_counts counts;
    udpai_str readings;
    udpa_err err = udpai_worker_counts_decode(payload, &counts, &readings);
    if (err != UDPA_OK) {
        lose(worker, udpa_err_text(err));
        return;
    }
    udpai_endpoint_take_worker_counts(worker->workers->endpoint, worker->number, &counts);
    keep_readings(worker, readings);
}

bool
udpai_workers_next(const udpai_workers *workers, size_t *at, udpai_worker_facts *ret_facts)
{
    if (!workers || *at >= workers->n)
        return false;
    const member *worker = &workers->members[(*at)++];
    *ret_facts = (udpai_worker_facts){
        .number = worker->number,
        .pid = worker->is_running ? worker->process.pid : 0,
        .readings = worker->readings ? udpai_bytes_view(worker->readings) : (udpai_str){0},
        .is_up = worker->readings && udpai_monotonic_ms() - worker->counted_ms < SILENT_MS,
    };
    return true;
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
    } else if (kind == UDPAI_FRAME_ALIVE) {
        udpai_liveness_note_worker(worker->workers->env.liveness, worker->number,
                                   udpai_str_eq(payload, UDPAI_STR("1")));
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
udpai_workers_reopen_log(udpai_workers *workers)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_REOPEN_LOG, (udpai_str){0});
}

void
udpai_workers_switch(udpai_workers *workers, udpai_str switches)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_SWITCHES, switches);
}

void
udpai_workers_mute(udpai_workers *workers, bool is_muted)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_MUTE, is_muted ? UDPAI_STR("1") : UDPAI_STR("0"));
}

void
udpai_workers_take_bootstrap(udpai_workers *workers, const udpa_bytes *packed)
{
    if (workers)
        send_all(workers, UDPAI_FRAME_BOOTSTRAP, udpai_bytes_view(packed));
}

/* ---- listening ---- */

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
    while (!workers->is_closing && !all_listen(workers) && !workers->failure &&
           workers->has_patience)
        uv_run(workers->env.loop, UV_RUN_ONCE);
    if (workers->is_closing) /* by a signal; it is freed soon */
        return udpai_fail(ret_error, UDPA_ERR_CLOSED, "this node is stopping");
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
    udpai_strbuf addresses = {0};
    workers->endpoint = endpoint;
    udpa_err err = udpai_worker_sockets_open(&workers->sockets, workers->env.plan, ret_ports,
                                             &addresses, ret_error);
    for (size_t i = 0; i < workers->n && err == UDPA_OK; i++) {
        member *worker = &workers->members[i];
        err = udpai_worker_sockets_hand(workers->sockets, i, worker->handing, ret_error);
        end_handing(worker); /* what was handed waits for it */
    }
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

/* What a worker cannot find out: sockets that were passed are the node's. NULL without memory. */
static char *
local_sockets_of(const udpai_plan *plan)
{
    static const char option[] = "--local-sockets=";
    size_t n = plan->sockets.n;
    char *text = udpai_alloc(sizeof(option) + n);
    if (!text)
        return NULL;
    memcpy(text, option, sizeof(option) - 1);
    for (size_t i = 0; i < n; i++)
        text[sizeof(option) - 1 + i] = plan->sockets.items[i].is_local ? '1' : '0';
    return text;
}

static bool
write_all(int fd, udpai_str bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n <= 0)
            return false;
        bytes = (udpai_str){bytes.data + n, bytes.len - (size_t)n};
    }
    return true;
}

/* The bootstrap file as it was checked, for a worker: -1 where there is no memory. */
static int
hand_bootstrap(const udpai_plan *plan)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *packed = udpai_bootstrap_pack(plan->bootstrap.message);
    int fd = packed ? memfd_create("udpa-bootstrap", MFD_CLOEXEC) : -1;
    if (fd >= 0 && write_all(fd, udpai_bytes_view(packed)))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int
spawn(member *worker, int link, int sockets, int bootstrap)
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
    char *local_sockets = local_sockets_of(worker->workers->env.plan);
    char *own[] = {number, instance, run, local_sockets, replica};
    char **arguments = local_sockets ? arguments_of(worker->workers->env.options, own,
                                                    UDPAI_ARRAY_LEN(own) - !which.len)
                                     : NULL;
    uv_stdio_container_t files[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = link},
        {.flags = UV_INHERIT_FD, .data.fd = sockets},
        {.flags = UV_INHERIT_FD, .data.fd = bootstrap},
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
    udpai_free(local_sockets);
    return failure;
}

static udpa_err
start(member *worker, udpa_error **ret_error)
{
    int pair[2], sockets[2];
    const udpai_worker_link_env link = {on_frame, on_ended, worker, MAX_REPORT_BYTES};
    uv_loop_t *loop = worker->workers->env.loop;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a pair of sockets for a worker");
    udpa_err err = udpai_worker_link_open(&worker->link, loop, pair[0], &link, ret_error);
    worker->process.data = worker;
    if (err == UDPA_OK)
        err = udpai_handing_pair(sockets, ret_error);
    if (err != UDPA_OK) {
        close(pair[1]);
        return err;
    }
    int bootstrap = hand_bootstrap(worker->workers->env.plan);
    int failure = bootstrap < 0 ? UV_ENOMEM : spawn(worker, pair[1], sockets[1], bootstrap);
    if (bootstrap >= 0)
        close(bootstrap);
    close(pair[1]);
    close(sockets[1]);
    worker->handing = sockets[0];
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
        workers->members[i].handing = -1;
        udpai_transfer_init(&workers->members[i].transfer);
    }
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = start(&workers->members[i], ret_error);
    return err;
}
