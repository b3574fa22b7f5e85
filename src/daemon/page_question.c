/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/page_question.h"

#include "base/alloc.h"
#include "daemon/page_body.h"

#define JSON "application/json"
#define PAUSE_MS 20 /* between looks at what has come, at first */

/* ---- what is asked ---- */

static bool
read_part(udpai_page_question *self, udpai_str part, char **room)
{
    static const udpai_str keys[UDPAI_PAGE_KEYS] = {
        [UDPAI_PAGE_TYPE] = {"type=", 5},
        [UDPAI_PAGE_NAME] = {"name=", 5},
        [UDPAI_PAGE_AFTER] = {"after=", 6},
        [UDPAI_PAGE_FOR] = {"for=", 4},
    };
    const udpai_page_kind *kind = self->kind;
    for (size_t i = 0; i < UDPAI_PAGE_KEYS; i++) {
        if (!(kind->takes & UDPAI_PAGE_HAS(i)) ||
            !udpai_page_form_text(part, keys[i], room, &self->texts[i]))
            continue;
        *(*room)++ = '\0';
        return true;
    }
    return part.len == 0 ||
           (kind->limit_max && udpai_page_form_number(part, UDPAI_STR("limit="), &self->limit));
}

static bool
read_form(udpai_page_question *self, udpai_str form)
{
    char *room = self->room;
    udpai_str part;
    bool has_more, is_good = true;
    do {
        has_more = udpai_page_form_next(&form, &part);
        is_good &= read_part(self, part, &room);
    } while (has_more);
    return is_good &&
           (!self->kind->limit_max || (self->limit >= 1 && self->limit <= self->kind->limit_max));
}

/* ---- the end of a question ---- */

static void
free_question(udpai_page_question *self)
{
    udpai_timer_cancel(&self->timer);
    for (size_t i = 0; i < self->n_parts; i++)
        udpai_gathering_end(&self->parts[i]);
    if (udpai_list_linked(&self->node)) {
        udpai_list_remove(&self->node);
        self->questions->n--;
    }
    if (self->kind->done)
        self->kind->done(self);
    udpai_free(self->room);
    udpai_free(self);
}

static void
fail_question(udpai_page_question *self, const char *why)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%s\n", why);
    udpa_bytes *bytes = udpai_bytes_of(&text);
    udpai_http_page_answer(self->reading, 503, "text/plain; charset=utf-8", bytes);
    udpa_bytes_unref(bytes);
    free_question(self);
}

static void
answer_question(udpai_page_question *self)
{
    udpai_strbuf text = {0};
    self->kind->put(self, &text);
    for (size_t i = 0; i < self->n_parts; i++)
        self->has_failed |= self->parts[i].has_failed;
    udpa_bytes *bytes = self->has_failed ? NULL : udpai_bytes_of(&text);
    if (bytes) {
        udpai_http_page_answer(self->reading, 200, JSON, bytes);
        udpa_bytes_unref(bytes);
        free_question(self);
    } else {
        udpai_strbuf_done(&text);
        fail_question(self, udpa_err_text(UDPA_ERR_NOMEM));
    }
}

/* ---- waiting ---- */

bool
udpai_page_question_has(const udpai_page_question *self, size_t n)
{
    for (size_t i = 0; i < n && i < self->n_parts; i++)
        if (!self->parts[i].is_complete)
            return false;
    return true;
}

static void
on_timer(udpai_timer *timer)
{
    udpai_page_question *self = UDPAI_CONTAINER_OF(timer, udpai_page_question, timer);
    udpai_wheel *wheel = udpai_endpoint_wheel(self->questions->endpoint);
    self->is_complete = self->kind->is_all ? self->kind->is_all(self)
                                           : udpai_page_question_has(self, self->n_parts);
    if (self->is_complete || wheel->now_ms >= self->deadline_ms) {
        answer_question(self);
        return;
    }
    self->pause_ms *= 2;
    udpai_timer_set(wheel, timer, wheel->now_ms + self->pause_ms);
}

/* Subscriptions may not end while the node goes through them. */
static void
on_complete(void *userdata)
{
    udpai_page_question *self = userdata;
    udpai_wheel *wheel = udpai_endpoint_wheel(self->questions->endpoint);
    udpai_timer_set(wheel, &self->timer, wheel->now_ms);
    udpai_endpoint_touch(self->questions->endpoint);
}

udpa_err
udpai_page_question_wait(udpai_page_question *self, udpa_err err)
{
    udpai_page_questions *questions = self->questions;
    udpai_wheel *wheel = udpai_endpoint_wheel(questions->endpoint);
    if (err != UDPA_OK) {
        free_question(self);
        return err;
    }
    udpai_endpoint_advance(questions->endpoint);
    udpai_list_append(&questions->all, &self->node);
    questions->n++;
    self->deadline_ms = wheel->now_ms + UDPAI_PAGE_QUESTION_WAIT_MS;
    udpai_timer_set(wheel, &self->timer, wheel->now_ms + self->pause_ms);
    udpai_endpoint_touch(questions->endpoint);
    return UDPA_OK;
}

/* ---- asking ---- */

udpa_err
udpai_page_question_begin(udpai_page_question **ret,
                          udpai_page_questions *questions,
                          const udpai_page_kind *kind,
                          udpai_http_reading *reading,
                          udpa_error **ret_error)
{
    if (questions->n == UDPAI_PAGE_QUESTIONS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "%d requests for /status, /explain and /top wait for answers already: "
                          "ask again in a second",
                          UDPAI_PAGE_QUESTIONS_MAX);
    udpai_page_question *self = udpai_alloc(kind->size);
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->kind = kind;
    self->questions = questions;
    self->reading = reading;
    self->limit = kind->limit;
    self->pause_ms = PAUSE_MS;
    udpai_timer_init(&self->timer, on_timer);
    udpai_list_init(&self->node);
    self->room = udpai_alloc(reading->query.len + 1);
    udpa_err err = self->room ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK && !read_form(self, reading->query))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", kind->usage);
    if (err == UDPA_OK)
        *ret = self;
    else
        free_question(self);
    return err;
}

udpa_err
udpai_page_question_gather(udpai_page_question *self,
                           const udpai_selection *selection,
                           char *name,
                           udpa_error **ret_error)
{
    udpai_gathering *part = &self->parts[self->n_parts++];
    return udpai_fail_code(ret_error, udpai_gathering_begin(part, self->questions->endpoint,
                                                            selection, name, on_complete, self));
}

udpa_err
udpai_page_question_gather_own(udpai_page_question *self,
                               const char *type_url,
                               udpa_error **ret_error)
{
    const udpai_selection selection = {
        .type_url = udpai_str_from(type_url),
        .prefix = UDPAI_STR(UDPAI_NODE_NAMESPACE),
        .reach = UDPAI_REACH_NOBODY,
    };
    return udpai_page_question_gather(self, &selection, NULL, ret_error);
}

/* ---- beginning and end ---- */

void
udpai_page_questions_begin(udpai_page_questions *questions,
                           udpa_endpoint *endpoint,
                           udpai_schema *schema)
{
    *questions = (udpai_page_questions){.endpoint = endpoint, .schema = udpai_schema_ref(schema)};
    udpai_list_init(&questions->all);
}

void
udpai_page_questions_end(udpai_page_questions *questions)
{
    while (!udpai_list_empty(&questions->all))
        fail_question(UDPAI_LIST_ENTRY(questions->all.next, udpai_page_question, node),
                      "the node is ending");
    udpai_schema_unref(questions->schema);
    questions->schema = NULL;
}
