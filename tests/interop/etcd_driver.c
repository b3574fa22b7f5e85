/* SPDX-License-Identifier: Apache-2.0 */
/* The client of etcd on a command line, for tests: reads orders, one a line with tabs between their
 * words, a verb and a number first, and prints what was answered as lines of JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "loop/clock.h"
#include "transport/etcd/client.h"

#define IDS 4096
#define WORDS_MAX 8
#define OPS_MAX 2000

typedef struct slot {
    udpai_etcd_call call;
    udpai_etcd_watch watch;
} slot;

static udpai_etcd_client *client;
static slot slots[IDS];

/* ---- what is printed ---- */

static void
put_text(udpai_strbuf *out, const char *name, udpai_str text)
{
    udpai_strbuf_printf(out, ",\"%s\":\"", name);
    for (size_t i = 0; i < text.len && i < 200; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c == '"' || c == '\\' || c > '~')
            udpai_strbuf_printf(out, "\\u%04x", c);
        else
            udpai_strbuf_putc(out, (char)c);
    }
    udpai_strbuf_puts(out, "\"");
}

static void
put_kv(udpai_strbuf *out, const udpai_etcd_kv *kv, bool is_delete)
{
    udpai_strbuf_printf(out,
                        "{\"mod\":%" PRId64 ",\"create\":%" PRId64 ",\"lease\":%" PRId64
                        ",\"size\":%zu,\"delete\":%d",
                        kv->mod_revision, kv->create_revision, kv->lease, kv->value.len, is_delete);
    put_text(out, "key", kv->key);
    put_text(out, "value", kv->value);
    udpai_strbuf_puts(out, "}");
}

static void
put_header(udpai_strbuf *out, const udpai_etcd_header *header)
{
    udpai_strbuf_printf(
        out, ",\"revision\":%" PRId64 ",\"cluster\":\"%" PRIx64 "\",\"member\":\"%" PRIx64 "\"",
        header->revision, header->cluster_id, header->member_id);
}

static void
print(udpai_strbuf *out)
{
    udpai_strbuf_puts(out, "}\n");
    fputs(out->data, stdout);
    fflush(stdout);
    udpai_strbuf_done(out);
}

static void
begin(udpai_strbuf *out, const char *kind, size_t id)
{
    *out = (udpai_strbuf){0};
    udpai_strbuf_printf(out, "{\"kind\":\"%s\",\"id\":%zu,\"ms\":%" PRIu64, kind, id,
                        udpai_monotonic_ms());
}

static void
on_done(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    static const char *const outcomes[] = {"done", "rejected", "not done", "unknown"};
    udpai_strbuf out;
    begin(&out, "call", (size_t)(UDPAI_CONTAINER_OF(call, slot, call) - slots));
    udpai_strbuf_printf(&out,
                        ",\"outcome\":\"%s\",\"succeeded\":%d,\"more\":%d,\"compacted\":%d"
                        ",\"lease\":%" PRId64 ",\"ttl\":%" PRId64 ",\"n\":%zu",
                        outcomes[result->outcome], result->succeeded, result->has_more,
                        result->is_compacted, result->lease, result->ttl_s, result->n_kvs);
    put_header(&out, &result->header);
    put_text(&out, "error",
             result->error ? udpai_str_from(udpa_error_message(result->error)) : UDPAI_STR(""));
    put_text(&out, "version", result->status.version);
    udpai_strbuf_printf(&out, ",\"size\":%" PRId64 ",\"quota\":%" PRId64 ",\"no_space\":%d",
                        result->status.size_bytes, result->status.quota_bytes,
                        result->status.has_no_space);
    udpai_strbuf_puts(&out, ",\"kvs\":[");
    for (size_t i = 0; i < result->n_kvs && i < 20; i++) {
        udpai_strbuf_puts(&out, i ? "," : "");
        put_kv(&out, &result->kvs[i], false);
    }
    udpai_strbuf_puts(&out, "]");
    print(&out);
}

static size_t
id_of(const udpai_etcd_watch *watch)
{
    return (size_t)(UDPAI_CONTAINER_OF(watch, slot, watch) - slots);
}

static void
on_created(udpai_etcd_watch *watch, const udpai_etcd_header *header)
{
    udpai_strbuf out;
    begin(&out, "created", id_of(watch));
    put_header(&out, header);
    print(&out);
}

static void
on_changed(udpai_etcd_watch *watch,
           const udpai_etcd_header *header,
           const udpai_etcd_event *events,
           size_t n_events,
           bool is_part)
{
    udpai_strbuf out;
    begin(&out, "changed", id_of(watch));
    put_header(&out, header);
    udpai_strbuf_printf(&out, ",\"part\":%d,\"events\":[", is_part);
    for (size_t i = 0; i < n_events; i++) {
        udpai_strbuf_puts(&out, i ? "," : "");
        put_kv(&out, &events[i].kv, events[i].is_delete);
    }
    udpai_strbuf_puts(&out, "]");
    print(&out);
}

static void
on_ended(udpai_etcd_watch *watch, int64_t compact_revision, const udpa_error *why)
{
    udpai_strbuf out;
    begin(&out, "ended", id_of(watch));
    udpai_strbuf_printf(&out, ",\"compact\":%" PRId64, compact_revision);
    put_text(&out, "error", udpai_str_from(udpa_error_message(why)));
    print(&out);
}

/* ---- orders ---- */

typedef struct order {
    udpai_etcd_task task;
    char *line;
    char *words[WORDS_MAX];
    size_t n_words;
} order;

static udpai_str
word(const order *self, size_t i)
{
    return i < self->n_words ? udpai_str_from(self->words[i]) : UDPAI_STR("");
}

static int64_t
number(const order *self, size_t i)
{
    return i < self->n_words ? strtoll(self->words[i], NULL, 10) : 0;
}

static udpa_err
do_range(udpai_etcd *etcd, slot *at, const order *self)
{
    const udpai_etcd_range range = {
        .key = word(self, 2),
        .end = word(self, 3),
        .revision = number(self, 4),
        .limit = number(self, 5),
        .is_serializable = self->n_words > 6,
    };
    return etcd->ops->range(etcd, &at->call, &range);
}

static udpa_err
do_put(udpai_etcd *etcd, slot *at, const order *self)
{
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_MOD_REVISION, word(self, 2),
                                        number(self, 4)};
    const udpai_etcd_op put = {UDPAI_ETCD_OP_PUT, .key = word(self, 2), .value = word(self, 3)};
    const udpai_etcd_op look = {UDPAI_ETCD_OP_RANGE, .key = word(self, 2)};
    const udpai_etcd_txn txn = {
        .compares = &compare,
        .n_compares = compare.revision >= 0,
        .ops = &put,
        .n_ops = 1,
        .else_ops = &look,
        .n_else_ops = 1,
    };
    return etcd->ops->txn(etcd, &at->call, &txn);
}

static udpa_err
do_lease_put(udpai_etcd *etcd, slot *at, const order *self)
{
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_CREATE_REVISION, word(self, 2), 0};
    const udpai_etcd_op put = {UDPAI_ETCD_OP_PUT, .key = word(self, 2), .value = word(self, 3),
                               .lease = number(self, 4)};
    const udpai_etcd_txn txn = {.compares = &compare, .n_compares = 1, .ops = &put, .n_ops = 1};
    return etcd->ops->txn(etcd, &at->call, &txn);
}

static udpa_err
do_puts(udpai_etcd *etcd, slot *at, const order *self)
{
    static udpai_etcd_op ops[OPS_MAX];
    size_t n = udpai_min_size((size_t)number(self, 2), OPS_MAX), size = (size_t)number(self, 4);
    char *value = calloc(1, size + 1), *keys = calloc(n, 64);
    memset(value, 'v', size);
    for (size_t i = 0; i < n; i++) {
        snprintf(keys + i * 64, 64, "%.40s%04zu", self->words[3], i);
        ops[i] = (udpai_etcd_op){UDPAI_ETCD_OP_PUT, .key = udpai_str_from(keys + i * 64),
                                 .value = {value, size}};
    }
    const udpai_etcd_txn txn = {.ops = ops, .n_ops = n};
    udpa_err err = etcd->ops->txn(etcd, &at->call, &txn);
    free(value);
    free(keys);
    return err;
}

static udpa_err
do_delete(udpai_etcd *etcd, slot *at, const order *self)
{
    const udpai_etcd_op removal = {UDPAI_ETCD_OP_DELETE, .key = word(self, 2),
                                   .end = word(self, 3)};
    const udpai_etcd_txn txn = {.ops = &removal, .n_ops = 1};
    return etcd->ops->txn(etcd, &at->call, &txn);
}

static udpa_err
do_grant(udpai_etcd *etcd, slot *at, const order *self)
{
    return etcd->ops->lease_grant(etcd, &at->call, number(self, 2));
}

static udpa_err
do_keep(udpai_etcd *etcd, slot *at, const order *self)
{
    return etcd->ops->lease_keep_alive(etcd, &at->call, number(self, 2));
}

static udpa_err
do_revoke(udpai_etcd *etcd, slot *at, const order *self)
{
    return etcd->ops->lease_revoke(etcd, &at->call, number(self, 2));
}

static udpa_err
do_status(udpai_etcd *etcd, slot *at, const order *self)
{
    (void)self;
    return etcd->ops->status(etcd, &at->call);
}

static udpa_err
do_cancel(udpai_etcd *etcd, slot *at, const order *self)
{
    (void)self;
    etcd->ops->cancel(etcd, &at->call);
    return UDPA_OK;
}

static udpa_err
do_watch(udpai_etcd *etcd, slot *at, const order *self)
{
    at->watch = (udpai_etcd_watch){on_created, on_changed, on_ended, NULL};
    return etcd->ops->watch(etcd, &at->watch, word(self, 2), word(self, 3), number(self, 4));
}

static udpa_err
do_progress(udpai_etcd *etcd, slot *at, const order *self)
{
    (void)self;
    etcd->ops->ask_progress(etcd, &at->watch);
    return UDPA_OK;
}

static udpa_err
do_unwatch(udpai_etcd *etcd, slot *at, const order *self)
{
    (void)self;
    etcd->ops->unwatch(etcd, &at->watch);
    return UDPA_OK;
}

static const struct {
    const char *name;
    udpa_err (*run)(udpai_etcd *etcd, slot *at, const order *self);
} verbs[] = {
    {"range", do_range},         {"put", do_put},
    {"puts", do_puts},           {"delete", do_delete},
    {"lease_put", do_lease_put}, {"grant", do_grant},
    {"keep", do_keep},           {"revoke", do_revoke},
    {"status", do_status},       {"cancel", do_cancel},
    {"watch", do_watch},         {"progress", do_progress},
    {"unwatch", do_unwatch},
};

static void
run_order(udpai_etcd_task *task)
{
    order *self = UDPAI_CONTAINER_OF(task, order, task);
    size_t id = (size_t)number(self, 1) % IDS;
    udpa_err err = UDPA_ERR_UNIMPLEMENTED;
    slots[id].call.done = on_done;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].name, self->words[0]) == 0)
            err = verbs[i].run(udpai_etcd_client_etcd(client), &slots[id], self);
    if (err != UDPA_OK) {
        fprintf(stderr, "%s: %s\n", self->words[0], udpa_err_text(err));
        exit(3);
    }
    free(self->line);
    free(self);
}

static void
give(char *line)
{
    order *self = calloc(1, sizeof(*self));
    line[strcspn(line, "\n")] = '\0';
    self->line = line;
    for (char *at = line; at && self->n_words < WORDS_MAX;)
        self->words[self->n_words++] = strsep(&at, "\t");
    self->task.run = run_order;
    if (strcmp(self->words[0], "password") == 0) {
        (void)udpai_etcd_client_set_password(client, self->words[1]);
        free(line);
        free(self);
    } else {
        (void)udpai_etcd_client_run(client, &self->task);
    }
}

/* ---- the program ---- */

static void
read_tls(udpai_tls_files *files, const char *authorities, const char *certificate, const char *key)
{
    const udpai_tls_paths paths = {
        .authorities = authorities,
        .certificate = certificate,
        .private_key = key,
    };
    udpa_error *error = NULL;
    if (udpai_tls_files_read(files, &paths, (int64_t)time(NULL), &error) != UDPA_OK) {
        fprintf(stderr, "%s\n", udpa_error_message(error));
        exit(2);
    }
}

/* etcd_driver ENDPOINTS USER PASSWORD [AUTHORITIES [CERTIFICATE KEY]] */
int
main(int argc, char **argv)
{
    const char *endpoints[UDPAI_ETCD_ENDPOINTS_MAX + 1];
    udpai_tls_files files = {0};
    size_t n = 0, capacity = 0;
    udpa_error *error = NULL;
    char *rest = argc > 3 ? argv[1] : NULL;
    while (rest && n <= UDPAI_ETCD_ENDPOINTS_MAX)
        endpoints[n++] = strsep(&rest, ",");
    if (argc > 4)
        read_tls(&files, argv[4], argc > 5 ? argv[5] : NULL, argc > 6 ? argv[6] : NULL);
    const udpai_etcd_client_options options = {
        .endpoints = endpoints,
        .n_endpoints = n,
        .user = argc > 3 && *argv[2] ? argv[2] : NULL,
        .password = argc > 3 ? argv[3] : NULL,
        .tls = argc > 4 ? &files : NULL,
    };
    if (udpai_etcd_client_new(&client, &options, &error) != UDPA_OK) {
        fprintf(stderr, "%s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 2;
    }
    udpai_tls_files_done(&files);
    char *line = NULL;
    for (; getline(&line, &capacity, stdin) > 0; line = NULL, capacity = 0)
        give(line);
    free(line);
    udpai_etcd_client_free(client);
    return 0;
}
