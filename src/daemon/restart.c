/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restart.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/batch_text.h"
#include "daemon/restart_step.h"
#include "daemon/successor.h"
#include "daemon/worker_link.h"
#include "storage/sqlite.h"
#include "transport/front/handed_socket.h"
#include "transport/socket_list.h"

#define LOG "restart"
#define LOOK_MS 10
/* What clients have reported goes to the nodes above in that time. */
#define HAND_ON_MS 500
/* The largest publication is 64 MiB by default. */
#define MAX_BYTES ((size_t)256 << 20)

typedef enum stage {
    STAGE_NONE,
    STAGE_CHECKING,      /* it reads its file */
    STAGE_LEAVING_STORE, /* what was committed is written */
    STAGE_PREPARING,     /* it reads the store */
    STAGE_LEAVING,       /* what has come is handed on to sources */
    STAGE_BEGINNING,     /* it begins to accept */
    STAGE_OVER,          /* it serves */
} stage;

struct udpai_restart {
    udpai_restart_env env;
    stage stage;
    uv_process_t process;
    bool has_process; /* the loop has its handle, */
    bool is_running;  /* and it has not ended */
    int pid;
    udpai_worker_link *link;
    uv_timer_t timer, patience;
    uint64_t timeout_ms;
    char failure[600]; /* of the last one; empty: it has not failed */
    unsigned n_open;   /* handles, once it is closing */
    bool is_closing;
};

/* ---- going back ---- */

static void
set_muted(const udpai_restart *self, bool is_muted)
{
    udpai_socket_list_set_muted(is_muted);
    udpai_workers_mute(self->env.workers, is_muted);
}

static void
take_back_store(const udpai_restart *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (self->env.storage->sqlite)
        udpai_sqlite_set_hold(self->env.storage->sqlite, UDPAI_SQLITE_WRITES);
    if (udpai_daemon_storage_take_output(
            self->env.storage, udpai_effective_plan(self->env.effective), &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG, "the audit is kept in the database alone: %s",
                  udpa_error_message(error));
    udpai_endpoint_pause(self->env.endpoint, false);
}

static void
take_back_peers(const udpai_restart *self)
{
    set_muted(self, false);
    udpai_endpoint_leave_sources(self->env.endpoint, false);
    if (udpai_endpoint_leave_peers(self->env.endpoint, false) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG, "out of memory: publishers are rejected; start anew");
}

static void
end_process(udpai_restart *self)
{
    udpai_worker_link_close(UDPAI_TAKE(self->link));
    if (self->is_running)
        uv_process_kill(&self->process, SIGKILL);
}

static void
give_up(udpai_restart *self, const char *why)
{
    stage was = self->stage;
    if (was == STAGE_NONE || was == STAGE_OVER)
        return;
    snprintf(self->failure, sizeof(self->failure), "%s", why);
    self->stage = STAGE_NONE;
    uv_timer_stop(&self->timer);
    uv_timer_stop(&self->patience);
    end_process(self);
    if (was >= STAGE_LEAVING)
        take_back_peers(self);
    if (was >= STAGE_LEAVING_STORE)
        take_back_store(self);
    self->env.under_way(self->env.userdata, false);
    udpai_log(UDPA_LOG_ERROR, LOG, "process %d does not take over, and this one goes on: %s",
              self->pid, why);
}

static void
on_patience(uv_timer_t *timer)
{
    udpai_restart *self = timer->data;
    char why[80];
    snprintf(why, sizeof(why), "it takes longer than timing.hand_over_timeout, %g s",
             (double)self->timeout_ms / 1000);
    give_up(self, why);
}

/* ---- the steps ---- */

static void
send_step(const udpai_restart *self, udpai_restart_step step)
{
    const char byte = (char)step;
    (void)udpai_worker_link_send(self->link, UDPAI_FRAME_STEP, (udpai_str){&byte, 1});
}

static void
give_store(udpai_restart *self)
{
    self->stage = STAGE_PREPARING;
    udpai_daemon_storage_leave_output(self->env.storage);
    send_step(self, UDPAI_RESTART_TAKE);
}

static void
on_store(uv_timer_t *timer)
{
    udpai_restart *self = timer->data;
    if (!udpai_sqlite_is_away(self->env.storage->sqlite))
        return;
    uv_timer_stop(timer);
    give_store(self);
}

/* A node that keeps nothing has nothing to give. */
static void
leave_store(udpai_restart *self)
{
    self->stage = STAGE_LEAVING_STORE;
    if (!self->env.storage->sqlite) {
        give_store(self);
        return;
    }
    udpai_endpoint_pause(self->env.endpoint, true);
    udpai_sqlite_set_hold(self->env.storage->sqlite, UDPAI_SQLITE_AWAY);
    uv_timer_start(&self->timer, on_store, LOOK_MS, LOOK_MS); /* cannot fail */
}

static void
take_identity(udpai_restart *self, udpai_str identity)
{
    UDPAI_AUTO_FREE char *own = udpai_successor_identity(self->env.plan);
    char why[600];
    if (own && udpai_str_eq(identity, udpai_str_from(own))) {
        leave_store(self);
        return;
    }
    snprintf(why, sizeof(why),
             "it would be another node (%.*s; this one: %s): such a change takes a start",
             (int)udpai_min_size(identity.len, 200), identity.data, own ? own : "out of memory");
    give_up(self, why);
}

static void
on_handed_on(uv_timer_t *timer)
{
    udpai_restart *self = timer->data;
    self->stage = STAGE_BEGINNING;
    udpai_endpoint_leave_sources(self->env.endpoint, true);
    send_step(self, UDPAI_RESTART_GO);
}

/* What clients have reported until now is this process's to pass on; then it is silent, so that
 * nobody receives anything twice. */
static void
leave_peers(udpai_restart *self)
{
    if (udpai_endpoint_leave_peers(self->env.endpoint, true) != UDPA_OK) {
        give_up(self, "out of memory");
        return;
    }
    self->stage = STAGE_LEAVING;
    set_muted(self, true);
    udpai_endpoint_pause(self->env.endpoint, false);
    bool waits = udpai_endpoint_hand_on(self->env.endpoint);
    uv_timer_start(&self->timer, on_handed_on, waits ? HAND_ON_MS : LOOK_MS, 0);
}

static void
end_here(udpai_restart *self)
{
    self->stage = STAGE_OVER;
    uv_timer_stop(&self->patience);
    udpai_socket_list_leave_files();
    if (self->env.storage->sqlite)
        udpai_sqlite_set_hold(self->env.storage->sqlite, UDPAI_SQLITE_GONE);
    udpai_log(UDPA_LOG_INFO, LOG, "process %d serves: this one ends when its clients have moved",
              self->pid);
    self->env.handed_over(self->env.userdata);
}

static void
take_step(udpai_restart *self, udpai_restart_step step, udpai_str text)
{
    char why[600];
    if (step == UDPAI_RESTART_FAILED) {
        snprintf(why, sizeof(why), "%.*s", (int)udpai_min_size(text.len, sizeof(why) - 1),
                 text.data);
        give_up(self, why);
    } else if (step == UDPAI_RESTART_CHECKED && self->stage == STAGE_CHECKING) {
        take_identity(self, text);
    } else if (step == UDPAI_RESTART_READY && self->stage == STAGE_PREPARING) {
        leave_peers(self);
    } else if (step == UDPAI_RESTART_SERVES && self->stage == STAGE_BEGINNING) {
        end_here(self);
    } else {
        give_up(self, "it does not follow the steps of a restart: is it another release?");
    }
}

static udpa_err
follow_one(void *userdata, const udpai_durable_op *op)
{
    return udpai_endpoint_follow(((udpai_restart *)userdata)->env.endpoint, op);
}

/* What clients lack that are still here, they have when they have moved. */
static void
follow_no_more(udpai_restart *self, const char *why)
{
    udpai_worker_link_close(UDPAI_TAKE(self->link));
    udpai_log(UDPA_LOG_WARNING, LOG, "what process %d changes is not followed any more: %s",
              self->pid, why);
}

static void
follow(udpai_restart *self, udpai_str batch)
{
    udpa_err err = udpai_batch_text_read(batch, follow_one, self);
    if (err != UDPA_OK)
        follow_no_more(self, udpa_err_text(err));
}

static void
on_frame(void *userdata, udpai_frame_kind kind, udpai_str payload)
{
    udpai_restart *self = userdata;
    if (self->stage == STAGE_OVER && kind == UDPAI_FRAME_BATCH)
        follow(self, payload);
    if (self->stage == STAGE_NONE || self->stage == STAGE_OVER)
        return;
    if (kind == UDPAI_FRAME_STEP && payload.len)
        take_step(self, (udpai_restart_step)payload.data[0],
                  (udpai_str){payload.data + 1, payload.len - 1});
    else
        give_up(self, "what it sends is no step of a restart");
}

/* If it has closed its end, it ends, which has the reason. */
static void
on_ended(void *userdata, const udpa_error *why)
{
    udpai_restart *self = userdata;
    if (why && self->stage == STAGE_OVER)
        follow_no_more(self, udpa_error_message(why));
    else if (why)
        give_up(self, udpa_error_message(why));
}

/* ---- the other process ---- */

static void
free_if_closed(udpai_restart *self)
{
    if (self->is_closing && --self->n_open == 0)
        udpai_free(self);
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_restart *self = handle->data;
    self->has_process = false;
    free_if_closed(self);
}

static void
on_exit(uv_process_t *process, int64_t status, int signal_number)
{
    udpai_restart *self = process->data;
    char why[80];
    if (signal_number)
        snprintf(why, sizeof(why), "it was ended by signal %d", signal_number);
    else
        snprintf(why, sizeof(why), "it has ended with status %d", (int)status);
    /* It may have a successor in its turn, and nothing left to do. */
    if (self->stage == STAGE_OVER && (status || signal_number))
        udpai_log(UDPA_LOG_ERROR, LOG, "process %d has taken over, and %s", self->pid, why);
    self->is_running = false;
    uv_close((uv_handle_t *)process, on_closed);
    give_up(self, why);
}

static bool
hand_one(void *userdata, const char *label, int file)
{
    return udpai_socket_hand(*(int *)userdata, udpai_str_from(label), file, NULL) == UDPA_OK;
}

/* Those of this process, and one more; but for the one that says which process is watched. */
static char **
variables_with(char *more)
{
    static const char watchdog[] = "WATCHDOG_PID=";
    extern char **environ;
    size_t n = 0, n_kept = 0;
    while (environ[n])
        n++;
    char **all = udpai_alloc_array(n + 2, sizeof(*all));
    for (size_t i = 0; all && i < n; i++)
        if (strncmp(environ[i], watchdog, strlen(watchdog)) != 0)
            all[n_kept++] = environ[i];
    if (all)
        all[n_kept] = more;
    return all;
}

/* As this process was called, so that an upgraded program is found where the former was. */
static int
spawn(udpai_restart *self, int link, int sockets)
{
    char run[80];
    udpai_str life = udpai_node_info_metadata(self->env.plan->settings.info, UDPAI_NODE_KEY_RUN);
    snprintf(run, sizeof(run), UDPAI_SUCCESSOR_VARIABLE "=%.*s", UDPAI_SHOWN(life));
    char **variables = variables_with(run);
    if (!variables)
        return UV_ENOMEM;
    uv_stdio_container_t files[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = link},
        {.flags = UV_INHERIT_FD, .data.fd = sockets},
    };
    const uv_process_options_t options = {
        .file = self->env.options->program,
        .args = (char **)(uintptr_t)self->env.options->arguments,
        .env = variables,
        .exit_cb = on_exit,
        .stdio = files,
        .stdio_count = UDPAI_ARRAY_LEN(files),
    };
    int failure = uv_spawn(self->env.loop, &self->process, &options);
    udpai_free(variables);
    self->process.data = self;
    self->has_process = true;
    self->is_running = failure == 0;
    self->pid = self->process.pid;
    if (failure)
        uv_close((uv_handle_t *)&self->process, on_closed);
    return failure;
}

static udpa_err
start(udpai_restart *self, const int link[2], const int sockets[2], udpa_error **ret_error)
{
    int end = sockets[0];
    const udpai_worker_link_env env = {on_frame, on_ended, self, MAX_BYTES};
    if (!udpai_socket_list_visit(hand_one, &end)) {
        close(link[0]);
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the sockets on which this node listens cannot be handed on: there are "
                          "too many");
    }
    udpa_err err = udpai_worker_link_open(&self->link, self->env.loop, link[0], &env, ret_error);
    if (err != UDPA_OK)
        return err;
    int failure = spawn(self, link[1], sockets[1]);
    return failure == 0 ? UDPA_OK
                        : udpai_fail(ret_error, UDPA_ERR_IO, "cannot start %s: %s",
                                     self->env.options->program, uv_strerror(failure));
}

static udpa_err
start_process(udpai_restart *self, udpa_error **ret_error)
{
    int link[2], sockets[2];
    udpa_err err = udpai_handing_pair(sockets, ret_error);
    if (err != UDPA_OK)
        return err;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0) {
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a pair of sockets");
    } else {
        err = start(self, link, sockets, ret_error);
        close(link[1]);
    }
    close(sockets[0]); /* what was handed waits for it */
    close(sockets[1]);
    if (err != UDPA_OK)
        udpai_worker_link_close(UDPAI_TAKE(self->link));
    return err;
}

/* ---- for its owner ---- */

static udpa_err
check(const udpai_restart *self, udpa_error **ret_error)
{
    const udpai_plan *plan = self->env.plan;
    if (self->stage != STAGE_NONE)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "a restart is under way: process %d takes over", self->pid);
    if (self->has_process)
        return udpai_fail(
            ret_error, UDPA_ERR_PRECONDITION,
            "process %d, of the restart that has failed, has not ended yet: try again", self->pid);
    if (getpid() == 1)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this is the first process of a container, which ends with it: start "
                          "another container, and end this one");
    if (!plan->settings.acceptance)
        return udpai_fail(
            ret_error, UDPA_ERR_PRECONDITION,
            "with 'transport: GRPC_CORE' gRPC's library has the sockets, and does not "
            "hand them on: start the node anew");
    if (plan->settings.node.set_id.len)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node is a replica: its clients go to the others when it drains "
                          "(SIGTERM); start one after the other anew");
    return UDPA_OK;
}

udpa_err
udpai_restart_begin(udpai_restart *self, uint64_t timeout_ms, udpa_error **ret_error)
{
    udpa_err err = check(self, ret_error);
    if (err == UDPA_OK)
        err = start_process(self, ret_error);
    if (err != UDPA_OK)
        return err;
    self->stage = STAGE_CHECKING;
    self->env.under_way(self->env.userdata, true);
    self->failure[0] = '\0';
    self->timeout_ms = timeout_ms;
    uv_timer_start(&self->patience, on_patience, timeout_ms, 0);
    udpai_log(UDPA_LOG_INFO, LOG, "process %d of %s is to take over", self->pid,
              self->env.options->program);
    return UDPA_OK;
}

int
udpai_restart_successor(const udpai_restart *self)
{
    return self->stage != STAGE_NONE ? self->pid : 0;
}

const char *
udpai_restart_failure(const udpai_restart *self)
{
    return self->failure;
}

udpa_err
udpai_restart_open(udpai_restart **ret_restart, const udpai_restart_env *env)
{
    udpai_restart *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->env = *env;
    uv_timer_init(env->loop, &self->timer); /* neither can fail */
    uv_timer_init(env->loop, &self->patience);
    self->timer.data = self->patience.data = self;
    *ret_restart = self;
    return UDPA_OK;
}

static void
on_timer_closed(uv_handle_t *handle)
{
    free_if_closed(handle->data);
}

/* One that has taken over lives on. */
void
udpai_restart_close(udpai_restart *self)
{
    if (!self)
        return;
    give_up(self, "this node ends");
    udpai_worker_link_close(UDPAI_TAKE(self->link));
    self->is_closing = true;
    self->n_open = 2 + self->has_process;
    if (self->has_process && !uv_is_closing((uv_handle_t *)&self->process))
        uv_close((uv_handle_t *)&self->process, on_closed);
    uv_close((uv_handle_t *)&self->timer, on_timer_closed);
    uv_close((uv_handle_t *)&self->patience, on_timer_closed);
}
