/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/explain_page.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "cli/explanation.h"
#include "cli/names.h"
#include "model/name.h"
#include "model/types.h"
#include "session/access_question.h"
#include "session/acknowledgement.h"
#include "session/origins_question.h"

#define USAGE                                                                                      \
    "usage: /explain?type=TYPE&name=NAME[&for=CLIENT], percent-encoded; TYPE is a full name, or "  \
    "one such as cluster, and NAME a full one"

/* The parts, in this order. */
enum {
    ACKNOWLEDGEMENTS,
    ORIGINS,
    NODE,
    SOURCES,
    REPLICAS,
    RESOURCE, /* so that the node asks its sources for it: what they lack is in its status, too */
    SESSIONS, /* of a client … */
    ACCESS    /* … and this once the others are there */
};

typedef struct question {
    udpai_page_question base;
    udpai_cli_explanation about;
    char *type_url;
    bool has_failed; /* the client cannot be asked about */
} question;

static question *
question_of(udpai_page_question *base)
{
    return UDPAI_CONTAINER_OF(base, question, base);
}

static void
done(udpai_page_question *base)
{
    udpai_cli_explanation_done(&question_of(base)->about);
    udpai_free(question_of(base)->type_url);
}

/* ---- asking ---- */

/* Takes the name; NULL: the error is in @p err. */
static udpa_err
ask(question *self, const char *type_url, char *name, udpa_err err, udpa_error **ret_error)
{
    const udpai_selection selection = {.type_url = udpai_str_from(type_url),
                                       .reach = UDPAI_REACH_NOBODY};
    if (!name)
        return err == UDPA_OK ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : err;
    return udpai_page_question_gather(&self->base, &selection, name, ret_error);
}

static udpa_err
ask_origins(question *self, udpa_error **ret_error)
{
    char *name = NULL;
    udpa_err err = udpai_cli_explanation_ask_origins(&self->about, &name, ret_error);
    return ask(self, UDPAI_ORIGINS_TYPE, name, err, ret_error);
}

static udpa_err
ask_acknowledgements(question *self, udpa_error **ret_error)
{
    udpa_err err = udpai_cli_explanation_begin(&self->about, ret_error);
    char *name =
        err == UDPA_OK ? udpai_strdup(self->about.acknowledgements.items.items[0].question) : NULL;
    return ask(self, UDPAI_ACKNOWLEDGEMENT_TYPE, name, err, ret_error);
}

static udpa_err
ask_resource(question *self, udpa_error **ret_error)
{
    const udpai_selection selection = {.type_url = udpai_str_from(self->type_url),
                                       .names = &self->base.texts[UDPAI_PAGE_NAME],
                                       .n_names = 1};
    return udpai_page_question_gather(&self->base, &selection, NULL, ret_error);
}

static udpa_err
ask_access(question *self, udpa_error **ret_error)
{
    char *name = NULL;
    udpa_err err = udpai_cli_explanation_ask_access(&self->about, &name, ret_error);
    return ask(self, UDPAI_ACCESS_TYPE, name, err, ret_error);
}

/* A client that is too long to be asked about is an error at once. */
static udpa_err
check_client(const question *self, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *name = NULL;
    return self->about.client ? udpai_cli_explanation_ask_access(&self->about, &name, ret_error)
                              : UDPA_OK;
}

/* ---- answering ---- */

/* Again each time: parts may have changed. Of the resource itself nothing is shown. */
static void
take(question *self)
{
    udpai_cli_explanation_forget_status(&self->about);
    for (size_t i = 0; i < self->base.n_parts; i++) {
        udpai_gathering *part = &self->base.parts[i];
        udpai_gathering_sort(part);
        for (size_t k = 0; i != RESOURCE && k < part->all.n; k++)
            self->base.has_failed |=
                udpai_cli_explanation_take(&self->about, part->all.items[k].resource) != UDPA_OK;
    }
}

/* The rules know a client by what it is called in its certificate, which its session has. */
static bool
has_access(question *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!self->about.client || self->has_failed)
        return true;
    if (self->base.n_parts > ACCESS)
        return self->base.parts[ACCESS].is_complete;
    self->has_failed = ask_access(self, &error) != UDPA_OK;
    udpai_endpoint_touch(self->base.questions->endpoint);
    return false;
}

/* What a source may have that the node waits for is not known, and so is that. */
static bool
is_all(udpai_page_question *base)
{
    question *self = question_of(base);
    if (!udpai_page_question_has(base, RESOURCE) ||
        (self->about.client && !base->parts[SESSIONS].is_complete))
        return false;
    take(self);
    return has_access(self) && (base->parts[RESOURCE].is_complete || self->about.waits.len);
}

static void
put(udpai_page_question *base, udpai_strbuf *text)
{
    question *self = question_of(base);
    take(self);
    udpai_strbuf_putc(text, '{');
    udpai_cli_put_explanation_json(text, &self->about);
    udpai_strbuf_printf(text, ",\"complete\":%s}\n",
                        base->is_complete && !self->has_failed ? "true" : "false");
}

/* ---- what is asked ---- */

/* Has it no NUL? */
static bool
is_text(udpai_str text)
{
    return !memchr(text.data, '\0', text.len);
}

static udpa_err
read_query(question *self, udpa_error **ret_error)
{
    const udpai_str *texts = self->base.texts;
    udpai_str type = texts[UDPAI_PAGE_TYPE], client = texts[UDPAI_PAGE_FOR];
    if (type.len == 0 || texts[UDPAI_PAGE_NAME].len == 0 || !is_text(type) ||
        (client.len && !is_text(client)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    udpa_err err = udpai_cli_type_url(type.data, &self->type_url, ret_error);
    if (err == UDPA_OK && udpai_type_url_name(udpai_str_from(self->type_url)).len == 0)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    if (err == UDPA_OK)
        err = udpai_name_check(texts[UDPAI_PAGE_NAME], ret_error);
    self->about.type_url = self->type_url;
    self->about.name = texts[UDPAI_PAGE_NAME].data;
    self->about.client = client.len ? client.data : NULL;
    return err;
}

udpa_err
udpai_explain_page_read(udpai_page_questions *questions,
                        udpai_http_reading *reading,
                        udpa_error **ret_error)
{
    static const udpai_page_kind kind = {
        .size = sizeof(question),
        .takes = UDPAI_PAGE_HAS(UDPAI_PAGE_TYPE) | UDPAI_PAGE_HAS(UDPAI_PAGE_NAME) |
                 UDPAI_PAGE_HAS(UDPAI_PAGE_FOR),
        .usage = USAGE,
        .put = put,
        .is_all = is_all,
        .done = done,
    };
    udpai_page_question *base;
    udpa_err err = udpai_page_question_begin(&base, questions, &kind, reading, ret_error);
    if (err != UDPA_OK)
        return err;
    question *self = question_of(base);
    udpai_cli_awaited_list *list = &self->about.acknowledgements;
    snprintf(list->token, sizeof(list->token), "page-%011" PRIx64, ++questions->n_tokens);
    err = read_query(self, ret_error);
    if (err == UDPA_OK)
        err = check_client(self, ret_error);
    if (err == UDPA_OK)
        err = ask_acknowledgements(self, ret_error);
    if (err == UDPA_OK)
        err = ask_origins(self, ret_error);
    if (err == UDPA_OK)
        err = udpai_page_question_gather_own(base, UDPAI_TYPE_NODE_STATUS, ret_error);
    if (err == UDPA_OK)
        err = udpai_page_question_gather_own(base, UDPAI_TYPE_SOURCE_STATUS, ret_error);
    if (err == UDPA_OK)
        err = udpai_page_question_gather_own(base, UDPAI_TYPE_REPLICA_STATUS, ret_error);
    if (err == UDPA_OK)
        err = ask_resource(self, ret_error);
    if (err == UDPA_OK && self->about.client)
        err = udpai_page_question_gather_own(base, UDPAI_TYPE_SESSION_STATUS, ret_error);
    return udpai_page_question_wait(base, err);
}
