/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pages.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "codec/json_text.h"
#include "daemon/audit_page.h"
#include "daemon/backup_page.h"
#include "daemon/config_page.h"
#include "daemon/delete_page.h"
#include "daemon/events_page.h"
#include "daemon/explain_page.h"
#include "daemon/freeze_page.h"
#include "daemon/health_pages.h"
#include "daemon/metrics_page.h"
#include "daemon/page_body.h"
#include "daemon/rest.h"
#include "daemon/restart_page.h"
#include "daemon/runtime_pages.h"
#include "daemon/stats_page.h"
#include "daemon/status_page.h"
#include "daemon/store_page.h"
#include "daemon/top_page.h"
#include "endpoint/host.h"
#include "endpoint/spread.h"
#include "federation/accept.h"

#define TYPE_URL "type.googleapis.com/udpa.status.v1.RuntimeStatus"
#define NAME "udpa.node/runtime"
#define NAME_OF_SOURCES "udpa.node/source"
#define NAME_OF_REPLICAS "udpa.node/replica"
#define NAME_OF_EVENTS "udpa.node/events"
#define NAME_OF_FREEZE "udpa.node/freeze"
#define NAME_OF_SECRETS "udpa.node/secrets" /* for copies of everything */
#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"

struct udpai_pages {
    udpa_endpoint *endpoint;
    udpai_daemon_runtime *runtime;
    udpai_replicas *replicas;
    const udpai_plan *plan;
    const udpai_effective *effective;
    udpai_schema *schema;
    udpai_metrics_page *metrics;
    udpai_health_pages health;
    udpai_audit_page audit;
    udpai_page_questions questions;
    udpai_top_page *top;
    udpai_backup_page *backup;
    udpai_rest *const *admin;
    udpai_pages_post_fn reload;
    void *reload_userdata;
    struct udpai_restart *const *restart;
    uint64_t n_unauthenticated;
    udpai_loop_inbox *inbox;
};

/* ---- answering ---- */

/* Consumes the text. */
static void
answer_text(udpai_http_reading *reading, unsigned status, const char *type, udpai_strbuf *text)
{
    udpa_bytes *bytes = udpai_bytes_of(text);
    udpai_http_page_answer(reading, bytes ? status : 503, type, bytes);
    udpa_bytes_unref(bytes);
}

static void
answer_error(udpai_http_reading *reading, udpa_err err, const udpa_error *error)
{
    udpai_strbuf text = {0};
    unsigned status = err == UDPA_ERR_DENIED            ? 403
                      : err == UDPA_ERR_UNAVAILABLE     ? 503
                      : err == UDPA_ERR_NOMEM           ? 503
                      : err == UDPA_ERR_UNAUTHENTICATED ? 401
                                                        : 400;
    udpai_strbuf_printf(&text, "%s\n", udpa_error_message(error));
    if (status == 401)
        udpai_http_page_ask_for_token(reading);
    answer_text(reading, status, TEXT, &text);
}

static udpa_err
check_rules(const udpai_pages *self, const udpai_http_reading *reading, udpa_error **ret_error)
{
    const udpai_acl_subject subject = {.identity = reading->identity};
    udpai_acl_question question = {
        .action = UDPAI_ACL_ADMIN,
        .type_url = UDPAI_STR(TYPE_URL),
        .name = UDPAI_STR(NAME),
    };
    switch (reading->page - udpai_pages_all) {
    case UDPAI_PAGE_ACCEPT:
    case UDPAI_PAGE_DELETE:
        question.type_url = UDPAI_STR(UDPAI_TYPE_SOURCE_STATUS);
        question.name = UDPAI_STR(NAME_OF_SOURCES);
        break;
    case UDPAI_PAGE_REBALANCE:
    case UDPAI_PAGE_STORE:
    case UDPAI_PAGE_STORE_ACCEPT:
    case UDPAI_PAGE_STORE_PUSH:
    case UDPAI_PAGE_STORE_RESEAL:
    case UDPAI_PAGE_STORE_MIGRATE:
        question.type_url = UDPAI_STR(UDPAI_TYPE_REPLICA_STATUS);
        question.name = UDPAI_STR(NAME_OF_REPLICAS);
        break;
    case UDPAI_PAGE_EVENTS:
        question.type_url = UDPAI_STR(UDPAI_TYPE_EVENT);
        question.name = UDPAI_STR(NAME_OF_EVENTS);
        break;
    case UDPAI_PAGE_FREEZES:
    case UDPAI_PAGE_FREEZE:
    case UDPAI_PAGE_THAW:
        question.type_url = UDPAI_STR(UDPAI_TYPE_FREEZE);
        question.name = UDPAI_STR(NAME_OF_FREEZE);
        break;
    case UDPAI_PAGE_BACKUP:
    case UDPAI_PAGE_BACKUP_PART:
        question.type_url = UDPAI_STR(UDPAI_TYPE_SECRET);
        question.name = UDPAI_STR(NAME_OF_SECRETS);
        break;
    default:
        break;
    }
    return udpai_node_check_access(udpai_endpoint_node(self->endpoint), &subject, &question,
                                   ret_error);
}

static bool
is_open(const udpai_pages *self, const udpai_http_reading *reading)
{
    size_t page = (size_t)(reading->page - udpai_pages_all);
    return (page == UDPAI_PAGE_METRICS && self->plan->has_open_metrics) ||
           (page == UDPAI_PAGE_READYZ && self->plan->has_open_health);
}

static udpa_err
check_access(udpai_pages *self, const udpai_http_reading *reading, udpa_error **ret_error)
{
    if (is_open(self, reading) || reading->access == UDPAI_PAGE_BY_TOKEN)
        return UDPA_OK;
    if (reading->access == UDPAI_PAGE_BY_RULES)
        return check_rules(self, reading, ret_error);
    self->n_unauthenticated++;
    return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                      reading->access == UDPAI_PAGE_NO_TOKEN
                          ? "this takes the token of admin.token_file: send 'Authorization: Bearer "
                            "TOKEN'; or a client certificate"
                          : "what was sent as Authorization is not 'Bearer TOKEN' with the token "
                            "that the file of admin.token_file has now");
}

/* What is changed by the path and by the body alike. */
static udpa_err
modify(const udpai_pages *self, const udpai_http_reading *reading, udpa_error **ret_error)
{
    udpai_strbuf form;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    if (err == UDPA_OK)
        err =
            udpai_runtime_modify_page(&self->runtime->runtime, udpai_strbuf_view(&form), ret_error);
    udpai_strbuf_done(&form);
    return err;
}

/* "NAME", "NAME&as_source", "name=NAME&as_source=true"; percent-encoded. */
static udpai_str
find_name(udpai_str form, bool *ret_as_source)
{
    udpai_str part, name = {0};
    bool has_more;
    do {
        has_more = udpai_page_form_next(&form, &part);
        if (udpai_str_eq(part, UDPAI_STR("as_source")) ||
            udpai_str_eq(part, UDPAI_STR("as_source=true")))
            *ret_as_source = true;
        else if (udpai_str_starts(part, UDPAI_STR("name=")))
            name = (udpai_str){part.data + 5, part.len - 5};
        else if (!udpai_str_starts(part, UDPAI_STR("as_source=")))
            name = part;
    } while (has_more);
    return name;
}

static udpa_err
decode_name(udpai_str encoded, char *room, udpai_str *ret_name, udpa_error **ret_error)
{
    if (encoded.len && udpai_percent_decode(encoded, &room, ret_name))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "usage: /sources_accept?NAME, percent-encoded, or {\"name\": NAME} as the body: accepts "
        "the removal of what the source of this name, or the directory of this path, does not name "
        "any more; /sources_accept?NAME&as_source, or {\"name\": NAME, \"as_source\": true}: of "
        "what this node, of that id, does not have");
}

/* Of a source, or of a directory. */
static udpa_err
accept_named(const udpai_pages *self,
             udpai_str name,
             bool as_source,
             udpai_strbuf *text,
             udpa_error **ret_error)
{
    udpai_node *node = udpai_endpoint_node(self->endpoint);
    size_t n = 0;
    if (as_source) {
        udpa_err err = udpai_node_accept_as_source(node, name, ret_error);
        udpai_endpoint_touch(self->endpoint);
        return err;
    }
    if (!udpai_node_accept_absences(node, name, &n))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "there is no source '%.*s' here, nor such a directory of the node's own: "
                          "udpactl status sources shows which there are",
                          UDPAI_SHOWN(name));
    udpai_endpoint_touch(self->endpoint);
    udpai_strbuf_printf(text, "%zu\n", n);
    return UDPA_OK;
}

static udpa_err
accept_absences(const udpai_pages *self,
                const udpai_http_reading *reading,
                udpai_strbuf *text,
                udpa_error **ret_error)
{
    udpai_strbuf form;
    bool as_source = false;
    udpai_str name;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    udpai_str encoded = find_name(udpai_strbuf_view(&form), &as_source);
    UDPAI_AUTO_FREE char *room = udpai_alloc(encoded.len + 1);
    if (err == UDPA_OK && !room)
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = decode_name(encoded, room, &name, ret_error);
    udpai_strbuf_done(&form);
    return err == UDPA_OK ? accept_named(self, name, as_source, text, ret_error) : err;
}

static udpa_err
delete_origin(const udpai_pages *self,
              const udpai_http_reading *reading,
              udpai_strbuf *text,
              udpa_error **ret_error)
{
    const udpai_acl_subject subject = {.identity = reading->identity};
    udpai_strbuf form;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    bool may_all = reading->access == UDPAI_PAGE_BY_TOKEN;
    if (err == UDPA_OK)
        err = udpai_delete_page(udpai_endpoint_node(self->endpoint), udpai_strbuf_view(&form),
                                may_all ? NULL : &subject, text, ret_error);
    udpai_strbuf_done(&form);
    udpai_endpoint_touch(self->endpoint);
    return err;
}

/* One that does something. */
static udpa_err
change_store(const udpai_pages *self,
             const udpai_http_reading *reading,
             udpai_strbuf *text,
             udpa_error **ret_error)
{
    size_t page = (size_t)(reading->page - udpai_pages_all);
    udpai_strbuf form;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    udpai_str asked = udpai_strbuf_view(&form);
    if (err == UDPA_OK && page == UDPAI_PAGE_STORE_RESEAL)
        err = udpai_store_reseal_page(self->replicas, asked, text, ret_error);
    else if (err == UDPA_OK && page == UDPAI_PAGE_STORE_MIGRATE)
        err = udpai_store_migrate_page(self->plan, text, ret_error);
    else if (err == UDPA_OK)
        err = udpai_store_answer_page(
            self->endpoint, page == UDPAI_PAGE_STORE_PUSH ? UDPAI_HOLD_PUSH : UDPAI_HOLD_ACCEPT,
            asked, text, ret_error);
    udpai_strbuf_done(&form);
    return err;
}

/* "", "over_ms=NUMBER" */
static udpa_err
read_over(udpai_str form, uint64_t *ret_over_ms, udpa_error **ret_error)
{
    static const udpai_str key = {"over_ms=", 8};
    const udpai_str number = {form.data + key.len, form.len - key.len};
    *ret_over_ms = UDPAI_SPREAD_OVER_MS;
    if (form.len == 0)
        return UDPA_OK;
    if (udpai_str_starts(form, key) && udpai_str_number(number, ret_over_ms) && *ret_over_ms > 0 &&
        *ret_over_ms <= UDPAI_SPREAD_OVER_MAX_MS)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "usage: /replicas_rebalance[?over_ms=NUMBER], or {\"over_ms\": NUMBER} as the "
        "body: replicas with more streams than their share end some, in this time, "
        "at most %d",
        UDPAI_SPREAD_OVER_MAX_MS);
}

static udpa_err
rebalance(const udpai_pages *self,
          const udpai_http_reading *reading,
          udpai_strbuf *text,
          udpa_error **ret_error)
{
    udpai_strbuf form;
    uint64_t over_ms = 0;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    if (err == UDPA_OK)
        err = read_over(udpai_strbuf_view(&form), &over_ms, ret_error);
    if (err == UDPA_OK)
        err = udpai_spread_service_rebalance(
            udpai_endpoint_service(self->endpoint, UDPAI_PLACE_SPREAD), over_ms, text, ret_error);
    udpai_strbuf_done(&form);
    return err;
}

static udpa_err
freeze_or_thaw(const udpai_pages *self, const udpai_http_reading *reading, udpa_error **ret_error)
{
    udpai_node *node = udpai_endpoint_node(self->endpoint);
    udpai_strbuf form;
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    udpai_str asked = udpai_strbuf_view(&form);
    udpai_str by = udpai_audit_page_actor(reading, reading->access == UDPAI_PAGE_BY_TOKEN);
    if (err == UDPA_OK)
        err = reading->page == &udpai_pages_all[UDPAI_PAGE_FREEZE]
                  ? udpai_freeze_page(node, asked, by, ret_error)
                  : udpai_thaw_page(node, asked, ret_error);
    udpai_strbuf_done(&form);
    udpai_endpoint_touch(self->endpoint);
    return err;
}

/* For load balancers: without rules, as health checks are. */
static void
answer_ready(const udpai_pages *self, udpai_http_reading *reading)
{
    const udpa_error *why;
    udpai_strbuf text = {0};
    bool is_ready = udpai_endpoint_is_ready(self->endpoint, &why);
    udpai_strbuf_printf(&text, "%s%s\n", is_ready ? "ready" : "not ready: ",
                        is_ready ? "" : udpa_error_message(why));
    answer_text(reading, is_ready ? 200 : 503, TEXT, &text);
}

static udpa_err
answer_metrics(const udpai_pages *self, udpai_http_reading *reading, udpa_error **ret_error)
{
    const char *type;
    udpa_bytes *text = NULL;
    udpa_err err = udpai_metrics_page_read(self->metrics, reading->accept, &type, &text);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_http_page_answer(reading, 200, type, text);
    udpa_bytes_unref(text);
    return UDPA_OK;
}

static void
put_index(udpai_strbuf *text)
{
    for (size_t i = 0; i < UDPAI_PAGES; i++)
        udpai_strbuf_printf(text, "%-4s %-20s %s\n", udpai_pages_all[i].is_post ? "POST" : "GET",
                            udpai_pages_all[i].path, udpai_page_summaries[i]);
}

/* What needs no rule. False: it is not such a page. */
static bool
answer_to_all(const udpai_pages *self, udpai_http_reading *reading)
{
    size_t page = (size_t)(reading->page - udpai_pages_all);
    if (page == UDPAI_PAGE_READY)
        answer_ready(self, reading);
    else if (page == UDPAI_PAGE_READYZ && !udpai_readyz_is_verbose(reading))
        udpai_readyz_page(&self->health, reading);
    else
        return false;
    return true;
}

/* Is it more than a text that is made at once? */
static bool
is_no_text(const udpai_http_reading *reading)
{
    size_t page = (size_t)(reading->page - udpai_pages_all);
    return page == UDPAI_PAGE_METRICS || page == UDPAI_PAGE_EVENTS || page == UDPAI_PAGE_READYZ ||
           page == UDPAI_PAGE_STATUS || page == UDPAI_PAGE_EXPLAIN || page == UDPAI_PAGE_TOP;
}

static udpa_err
answer_otherwise(udpai_pages *self, udpai_http_reading *reading, udpa_error **ret_error)
{
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_METRICS])
        return answer_metrics(self, reading, ret_error);
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_EVENTS])
        return udpai_events_page(self->plan, self->schema, reading, ret_error);
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_STATUS])
        return udpai_status_page_read(&self->questions, reading, ret_error);
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_EXPLAIN])
        return udpai_explain_page_read(&self->questions, reading, ret_error);
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_TOP])
        return udpai_top_page_read(self->top, reading, ret_error);
    udpai_readyz_page(&self->health, reading);
    return UDPA_OK;
}

/* One that does something. */
static udpa_err
do_it(const udpai_pages *self,
      const udpai_http_reading *reading,
      udpai_strbuf *text,
      udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    switch (reading->page - udpai_pages_all) {
    case UDPAI_PAGE_ACCEPT:
        return accept_absences(self, reading, text, ret_error);
    case UDPAI_PAGE_DELETE:
        return delete_origin(self, reading, text, ret_error);
    case UDPAI_PAGE_REBALANCE:
        return rebalance(self, reading, text, ret_error);
    case UDPAI_PAGE_STORE_ACCEPT:
    case UDPAI_PAGE_STORE_PUSH:
    case UDPAI_PAGE_STORE_RESEAL:
    case UDPAI_PAGE_STORE_MIGRATE:
        return change_store(self, reading, text, ret_error);
    case UDPAI_PAGE_BACKUP:
        return udpai_backup_page_ask(self->backup, reading->query, reading->body, text, ret_error);
    case UDPAI_PAGE_RELOAD:
        return self->reload(self->reload_userdata, reading, text, ret_error);
    case UDPAI_PAGE_RESTART:
        return udpai_restart_page(*self->restart, self->effective, text, ret_error);
    case UDPAI_PAGE_MODIFY:
        err = modify(self, reading, ret_error);
        break;
    default:
        err = freeze_or_thaw(self, reading, ret_error);
        break;
    }
    udpai_strbuf_puts(text, "OK\n");
    return err;
}

/* One that only shows something. */
static udpa_err
show(udpai_pages *self,
     const udpai_http_reading *reading,
     const char **type,
     udpai_strbuf *text,
     udpa_error **ret_error)
{
    const udpai_stats_facts facts = {self->endpoint, &self->runtime->runtime,
                                     udpai_rest_counts(*self->admin), self->n_unauthenticated};
    size_t page = (size_t)(reading->page - udpai_pages_all);
    bool is_json = page == UDPAI_PAGE_RUNTIME || page == UDPAI_PAGE_FREEZES ||
                   page == UDPAI_PAGE_AUDIT || page == UDPAI_PAGE_PROCESS;
    *type = is_json ? JSON : page == UDPAI_PAGE_BACKUP_PART ? UDPAI_BACKUP_TYPE : TEXT;
    switch (page) {
    case UDPAI_PAGE_INDEX:
        put_index(text);
        return UDPA_OK;
    case UDPAI_PAGE_RUNTIME:
        udpai_runtime_page(&self->runtime->runtime, self->plan, text);
        return UDPA_OK;
    case UDPAI_PAGE_STORE:
        return udpai_store_page(self->endpoint, text, ret_error);
    case UDPAI_PAGE_FREEZES:
        return udpai_freezes_page(udpai_endpoint_node(self->endpoint), reading->query, text,
                                  ret_error);
    case UDPAI_PAGE_AUDIT:
        return udpai_audit_page_read(&self->audit, reading->query, text, ret_error);
    case UDPAI_PAGE_CONFIG:
        return udpai_config_page_read(self->effective, self->schema, reading, type, text,
                                      ret_error);
    case UDPAI_PAGE_PROCESS:
        udpai_process_page(*self->restart, text);
        return UDPA_OK;
    case UDPAI_PAGE_BACKUP_PART:
        return udpai_backup_page_read(self->backup, reading->query, text, ret_error);
    default:
        (page == UDPAI_PAGE_STATS ? udpai_stats_page : udpai_stats_prometheus_page)(&facts, text);
        return UDPA_OK;
    }
}

static udpa_err
answer(udpai_pages *self, udpai_http_reading *reading, udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    const char *type = TEXT;
    if (answer_to_all(self, reading))
        return UDPA_OK;
    udpa_err err = check_access(self, reading, ret_error);
    if (err || is_no_text(reading))
        return err ? err : answer_otherwise(self, reading, ret_error);
    err = reading->page->is_post ? do_it(self, reading, &text, ret_error)
                                 : show(self, reading, &type, &text, ret_error);
    if (!err && reading->page->is_post)
        udpai_audit_page_note(self->endpoint, reading, reading->access == UDPAI_PAGE_BY_TOKEN);
    if (err)
        udpai_strbuf_done(&text);
    else
        answer_text(reading, 200, type, &text);
    return err;
}

/* ---- asking ---- */

void
udpai_pages_read(void *userdata, udpai_http_reading *reading)
{
    udpai_pages *self = userdata;
    if (reading->page == &udpai_pages_all[UDPAI_PAGE_LIVEZ])
        udpai_livez_page(&self->health, reading); /* also if the loop does not turn */
    else
        udpai_loop_inbox_push(self->inbox, &reading->node);
}

static void
on_messages(void *userdata, udpai_list *messages)
{
    udpai_list *at;
    while ((at = udpai_list_pop(messages))) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_http_reading *reading = UDPAI_LIST_ENTRY(at, udpai_http_reading, node);
        udpa_err err = answer(userdata, reading, &error);
        if (err)
            answer_error(reading, err, error);
    }
}

static udpa_err
read_metrics(void *metrics, udpa_bytes **ret_text)
{
    const char *type;
    return udpai_metrics_page_read(metrics, (udpai_str){0}, &type, ret_text);
}

udpa_err
udpai_pages_open(udpai_pages **ret_pages, const udpai_pages_env *env, udpa_error **ret_error)
{
    udpai_pages *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->endpoint = env->endpoint;
    self->runtime = env->runtime;
    self->replicas = env->replicas;
    self->plan = env->effective->plan;
    self->effective = env->effective;
    self->schema = env->schema;
    self->admin = env->admin;
    self->reload = env->reload;
    self->reload_userdata = env->reload_userdata;
    self->restart = env->restart;
    self->health = (udpai_health_pages){env->liveness, env->readiness};
    self->audit = (udpai_audit_page){.plan = env->effective->plan};
    const udpai_metrics_page_env metrics = {
        .endpoint = env->endpoint,
        .runtime = &env->runtime->runtime,
        .plan = env->effective->plan,
        .effective = env->effective,
        .workers = env->workers,
        .engine = env->engine,
        .admin = env->admin,
        .n_unauthenticated = &self->n_unauthenticated,
        .audit = env->audit_output,
        .exporter = env->exporter,
    };
    udpa_err err = udpai_fail_code(ret_error, udpai_metrics_page_new(&self->metrics, &metrics));
    udpai_page_questions_begin(&self->questions, env->endpoint, env->schema);
    if (err == UDPA_OK)
        self->top = udpai_top_page_new(&self->questions, self->plan->settings.node.id.data,
                                       read_metrics, self->metrics);
    self->backup = udpai_backup_page_new(self->plan, env->endpoint);
    if (err == UDPA_OK && (!self->top || !self->backup))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&self->inbox, env->loop, on_messages, self, ret_error);
    if (err == UDPA_OK) {
        *ret_pages = self;
        return UDPA_OK;
    }
    udpai_page_questions_end(&self->questions);
    udpai_top_page_free(self->top);
    udpai_backup_page_free(self->backup);
    udpai_metrics_page_free(self->metrics);
    udpai_free(self);
    return err;
}

void
udpai_pages_set_certificates(udpai_pages *pages, const udpai_certificates *certificates)
{
    udpai_metrics_page_set_certificates(pages->metrics, certificates);
}

void
udpai_pages_close(udpai_pages *self)
{
    udpai_list left;
    if (!self)
        return;
    udpai_list_init(&left);
    udpai_loop_inbox_close(self->inbox, &left);
    on_messages(self, &left);
    udpai_page_questions_end(&self->questions);
    udpai_top_page_free(self->top);
    udpai_backup_page_free(self->backup);
    udpai_metrics_page_free(self->metrics);
    udpai_audit_page_done(&self->audit);
    udpai_free(self);
}
