/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/readiness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "endpoint/host.h"
#include "endpoint/stream_counts.h"
#include "federation/freeze.h"
#include "loop/clock.h"
#include "store/settled.h"
#include "store/store.h"
#include "udpa/status/v1/status.pb-c.h"

/* Until it is ready it is looked at so often. */
#define LOOK_MS 50

/* ---- the report ---- */

void
udpai_ready_report_add(udpai_ready_report *report,
                       udpai_ready_check check,
                       udpai_ready_state state,
                       const char *format,
                       ...)
{
    if (report->states[check] != UDPAI_READY)
        report->n_more[check]++;
    if (state <= report->states[check])
        return;
    report->states[check] = state;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->why[check], UDPAI_READY_WHY_MAX, format, arguments);
    va_end(arguments);
}

static const char *
name_of(size_t check)
{
    static const char *const names[UDPAI_READY_CHECKS] = {
        [UDPAI_READY_RUNNING] = "running",           [UDPAI_READY_STORE] = "store",
        [UDPAI_READY_SOCKETS] = "sockets",           [UDPAI_READY_CONFIGURATION] = "configuration",
        [UDPAI_READY_SYNCHRONIZED] = "synchronized", [UDPAI_READY_SOURCES] = "sources",
    };
    return names[check];
}

static const char *
word_of(udpai_ready_state state)
{
    return state == UDPAI_READY ? "ready" : state == UDPAI_DEGRADED ? "degraded" : "not ready";
}

static udpai_ready_state
worst_of(const udpai_ready_report *report)
{
    udpai_ready_state worst = UDPAI_READY;
    for (size_t i = 0; i < UDPAI_READY_CHECKS; i++)
        if (report->states[i] > worst)
            worst = report->states[i];
    return worst;
}

static void
put_check(const udpai_ready_report *report, size_t check, udpai_strbuf *text)
{
    if (report->states[check] == UDPAI_READY) {
        udpai_strbuf_printf(text, "%s: ok\n", name_of(check));
        return;
    }
    udpai_strbuf_printf(text, "%s: %s: %s", name_of(check), word_of(report->states[check]),
                        report->why[check]);
    if (report->n_more[check])
        udpai_strbuf_printf(text, " (and %u more)", report->n_more[check]);
    udpai_strbuf_putc(text, '\n');
}

/* "degraded: configuration, sources" */
static void
put_result(const udpai_ready_report *report, udpai_ready_state result, udpai_strbuf *text)
{
    const char *separator = ": ";
    udpai_strbuf_puts(text, word_of(result));
    for (size_t i = 0; i < UDPAI_READY_CHECKS && result != UDPAI_READY; i++) {
        if (report->states[i] != result)
            continue;
        udpai_strbuf_printf(text, "%s%s", separator, name_of(i));
        separator = ", ";
    }
    udpai_strbuf_putc(text, '\n');
}

unsigned
udpai_ready_report_put(const udpai_ready_report *report, bool is_verbose, udpai_strbuf *text)
{
    udpai_ready_state result = worst_of(report);
    for (size_t i = 0; i < UDPAI_READY_CHECKS && is_verbose; i++)
        put_check(report, i, text);
    put_result(report, result, text);
    return result == UDPAI_NOT_READY ? 503 : 200;
}

static void
put_count(uint64_t n, const char *what, udpai_strbuf *text)
{
    udpai_strbuf_printf(text, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

bool
udpai_ready_report_put_line(const udpai_ready_report *report,
                            uint64_t n_streams,
                            uint64_t n_resources,
                            udpai_strbuf *text)
{
    udpai_ready_state result = worst_of(report);
    bool ends = report->states[UDPAI_READY_RUNNING] != UDPAI_READY;
    size_t check = 0;
    udpai_strbuf_puts(text, ends ? "shutting down" : word_of(result));
    udpai_strbuf_puts(text, ": ");
    put_count(n_streams, "stream", text);
    udpai_strbuf_puts(text, ", ");
    put_count(n_resources, "resource", text);
    while (report->states[check] != result)
        check++;
    if (!ends && result != UDPAI_READY)
        udpai_strbuf_printf(text, "; %s: %s", name_of(check), report->why[check]);
    return result != UDPAI_NOT_READY;
}

/* ---- looking ---- */

static void
add_problems(const udpai_problems *problems,
             udpai_problem_finder finder,
             udpai_ready_check check,
             udpai_ready_report *report)
{
    for (size_t i = 0; i < problems->texts[finder].n; i++)
        udpai_ready_report_add(report, check, UDPAI_DEGRADED, "%s",
                               problems->texts[finder].items[i]);
}

static void
look_at_store(const udpai_readiness *self, udpai_ready_report *report)
{
    const udpa_error *why;
    const udpai_replica_status *status =
        udpai_node_replica_status(udpai_endpoint_node(self->endpoint));
    if (!udpai_endpoint_is_ready(self->endpoint, &why))
        udpai_ready_report_add(report, UDPAI_READY_STORE, UDPAI_NOT_READY, "%s",
                               udpa_error_message(why));
    if (status && status->state != UDPAI_REPLICATION_CURRENT)
        udpai_ready_report_add(report, UDPAI_READY_STORE, UDPAI_DEGRADED,
                               "not current with etcd, so publications are rejected: %s",
                               status->why ? udpa_error_message(status->why) : "it is read again");
    add_problems(self->problems, UDPAI_FOUND_IN_STORE, UDPAI_READY_STORE, report);
}

static const udpai_settled *
settled_of(const udpai_readiness *self)
{
    return udpai_node_settled(udpai_endpoint_node(self->endpoint));
}

/* Once it is so it stays so: a source that is lost later must not take a node that serves from its
 * load balancer. */
bool
udpai_readiness_has_synchronized(udpai_readiness *self)
{
    const udpai_settled *settled = settled_of(self);
    bool is_over = udpai_monotonic_ms() >= self->begin_ms + self->sync_timeout_ms;
    self->has_synchronized |= is_over || (settled && !udpai_settled_first_missing(settled));
    return self->has_synchronized;
}

static void
look_at_sync(udpai_readiness *self, udpai_ready_report *report)
{
    if (udpai_readiness_has_synchronized(self))
        return;
    const udpai_settled *settled = settled_of(self);
    const udpai_unsettled *missing = settled ? udpai_settled_first_missing(settled) : NULL;
    if (missing)
        udpai_ready_report_add(report, UDPAI_READY_SYNCHRONIZED, UDPAI_NOT_READY,
                               "waiting for source %.*s, which is %.*s, for at most %" PRIu64 " ms",
                               UDPAI_SHOWN(missing->source), UDPAI_SHOWN(missing->why),
                               self->sync_timeout_ms);
    else
        udpai_ready_report_add(report, UDPAI_READY_SYNCHRONIZED, UDPAI_NOT_READY,
                               "nothing is known of the sources yet");
}

/* One that has an error is not there; a standby that is not dialled has none. */
static void
look_at_source(void *userdata, udpai_str name, udpa_bytes *bytes)
{
    udpai_ready_report *report = userdata;
    udpai_str view = udpai_bytes_view(bytes);
    (void)name;
    Udpa__Status__V1__SourceStatus *status =
        udpa__status__v1__source_status__unpack(NULL, view.len, (const uint8_t *)view.data);
    if (!status)
        return;
    bool is_away = status->state == UDPA__STATUS__V1__SOURCE_STATUS__STATE__WAITING ||
                   status->state == UDPA__STATUS__V1__SOURCE_STATUS__STATE__CONNECTING;
    if (is_away && *status->last_error)
        udpai_ready_report_add(report, UDPAI_READY_SOURCES, UDPAI_DEGRADED, "source %s: %s",
                               status->name, status->last_error);
    udpa__status__v1__source_status__free_unpacked(status, NULL);
}

/* It is meant, and clients are served; but it must not be forgotten. */
static void
look_at_freeze(void *userdata, const udpai_freeze *freeze)
{
    udpai_str prefix = freeze->prefix.len ? freeze->prefix : UDPAI_STR("everything");
    udpai_ready_report_add(userdata, UDPAI_READY_CONFIGURATION, UDPAI_DEGRADED,
                           "%.*s is frozen: %.*s", UDPAI_SHOWN(prefix),
                           UDPAI_SHOWN(freeze->reason));
}

void
udpai_readiness_look(udpai_readiness *self, udpai_ready_report *ret_report)
{
    *ret_report = (udpai_ready_report){0};
    if (self->is_ending)
        udpai_ready_report_add(ret_report, UDPAI_READY_RUNNING, UDPAI_NOT_READY,
                               "the node is shutting down");
    if (!self->listens)
        udpai_ready_report_add(ret_report, UDPAI_READY_SOCKETS, UDPAI_NOT_READY,
                               "not all of them listen yet");
    look_at_store(self, ret_report);
    add_problems(self->problems, UDPAI_FOUND_IN_BOOTSTRAP, UDPAI_READY_CONFIGURATION, ret_report);
    add_problems(self->problems, UDPAI_FOUND_IN_CERTIFICATES, UDPAI_READY_CONFIGURATION,
                 ret_report);
    add_problems(self->problems, UDPAI_FOUND_IN_DIRECTORIES, UDPAI_READY_CONFIGURATION, ret_report);
    udpai_node_visit_freezes(udpai_endpoint_node(self->endpoint), look_at_freeze, ret_report);
    look_at_sync(self, ret_report);
    if (udpai_node_visit_sources(udpai_endpoint_node(self->endpoint), look_at_source, ret_report) !=
        UDPA_OK)
        udpai_ready_report_add(ret_report, UDPAI_READY_SOURCES, UDPAI_DEGRADED,
                               "they are not known: %s", udpa_err_text(UDPA_ERR_NOMEM));
}

static bool
count_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)type_url;
    *(uint64_t *)userdata += n_effective;
    return true;
}

bool
udpai_readiness_put_line(udpai_readiness *self, udpai_strbuf *text)
{
    udpai_ready_report report;
    uint64_t n_resources = 0;
    udpai_readiness_look(self, &report);
    udpai_store_visit_types(udpai_node_store(udpai_endpoint_node(self->endpoint)), count_type,
                            &n_resources);
    return udpai_ready_report_put_line(
        &report, udpai_endpoint_stream_counts(self->endpoint).n_served, n_resources, text);
}

/* ---- for grpc.health.v1 ---- */

static void
end_timer(udpai_readiness *self)
{
    if (self->has_timer)
        uv_close((uv_handle_t *)&self->timer, NULL);
    self->has_timer = false;
}

static void
answer_checks(udpai_readiness *self)
{
    if (!self->listens || !udpai_readiness_has_synchronized(self))
        return;
    end_timer(self);
    udpai_endpoint_hold_back(self->endpoint, false);
}

static void
on_look(uv_timer_t *timer)
{
    answer_checks(timer->data);
}

void
udpai_readiness_begin(udpai_readiness *self,
                      uv_loop_t *loop,
                      udpa_endpoint *endpoint,
                      const udpai_problems *problems,
                      const udpai_ready_wait *wait)
{
    self->endpoint = endpoint;
    self->problems = problems;
    self->begin_ms = udpai_monotonic_ms();
    self->sync_timeout_ms = wait->sync_timeout_ms;
    self->has_synchronized = !wait->has_sources;
    uv_timer_init(loop, &self->timer); /* neither can fail */
    self->timer.data = self;
    uv_timer_start(&self->timer, on_look, LOOK_MS, LOOK_MS);
    self->has_timer = true;
    if (wait->has_sources)
        udpai_endpoint_hold_back(endpoint, true);
}

void
udpai_readiness_listens(udpai_readiness *self, bool goes_on)
{
    self->listens = true;
    self->has_synchronized |= goes_on;
    if (goes_on)
        answer_checks(self);
}

void
udpai_readiness_end(udpai_readiness *self)
{
    self->is_ending = true;
    end_timer(self);
    if (self->endpoint)
        udpai_endpoint_hold_back(self->endpoint, true);
}
