/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/service_manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "daemon/notify_socket.h"
#include "loop/clock.h"

#define LOG "daemon"
#define LOOK_MS 100  /* until the node is ready */
#define BEAT_MS 5000 /* so often something is sent anyhow, or more often: */
#define BEATS_PER_WATCHDOG 3
/* A node that starts or stops may take that long from each beat on. */
#define EXTEND_US 30000000
#define MESSAGE_MAX (UDPAI_SERVICE_STATUS_MAX + 200)

typedef enum service_state {
    STARTING,
    READY,
    STOPPING,
} service_state;

struct udpai_service_manager {
    udpai_service_manager_env env;
    udpai_notify_socket socket;
    uv_timer_t timer;
    uint64_t watchdog_ms; /* 0: nothing is watched */
    uint64_t beat_ms, next_beat_ms;
    service_state state;
    bool is_noted; /* the manager has received the state */
    bool hangs, has_failed;
    bool must_repeat;                          /* with the beat behind READY=1 */
    char status[UDPAI_SERVICE_STATUS_MAX + 1]; /* that it has received */
};

/* ---- messages ---- */

typedef struct message {
    char text[MESSAGE_MAX];
    size_t len;
} message;

static void UDPA_PRINTF(2, 3) put(message *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(to->text + to->len, sizeof(to->text) - to->len, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < sizeof(to->text) - to->len)
        to->len += (size_t)n;
}

/* A queue that is full is emptied soon. */
static bool
send_message(udpai_service_manager *self, const message *what)
{
    int number = udpai_notify_socket_send(&self->socket, what->text, what->len);
    bool fails = number && number != EAGAIN;
    if (fails && !self->has_failed)
        udpai_log(UDPA_LOG_WARNING, LOG,
                  "cannot notify the service manager at %s: %s; it is tried again",
                  getenv("NOTIFY_SOCKET"), strerror(number));
    self->has_failed = fails;
    return number == 0;
}

/* Peers have written some of it: a line end would begin a variable of theirs. */
static void
copy_shown(char *to, udpai_str text)
{
    size_t len = 0;
    while (text.len && len < UDPAI_SERVICE_STATUS_MAX) {
        uint32_t point;
        size_t n = udpai_utf8_decode(text, &point);
        bool is_shown = n && !udpai_utf8_is_hidden(point);
        size_t n_to = is_shown ? n : 1;
        if (len + n_to > UDPAI_SERVICE_STATUS_MAX)
            break;
        memcpy(to + len, is_shown ? text.data : "?", n_to);
        len += n_to;
        n = n ? n : 1;
        text = (udpai_str){text.data + n, text.len - n};
    }
    to[len] = '\0';
}

/* ---- looking ---- */

static void
note_hanging(udpai_service_manager *self, bool hangs, udpai_str what)
{
    if (hangs && !self->hangs && self->watchdog_ms)
        udpai_log(UDPA_LOG_ERROR, LOG,
                  "%.*s: the service manager is not notified any more, and ends the node after "
                  "WatchdogSec, %g s",
                  UDPAI_SHOWN(what), (double)self->watchdog_ms / 1000);
    if (!hangs && self->hangs)
        udpai_log(UDPA_LOG_INFO, LOG, "the node turns again");
    self->hangs = hangs;
}

/* Which thread hangs, the first of several; without memory it has no name. */
static bool
turns(udpai_service_manager *self, uint64_t now_ms, udpai_strbuf *text, udpai_str *ret_hanging)
{
    bool all = udpai_liveness_look(self->env.liveness, now_ms, text);
    udpai_str rest = udpai_strbuf_view(text);
    if (udpai_strbuf_failed(text) || !udpai_str_cut(&rest, '\n', ret_hanging))
        *ret_hanging = UDPAI_STR("a thread does not turn");
    note_hanging(self, !all, *ret_hanging);
    return all;
}

static void
put_state(const udpai_service_manager *self, message *to)
{
    if (self->state == READY)
        put(to, "READY=1\n");
    else if (self->state == STOPPING)
        put(to, "STOPPING=1\n");
}

/* So that a start which waits for a source, and a long drain, need no other unit. */
static void
put_beat(const udpai_service_manager *self, message *to)
{
    if (self->watchdog_ms)
        put(to, "WATCHDOG=1\n");
    if (self->state != READY)
        put(to, "EXTEND_TIMEOUT_USEC=%d\n", EXTEND_US);
}

/* The longer line comes last: what is before it always fits. */
static void
report(udpai_service_manager *self, udpai_str status, bool beats)
{
    char shown[UDPAI_SERVICE_STATUS_MAX + 1];
    message all = {.len = 0};
    copy_shown(shown, status);
    bool is_new = strcmp(shown, self->status) != 0;
    if (!self->is_noted)
        put_state(self, &all);
    if (beats)
        put_beat(self, &all);
    if (is_new)
        put(&all, "STATUS=%s\n", shown);
    if (!all.len || !send_message(self, &all))
        return;
    self->is_noted = true;
    memcpy(self->status, shown, sizeof(shown));
}

/* What comes before the manager knows of this process is not accepted, and is sent once more. */
static void
begin_beat(udpai_service_manager *self, uint64_t now_ms)
{
    self->next_beat_ms = now_ms + self->beat_ms;
    if (!self->must_repeat)
        return;
    self->must_repeat = self->state != READY || !self->is_noted;
    self->is_noted = false;
    self->status[0] = '\0';
}

static void
look(udpai_service_manager *self)
{
    udpai_strbuf text = {0}, of_threads = {0};
    udpai_str status;
    uint64_t now_ms = udpai_monotonic_ms();
    bool is_ready = self->env.look(self->env.userdata, &text);
    bool is_beat = now_ms >= self->next_beat_ms;
    bool all_turn = turns(self, now_ms, &of_threads, &status);
    if (self->state == STARTING && is_ready) {
        self->state = READY;
        self->is_noted = false;
        uv_timer_set_repeat(&self->timer, self->beat_ms);
    }
    if (is_beat)
        begin_beat(self, now_ms);
    if (all_turn)
        status =
            udpai_strbuf_failed(&text) ? udpai_str_from(self->status) : udpai_strbuf_view(&text);
    report(self, status, is_beat && all_turn);
    udpai_strbuf_done(&text);
    udpai_strbuf_done(&of_threads);
}

static void
on_look(uv_timer_t *timer)
{
    look(timer->data);
}

/* ---- what happens ---- */

void
udpai_service_manager_reloading(udpai_service_manager *self)
{
    message text = {.len = 0};
    if (!self || self->state != READY)
        return;
    put(&text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", udpai_monotonic_ns() / 1000);
    (void)send_message(self, &text);
}

void
udpai_service_manager_reloaded(udpai_service_manager *self)
{
    if (!self || self->state != READY)
        return;
    self->is_noted = false;
    look(self);
}

void
udpai_service_manager_stopping(udpai_service_manager *self)
{
    if (!self || self->state == STOPPING)
        return;
    self->state = STOPPING;
    self->is_noted = false;
    self->next_beat_ms = 0;
    look(self);
}

/* ---- its life ---- */

udpai_service_variables
udpai_service_variables_here(void)
{
    return (udpai_service_variables){getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"),
                                     getenv("WATCHDOG_PID")};
}

/* 0: it is none. */
static uint64_t
number_of(const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' ? number : 0;
}

/* 0: this process is not watched. */
static uint64_t
watchdog_ms_of(const udpai_service_variables *variables)
{
    const char *process = variables->watchdog_process;
    uint64_t us = number_of(variables->watchdog_us);
    if (us == 0 || (process && number_of(process) != (uint64_t)getpid()))
        return 0;
    return us < 1000 ? 1 : us / 1000;
}

static uint64_t
beat_ms_of(uint64_t watchdog_ms)
{
    uint64_t ms = watchdog_ms / BEATS_PER_WATCHDOG;
    if (watchdog_ms == 0 || ms > BEAT_MS)
        return BEAT_MS;
    return ms ? ms : 1;
}

udpa_err
udpai_service_manager_open(udpai_service_manager **ret_manager,
                           const udpai_service_manager_env *env,
                           const udpai_service_variables *variables)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_notify_socket socket;
    if (!variables->socket || !*variables->socket)
        return UDPA_OK;
    if (udpai_notify_socket_open(&socket, variables->socket, &error) != UDPA_OK) {
        udpai_log(UDPA_LOG_WARNING, LOG, "%s: the service manager is not notified",
                  udpa_error_message(error));
        return UDPA_OK;
    }
    udpai_service_manager *self = udpai_alloc(sizeof(*self));
    if (!self) {
        udpai_notify_socket_close(&socket);
        return UDPA_ERR_NOMEM;
    }
    self->env = *env;
    self->socket = socket;
    self->watchdog_ms = watchdog_ms_of(variables);
    self->beat_ms = beat_ms_of(self->watchdog_ms);
    self->is_noted = true; /* that it starts */
    self->must_repeat = env->is_successor;
    uint64_t look_ms = self->beat_ms < LOOK_MS ? self->beat_ms : LOOK_MS;
    uv_timer_init(env->loop, &self->timer); /* neither can fail */
    self->timer.data = self;
    uv_timer_start(&self->timer, on_look, 0, look_ms);
    *ret_manager = self;
    return UDPA_OK;
}

static void
on_closed(uv_handle_t *timer)
{
    udpai_free(timer->data);
}

void
udpai_service_manager_close(udpai_service_manager *self, int successor)
{
    message text = {.len = 0};
    if (!self)
        return;
    put(&text, "MAINPID=%d\n", successor);
    if (successor)
        (void)send_message(self, &text);
    else
        udpai_service_manager_stopping(self);
    udpai_notify_socket_close(&self->socket);
    uv_close((uv_handle_t *)&self->timer, on_closed);
}
