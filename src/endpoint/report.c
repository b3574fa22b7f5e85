/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint reports: each report is held by the node, and renewed there in time. */
#include <udpa/report.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/percent.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "endpoint/host.h"
#include "endpoint/reporting.h"
#include "endpoint/type.h"
#include "federation/reporting.h"
#include "loop/clock.h"
#include "model/name.h"

#define REPORTS_MAX 65536
#define TTL_MIN_MS 1000
#define SOURCE_NAME_MAX 512

/* What a report was stated to be about; nothing: it was not stated. */
typedef struct udpai_subject_names {
    udpai_str type_url, name; /* owned, in one piece that begins with the type */
} udpai_subject_names;

typedef struct udpai_own_report {
    udpa_endpoint *endpoint;
    udpai_str key; /* type URL, NUL, name; owned */
    udpa_resource *resource;
    udpai_subject_names subject;
    udpai_timer renewal;
} udpai_own_report;

typedef struct udpai_own_reports {
    udpai_service service;
    udpai_map all; /* by key */
    char *client;  /* what follows the name of the subject: a slash and the node id */
} udpai_own_reports;

static udpai_own_reports *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_own_reports, service);
}

/* NULL: the endpoint is being made, or ends. */
static udpai_own_reports *
of_endpoint(const udpa_endpoint *endpoint)
{
    udpai_service *service = udpai_endpoint_service(endpoint, UDPAI_PLACE_OWN_REPORTS);
    return service ? of(service) : NULL;
}

static udpai_str
report_key(const void *item)
{
    return ((const udpai_own_report *)item)->key;
}

static void
free_subject(const udpai_subject_names *subject)
{
    udpai_free((char *)(uintptr_t)subject->type_url.data);
}

static void
free_report(udpai_own_report *report)
{
    udpai_timer_cancel(&report->renewal);
    udpa_resource_unref(report->resource);
    udpai_free((char *)(uintptr_t)report->key.data);
    free_subject(&report->subject);
    udpai_free(report);
}

/* ---- names ---- */

static char *
make_client(udpai_str node_id)
{
    udpai_strbuf text = {0};
    udpai_strbuf_putc(&text, '/');
    udpai_percent_encode_segment(&text, node_id);
    return udpai_strbuf_take(&text);
}

char *
udpai_report_name(const udpa_endpoint *endpoint, udpai_str about)
{
    udpai_strbuf name = {0};
    udpai_strbuf_str(&name, about);
    udpai_strbuf_puts(&name, of_endpoint(endpoint)->client);
    return udpai_strbuf_take(&name);
}

udpai_str
udpai_report_about(const udpa_endpoint *endpoint, udpai_str name)
{
    udpai_str client = udpai_str_from(of_endpoint(endpoint)->client);
    if (name.len <= client.len ||
        memcmp(name.data + name.len - client.len, client.data, client.len) != 0)
        return (udpai_str){NULL, 0};
    return (udpai_str){name.data, name.len - client.len};
}

/* ---- renewal ---- */

static void
set_renewal(udpai_own_report *report)
{
    /* The wheel is not brought to the present here: that may call back. */
    udpai_timer_set(udpai_endpoint_wheel(report->endpoint), &report->renewal,
                    udpai_monotonic_ms() + udpa_resource_ttl_ms(report->resource) / 2);
}

/* The same once more is a refresh. Without memory the next one comes in time, or the one after. */
static void
on_renewal(udpai_timer *timer)
{
    udpai_own_report *report = UDPAI_CONTAINER_OF(timer, udpai_own_report, renewal);
    udpa_error *error = NULL;
    if (udpai_node_report_own(udpai_endpoint_node(report->endpoint), report->resource, &error) !=
        UDPA_OK)
        udpai_log(UDPA_LOG_DEBUG, "report", "resource '%s' is not renewed: %s",
                  udpa_resource_name(report->resource), udpa_error_message(error));
    udpa_error_unref(error);
    set_renewal(report);
    udpai_endpoint_touch(report->endpoint);
}

/* ---- reporting ---- */

static udpa_err
check_subject(const udpa_report_options *options, udpa_error **ret_error)
{
    if (options->subject_name && !options->subject_type_url)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the report about '%s' has a subject_name, '%s', without a "
                          "subject_type_url: of which type is it?",
                          options->about, options->subject_name);
    if (!options->subject_type_url)
        return UDPA_OK;
    udpai_str type = udpai_str_from(options->subject_type_url);
    if (type.len == 0 || type.len > UDPAI_TYPE_URL_MAX / 2 || !udpai_utf8_valid(type))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the report about '%s' has a subject_type_url that is empty, too long, "
                          "or not UTF-8",
                          options->about);
    return options->subject_name
               ? udpai_name_check(udpai_str_from(options->subject_name), ret_error)
               : UDPA_OK;
}

static udpa_err
check(const udpa_report_options *options, udpa_error **ret_error)
{
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_report_options: struct_size is %zu: begin with "
                          "UDPA_REPORT_OPTIONS_INIT",
                          options->struct_size);
    if (!options->type_url || !*options->type_url || !options->about)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a report needs a type_url and the name of what it is about");
    if (options->ttl_ms < TTL_MIN_MS)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the report about '%s' needs a ttl_ms of at least %d, so that it ends "
                          "when it is not renewed",
                          options->about, TTL_MIN_MS);
    if (options->payload_size > UDPAI_REPORT_MAX_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the report about '%s' has %zu bytes, more than the %zu that one may "
                          "have",
                          options->about, options->payload_size, UDPAI_REPORT_MAX_BYTES);
    udpa_err err = udpai_name_check(udpai_str_from(options->about), ret_error);
    return err == UDPA_OK ? check_subject(options, ret_error) : err;
}

static udpa_err
make_resource(const udpa_endpoint *endpoint,
              const udpa_report_options *options,
              udpa_resource **ret_resource,
              udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(options->type_url);
    UDPAI_AUTO_FREE char *name = udpai_report_name(endpoint, udpai_str_from(options->about));
    if (!type_url || !name)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = type_url;
    spec.payload = options->payload;
    spec.payload_size = options->payload_size;
    spec.ttl_ms = options->ttl_ms;
    return udpa_resource_new(ret_resource, &spec, ret_error);
}

static void
put_key(udpai_strbuf *key, udpai_str type_url, udpai_str name)
{
    udpai_strbuf_str(key, type_url);
    udpai_strbuf_putc(key, '\0');
    udpai_strbuf_str(key, name);
}

/* Found, or made and without a resource yet. */
static udpa_err
get_report(udpa_endpoint *endpoint,
           const udpa_resource *resource,
           udpai_own_report **ret_report,
           udpa_error **ret_error)
{
    udpai_map *all = &of_endpoint(endpoint)->all;
    udpai_strbuf key = {0};
    put_key(&key, udpai_resource_type_url(resource), udpai_resource_name(resource));
    *ret_report = udpai_strbuf_failed(&key) ? NULL : udpai_map_get(all, udpai_strbuf_view(&key));
    if (*ret_report) {
        udpai_strbuf_done(&key);
        return UDPA_OK;
    }
    if (all->n >= REPORTS_MAX) {
        udpai_strbuf_done(&key);
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "'%s' is not reported: there are %zu reports, as many as there may be",
                          udpa_resource_name(resource), all->n);
    }
    udpai_own_report *report = udpai_alloc(sizeof(*report));
    if (report) {
        report->endpoint = endpoint;
        report->key = udpai_strbuf_view(&key);
        udpai_timer_init(&report->renewal, on_renewal);
    }
    if (!report || udpai_strbuf_failed(&key) || !udpai_map_add(all, report)) {
        udpai_free(report);
        udpai_strbuf_done(&key);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    (void)udpai_strbuf_take(&key);
    *ret_report = report;
    return UDPA_OK;
}

static void
drop_report(udpai_own_report *report)
{
    udpai_map_remove(&of_endpoint(report->endpoint)->all, report->key);
    free_report(report);
}

/* Of several sources that which it is for, if that is one. */
static const char *
receipt_source(const udpa_endpoint *endpoint,
               const udpa_report_options *options,
               const udpa_resource *resource,
               char room[SOURCE_NAME_MAX + 1])
{
    udpai_str name;
    const udpai_node *node = udpai_endpoint_node(endpoint);
    if (options->receipt_source || udpai_node_only_source(node, &name) ||
        !udpai_node_reports_to(node, resource, &name) || name.len > SOURCE_NAME_MAX)
        return options->receipt_source;
    memcpy(room, name.data, name.len);
    room[name.len] = '\0';
    return room;
}

static udpa_err
ask_for_receipt(udpa_endpoint *endpoint,
                const udpa_report_options *options,
                udpa_resource *resource,
                udpa_error **ret_error)
{
    udpa_publish_options publication = UDPA_PUBLISH_OPTIONS_INIT;
    char room[SOURCE_NAME_MAX + 1];
    publication.source = receipt_source(endpoint, options, resource, room);
    publication.resources = &resource;
    publication.n_resources = 1;
    publication.receipt = options->receipt;
    publication.userdata = options->userdata;
    return udpa_publish(endpoint, &publication, ret_error);
}

/* What was reported before is reported again, if there was anything. */
static void
take_back(udpai_own_report *report, const udpa_resource *resource)
{
    udpai_node *node = udpai_endpoint_node(report->endpoint);
    if (!report->resource || udpai_node_report_own(node, report->resource, NULL) != UDPA_OK)
        udpai_node_withdraw_own_report(node, udpai_resource_type_url(resource),
                                       udpai_resource_name(resource));
}

/* One that was stated. NULL without memory. */
static char *
copy_subject(const udpa_report_options *options, udpai_subject_names *ret)
{
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(options->subject_type_url);
    udpai_str name = udpai_str_from(options->subject_name ? options->subject_name : options->about);
    char *room = type_url ? udpai_alloc(strlen(type_url) + name.len) : NULL, *at = room;
    if (room) {
        ret->type_url = udpai_str_put(&at, udpai_str_from(type_url));
        ret->name = udpai_str_put(&at, name);
    }
    return room;
}

/* udpai_node_report_own() or udpai_node_report_load(). */
typedef udpa_err (*report_fn)(udpai_node *node, udpa_resource *resource, udpa_error **ret_error);

static udpa_err
put_resource(udpai_own_report *report,
             const udpa_report_options *options,
             udpa_resource *resource,
             report_fn report_to,
             udpa_error **ret_error)
{
    udpa_endpoint *endpoint = report->endpoint;
    udpai_subject_names before = report->subject, next = {0};
    if (options->subject_type_url && !copy_subject(options, &next))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    report->subject = next;
    udpa_err err = report_to(udpai_endpoint_node(endpoint), resource, ret_error);
    if (err == UDPA_OK && options->receipt) {
        err = ask_for_receipt(endpoint, options, resource, ret_error);
        if (err != UDPA_OK)
            take_back(report, resource);
    }
    free_subject(err == UDPA_OK ? &before : &next);
    if (err != UDPA_OK) {
        report->subject = before;
        return udpai_fail_code(ret_error, err);
    }
    udpa_resource_unref(report->resource);
    report->resource = udpa_resource_ref(resource);
    set_renewal(report);
    return UDPA_OK;
}

static udpa_err
put(udpa_endpoint *endpoint,
    const udpa_report_options *options,
    report_fn report_to,
    udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpai_own_report *report = NULL;
    udpa_err err = make_resource(endpoint, options, &resource, ret_error);
    if (err == UDPA_OK)
        err = get_report(endpoint, resource, &report, ret_error);
    if (err == UDPA_OK)
        err = put_resource(report, options, resource, report_to, ret_error);
    if (err != UDPA_OK && report && !report->resource)
        drop_report(report);
    udpai_endpoint_touch(endpoint);
    return err;
}

udpa_err
udpai_report_put(udpa_endpoint *endpoint,
                 const udpa_report_options *options,
                 udpa_error **ret_error)
{
    return put(endpoint, options, udpai_node_report_own, ret_error);
}

udpa_err
udpai_report_put_load(udpa_endpoint *endpoint,
                      const udpa_report_options *options,
                      udpa_error **ret_error)
{
    return put(endpoint, options, udpai_node_report_load, ret_error);
}

udpa_err
udpa_report(udpa_endpoint *endpoint, const udpa_report_options *options, udpa_error **ret_error)
{
    udpa_err err = check(options, ret_error);
    if (err == UDPA_OK && udpai_endpoint_is_closing(endpoint))
        err = udpai_fail(ret_error, UDPA_ERR_CLOSED, "the endpoint is being closed");
    return err == UDPA_OK ? udpai_report_put(endpoint, options, ret_error) : err;
}

/* Without asking for memory: to withdraw must not fail. */
static udpai_own_report *
find(const udpai_own_reports *reports, const char *type_url, const char *about)
{
    char key[UDPAI_TYPE_URL_MAX + UDPA_NAME_MAX + 2];
    const char *prefix = strchr(type_url, '/') ? "" : UDPAI_TYPE_PREFIX;
    int type_len = snprintf(key, sizeof(key), "%s%s", prefix, type_url);
    if (type_len < 0 || type_len > UDPAI_TYPE_URL_MAX)
        return NULL;
    size_t at = (size_t)type_len + 1; /* behind the NUL */
    int name_len = snprintf(key + at, sizeof(key) - at, "%s%s", about, reports->client);
    if (name_len < 0 || name_len > UDPA_NAME_MAX)
        return NULL;
    return udpai_map_get(&reports->all, (udpai_str){key, at + (size_t)name_len});
}

bool
udpai_report_subject_of(void *userdata,
                        const udpa_resource *resource,
                        udpai_str *ret_type_url,
                        udpai_str *ret_name)
{
    const udpai_own_reports *reports = of_endpoint(userdata);
    char key[UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX], *at = key;
    udpai_str_put(&at, udpai_resource_type_url(resource));
    *at++ = '\0';
    udpai_str_put(&at, udpai_resource_name(resource));
    const udpai_own_report *report =
        reports ? udpai_map_get(&reports->all, (udpai_str){key, (size_t)(at - key)}) : NULL;
    if (!report || !report->subject.type_url.data)
        return false;
    *ret_type_url = report->subject.type_url;
    *ret_name = report->subject.name;
    return true;
}

void
udpa_report_withdraw(udpa_endpoint *endpoint, const char *type_url, const char *about)
{
    udpai_own_report *report =
        udpai_endpoint_is_closing(endpoint) ? NULL : find(of_endpoint(endpoint), type_url, about);
    if (!report)
        return;
    udpai_node_withdraw_own_report(udpai_endpoint_node(endpoint),
                                   udpai_resource_type_url(report->resource),
                                   udpai_resource_name(report->resource));
    drop_report(report);
    udpai_endpoint_touch(endpoint);
}

/* ---- coming and going ---- */

static void
free_reports(udpai_service *service)
{
    udpai_own_reports *reports = of(service);
    size_t at = 0;
    udpai_own_report *report;
    while ((report = udpai_map_next(&reports->all, &at)))
        free_report(report);
    udpai_map_done(&reports->all);
    udpai_free(reports->client);
    udpai_free(reports);
}

udpa_err
udpai_own_reports_new(udpai_service **ret_reports, udpai_str node_id)
{
    static const udpai_service_ops ops = {.free = free_reports};
    udpai_own_reports *reports = udpai_alloc(sizeof(*reports));
    if (!reports)
        return UDPA_ERR_NOMEM;
    reports->service.ops = &ops;
    udpai_map_init(&reports->all, report_key);
    reports->client = make_client(node_id);
    if (!reports->client) {
        free_reports(&reports->service);
        return UDPA_ERR_NOMEM;
    }
    *ret_reports = &reports->service;
    return UDPA_OK;
}
