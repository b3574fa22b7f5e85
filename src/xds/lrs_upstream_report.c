/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to a server of LRS: what has come since the last one, as many messages as it takes. What
 * is in a message that goes out counts as reported; LRS has no receipts, so what is lost on the way
 * is lost, and nothing is reported twice. */
#include "base/alloc.h"
#include "reports/load_stats_cover.h"
#include "xds/lrs_upstream_internal.h"

/* Servers take 4 MiB. */
#define PIECE_BYTES ((size_t)1 << 20)
#define STATS_BYTES_MAX ((size_t)3 << 20)
/* Clients are waited for so long. */
#define PATIENCE_INTERVALS 2
#define PATIENCE_MS 60000
/* Servers divide by it. */
#define ELAPSED_MIN_NS ((uint64_t)1000000)

enum { /* field number of LoadStatsRequest */
    CLUSTER_STATS = 2,
};

/* The report of one cluster. */
typedef struct statement {
    udpai_lrs_account *account;
    udpai_load_stats *report;
    udpai_load_stats
        *newest; /* the aggregate that it follows from; NULL: one that was reported before */
    size_t size;
} statement;

typedef struct message {
    UDPAI_VECTOR(statement) statements;
    size_t size;
} message;

static void
free_statement(statement *one)
{
    udpai_load_stats_free(one->report);
    udpai_load_stats_free(one->newest);
}

static void
message_done(message *self)
{
    for (size_t i = 0; i < self->statements.n; i++)
        free_statement(&self->statements.items[i]);
    udpai_vector_done(&self->statements);
}

void
udpai_lrs_upstream_begin_report(udpai_lrs_upstream_session *self)
{
    size_t at = 0;
    udpai_lrs_account *account;
    while ((account = udpai_map_next(&self->upstream->accounts, &at)))
        account->is_due = true;
    self->is_begun &= self->is_due; /* what the server has not read yet goes on */
    self->is_due = true;
}

/* ---- one cluster ---- */

/* An aggregate that shrinks is none; from there it is counted. */
static udpa_err
subtract(udpai_lrs_upstream_session *self, const udpai_load_stats *aggregate, statement *one)
{
    const udpai_lrs_account *account = one->account;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_load_stats_difference(aggregate, account->reported, &one->report, &error);
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
        return err;
    udpai_lrs_upstream_note_refused(self, udpai_lrs_account_key(account), error);
    return udpai_load_stats_difference(aggregate, aggregate, &one->report, NULL);
}

static udpa_err
add_pending(udpai_lrs_upstream_session *self, statement *one)
{
    const udpai_lrs_account *account = one->account;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!account->pending)
        return UDPA_OK;
    udpa_err err = udpai_load_stats_make_room(one->report, account->pending, &error);
    if (err == UDPA_OK)
        udpai_load_stats_add_report(one->report, account->pending);
    else if (err != UDPA_ERR_NOMEM)
        udpai_lrs_upstream_note_refused(self, udpai_lrs_account_key(account), error);
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

static udpa_err
read_aggregate(udpai_lrs_upstream_session *self, statement *one)
{
    const udpai_lrs_account *account = one->account;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!account->has_changed)
        return UDPA_OK;
    udpa_err err = udpai_lrs_account_decode(self, account, &one->newest, &error);
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
        return err;
    udpai_lrs_upstream_note_refused(self, udpai_lrs_account_key(account), error);
    return UDPA_OK;
}

/* While some clients have not reported since the last report, that of others is not sent either: it
 * would cover another time. A client that waits for longer than that is away. */
static bool
is_early(const udpai_lrs_upstream_session *self, const statement *one)
{
    const udpai_lrs_account *account = one->account;
    uint64_t waited_ms = udpai_lrs_upstream_now(self) - account->reported_ms;
    uint64_t patience_ms = PATIENCE_INTERVALS * (one->newest->interval_ns / 1000000);
    if (patience_ms < PATIENCE_MS)
        patience_ms = PATIENCE_MS;
    return waited_ms < patience_ms && !udpai_load_stats_covers_all(one->newest, account->reported);
}

/* What was reported was kept, and some of the aggregate was not: the machine has lost its power. It
 * is reported again from where it has come to what was reported. */
static bool
is_behind(udpai_lrs_account *account, const udpai_load_stats *aggregate)
{
    bool is = account->is_restored && account->reported &&
              account->reported->epoch == aggregate->epoch &&
              udpai_load_stats_check_growth(account->reported, aggregate, NULL) != UDPA_OK;
    account->is_restored = is;
    return is;
}

static udpa_err
make_report(udpai_lrs_upstream_session *self, statement *one)
{
    const udpai_lrs_account *account = one->account;
    udpa_err err = UDPA_OK;
    const udpai_load_stats *aggregate = one->newest          ? one->newest
                                        : account->aggregate ? account->reported
                                                             : NULL;
    if (aggregate)
        err = subtract(self, aggregate, one);
    else if (!(one->report = udpai_load_stats_new(&udpai_load_aggregate_limits)))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = add_pending(self, one);
    if (err != UDPA_OK)
        return err;
    if (!self->per_endpoint)
        udpai_load_stats_drop_endpoints(one->report);
    if (one->report->elapsed_ns < ELAPSED_MIN_NS)
        one->report->elapsed_ns = ELAPSED_MIN_NS;
    return UDPA_OK;
}

static size_t
measure(const udpai_lrs_upstream_session *self, const statement *one)
{
    udpai_proto_writer writer = {0};
    udpai_load_stats_put_message(&writer, udpai_lrs_account_name(self->upstream, one->account),
                                 one->report);
    return writer.size;
}

/* What no server would take is reported without its single endpoints; or not at all. */
static void
fit(udpai_lrs_upstream_session *self, statement *one)
{
    one->size = measure(self, one);
    if (one->size <= STATS_BYTES_MAX)
        return;
    udpai_load_stats_drop_endpoints(one->report);
    one->size = measure(self, one);
    if (one->size <= STATS_BYTES_MAX)
        return;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error =
        udpa_error_new(UDPA_ERR_LIMIT, NULL,
                       "what was received takes %zu bytes, which no server accepts", one->size);
    udpai_lrs_upstream_note_refused(self, udpai_lrs_account_key(one->account), error);
    one->size = 0;
}

/* ---- one message ---- */

static void
note_reported(const udpai_lrs_upstream_session *self, statement *one)
{
    udpai_lrs_account *account = one->account;
    account->has_changed = false;
    account->reported_ms = udpai_lrs_upstream_now(self);
    account->pending = udpai_load_stats_free(account->pending);
    if (one->newest) {
        udpai_load_stats_free(account->reported);
        account->reported = UDPAI_TAKE(one->newest);
    }
}

/* What has nothing to report is left out. */
static udpa_err
add_statement(udpai_lrs_upstream_session *self, udpai_lrs_account *account, message *to)
{
    statement one = {.account = account};
    udpa_err err = udpai_vector_reserve(&to->statements, 1) ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = read_aggregate(self, &one);
    bool is_held = one.newest &&
                   (is_behind(account, one.newest) || (!account->pending && is_early(self, &one)));
    if (err == UDPA_OK && !is_held)
        err = make_report(self, &one);
    if (err != UDPA_OK || is_held) {
        free_statement(&one);
        return err;
    }
    if (!udpai_load_stats_is_empty(one.report))
        fit(self, &one);
    if (one.size == 0) {
        note_reported(self, &one);
        free_statement(&one);
        return UDPA_OK;
    }
    to->statements.items[to->statements.n++] = one;
    to->size += udpai_proto_bytes_size(CLUSTER_STATS, one.size);
    return UDPA_OK;
}

static udpa_err
fill(udpai_lrs_upstream_session *self, message *to)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_lrs_account *account;
    while (err == UDPA_OK && to->size < PIECE_BYTES &&
           (account = udpai_map_next(&self->upstream->accounts, &at))) {
        bool is_due = account->is_due;
        account->is_due = false;
        if (is_due && (account->has_changed || account->pending))
            err = add_statement(self, account, to);
    }
    return err;
}

static udpa_bytes *
encode(const udpai_lrs_upstream_session *self, const message *from)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(from->size, &room);
    if (!bytes)
        return NULL;
    udpai_proto_writer writer = {room, 0};
    for (size_t i = 0; i < from->statements.n; i++) {
        const statement *one = &from->statements.items[i];
        udpai_proto_put_head(&writer, CLUSTER_STATS, one->size);
        udpai_load_stats_put_message(&writer, udpai_lrs_account_name(self->upstream, one->account),
                                     one->report);
    }
    return bytes;
}

/* Kept before it is sent: what was to be sent when this node was killed may never be, and never
 * twice. Without memory nothing is kept, also of before. */
static void
keep(const udpai_lrs_upstream *upstream, const message *reported)
{
    UDPAI_VECTOR(udpai_lrs_kept) items = {0};
    if (!upstream->keeper.keep || reported->statements.n == 0)
        return;
    bool has_room = udpai_vector_reserve(&items, reported->statements.n);
    for (size_t i = 0; has_room && i < reported->statements.n; i++) {
        const statement *one = &reported->statements.items[i];
        udpai_lrs_kept kept = udpai_lrs_kept_of(one->account);
        kept.pending = NULL;
        if (one->newest)
            kept.reported = one->newest;
        items.items[items.n++] = kept;
    }
    if (has_room)
        udpai_lrs_keep(upstream, items.items, items.n);
    else
        upstream->keeper.keep(upstream->keeper.userdata, NULL);
    udpai_vector_done(&items);
}

/* Also when there is nothing new a message shows the server that the node is there. */
udpa_err
udpai_lrs_upstream_next_piece(udpai_lrs_upstream_session *self, udpa_bytes **ret_piece)
{
    message next = {.size = 0};
    udpa_err err = fill(self, &next);
    udpa_bytes *piece = NULL;
    bool is_needed = next.statements.n || !self->is_begun;
    if (err == UDPA_OK && is_needed && !(piece = encode(self, &next)))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        keep(self->upstream, &next);
    for (size_t i = 0; i < next.statements.n && err == UDPA_OK; i++)
        note_reported(self, &next.statements.items[i]);
    message_done(&next);
    if (err != UDPA_OK)
        return err;
    self->n_reports += !self->is_begun;
    self->is_begun = is_needed;
    self->is_due = is_needed;
    *ret_piece = piece;
    return UDPA_OK;
}
