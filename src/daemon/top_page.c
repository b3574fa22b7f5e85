/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/top_page.h"

#include "base/alloc.h"
#include "cli/top.h"
#include "model/types.h"

#define MOMENTS 6      /* that are kept: rates are of at most five seconds and a little more */
#define PERIOD_MS 1010 /* a little longer than a page of metrics stays the same */
#define WHILE_MS 10000 /* so long after the last request moments are kept */
#define CLIENTS_AGE_MS 1000
#define USAGE "usage: /top[?limit=NUMBER]: so many clients, at most 100"

struct udpai_top_page {
    udpai_page_questions *questions;
    const char *node;
    udpai_top_page_fn read_metrics;
    void *userdata;
    udpai_timer timer;
    uint64_t asked_ms;
    udpa_bytes *text;                      /* of metrics, the newest; NULL: none */
    udpai_cli_page page;                   /* views of it */
    udpai_cli_top_counts moments[MOMENTS]; /* the newest first */
    size_t n_moments;
    udpai_cli_top_clients clients;
    uint64_t clients_ms; /* when they were read */
};

typedef struct question {
    udpai_page_question base;
    udpai_top_page *page;
} question;

static question *
question_of(udpai_page_question *base)
{
    return UDPAI_CONTAINER_OF(base, question, base);
}

/* ---- moments ---- */

static void
forget_text(udpai_top_page *self)
{
    udpai_cli_page_done(&self->page);
    self->page = (udpai_cli_page){0};
    udpa_bytes_unref(UDPAI_TAKE(self->text));
}

static void
keep(udpai_top_page *self, const udpai_cli_top_counts *counts)
{
    if (self->n_moments && udpai_cli_top_seconds(counts, &self->moments[0]) == 0)
        self->n_moments = 0; /* the clock was set back */
    if (self->n_moments < MOMENTS)
        self->n_moments++;
    memmove(&self->moments[1], &self->moments[0], (self->n_moments - 1) * sizeof(*counts));
    self->moments[0] = *counts;
}

/* Takes the page of metrics, unless it is the one that there is. */
static udpa_err
look(udpai_top_page *self)
{
    udpa_bytes *text = NULL;
    udpai_cli_page page;
    udpa_err err = self->read_metrics(self->userdata, &text);
    if (err != UDPA_OK)
        return err;
    if (text == self->text) {
        udpa_bytes_unref(text);
        return UDPA_OK;
    }
    err = udpai_cli_page_read(&page, udpai_bytes_view(text), NULL);
    if (err != UDPA_OK) {
        udpa_bytes_unref(text);
        return err;
    }
    const udpai_cli_top_counts counts = udpai_cli_top_counts_of(&page);
    forget_text(self);
    self->text = text;
    self->page = page;
    keep(self, &counts);
    return UDPA_OK;
}

static void
on_timer(udpai_timer *timer)
{
    udpai_top_page *self = UDPAI_CONTAINER_OF(timer, udpai_top_page, timer);
    udpai_wheel *wheel = udpai_endpoint_wheel(self->questions->endpoint);
    if (wheel->now_ms - self->asked_ms > WHILE_MS) {
        self->n_moments = 0;
        forget_text(self);
        return;
    }
    (void)look(self);
    udpai_timer_set(wheel, timer, wheel->now_ms + PERIOD_MS);
}

/* ---- clients ---- */

static bool
are_clients_new(const udpai_top_page *self, uint64_t now_ms)
{
    uint64_t age_ms = self->clients.n_clients > UDPAI_CLI_TOP_MANY_STREAMS
                          ? UDPAI_CLI_TOP_CLIENTS_AGE_MS
                          : CLIENTS_AGE_MS;
    return self->clients.is_known && now_ms - self->clients_ms < age_ms;
}

static void
take_clients(udpai_top_page *self, udpai_gathering *part)
{
    udpai_gathering_sort(part);
    udpai_cli_top_clients_done(&self->clients);
    for (size_t i = 0; i < part->all.n; i++)
        udpai_cli_top_clients_add(&self->clients, part->all.items[i].resource);
    self->clients.is_known = part->is_complete;
    self->clients_ms = udpai_endpoint_wheel(self->questions->endpoint)->now_ms;
}

/* ---- answering ---- */

static bool
is_all(udpai_page_question *base)
{
    udpai_top_page *self = question_of(base)->page;
    base->has_failed |= look(self) != UDPA_OK;
    return self->n_moments > 1 && udpai_page_question_has(base, base->n_parts);
}

static void
put(udpai_page_question *base, udpai_strbuf *text)
{
    udpai_top_page *self = question_of(base)->page;
    if (base->n_parts)
        take_clients(self, &base->parts[0]);
    base->has_failed |= look(self) != UDPA_OK;
    const udpai_cli_top top = {
        .page = &self->page,
        .now = &self->moments[0],
        .before = &self->moments[self->n_moments ? self->n_moments - 1 : 0],
        .clients = &self->clients,
        .node = self->node,
        .max_clients = base->limit,
        .is_complete = base->is_complete,
    };
    udpai_cli_top_put_json(&top, text);
}

udpa_err
udpai_top_page_read(udpai_top_page *self, udpai_http_reading *reading, udpa_error **ret_error)
{
    static const udpai_page_kind kind = {
        .size = sizeof(question),
        .limit = UDPAI_CLI_TOP_CLIENTS,
        .limit_max = UDPAI_CLI_TOP_CLIENTS_MAX,
        .usage = USAGE,
        .put = put,
        .is_all = is_all,
    };
    udpai_wheel *wheel = udpai_endpoint_wheel(self->questions->endpoint);
    udpai_page_question *base;
    udpa_err err = udpai_page_question_begin(&base, self->questions, &kind, reading, ret_error);
    if (err != UDPA_OK)
        return err;
    question_of(base)->page = self;
    udpai_endpoint_advance(self->questions->endpoint);
    self->asked_ms = wheel->now_ms;
    err = udpai_fail_code(ret_error, look(self));
    if (!udpai_timer_is_set(&self->timer))
        udpai_timer_set(wheel, &self->timer, wheel->now_ms + PERIOD_MS);
    if (err == UDPA_OK && !are_clients_new(self, wheel->now_ms))
        err = udpai_page_question_gather_own(base, UDPAI_TYPE_SESSION_STATUS, ret_error);
    return udpai_page_question_wait(base, err);
}

/* ---- beginning and end ---- */

udpai_top_page *
udpai_top_page_new(udpai_page_questions *questions,
                   const char *node,
                   udpai_top_page_fn read_metrics,
                   void *userdata)
{
    udpai_top_page *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->questions = questions;
    self->node = node;
    self->read_metrics = read_metrics;
    self->userdata = userdata;
    udpai_timer_init(&self->timer, on_timer);
    return self;
}

void
udpai_top_page_free(udpai_top_page *self)
{
    if (!self)
        return;
    udpai_timer_cancel(&self->timer);
    forget_text(self);
    udpai_cli_top_clients_done(&self->clients);
    udpai_free(self);
}
