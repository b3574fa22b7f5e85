/* SPDX-License-Identifier: Apache-2.0 */
/* Whole messages. Each begins with its kind and with what it has, of which the tables here define
 * what it must and may have; so the taker of one finds what its kind promises. */
#include "session/transfer.h"

#include <assert.h>

#include "session/transfer_internal.h"
#include "wire/compose.h"

/* What a message may have, in its order there. */
enum {
    HAS_CHANGES = 1 << 0,
    HAS_SETTLED = 1 << 1,
    HAS_ACL = 1 << 2,
    HAS_IDENTITY = 1 << 3,
    HAS_ADDRESS = 1 << 4,
    HAS_INFO = 1 << 5,
    HAS_NAME_SPACE = 1 << 6,
    HAS_SUBSCRIPTION = 1 << 7,
    HAS_PUBLICATION = 1 << 8,
    HAS_ERROR = 1 << 9,
    HAS_STATUSES = 1 << 10,
    HAS_EVENTS = 1 << 11,
    HAS_ANNOUNCED = 1 << 12,
    HAS_ALL = (1 << 13) - 1,
};

typedef struct shape {
    bool is_known; /* one that can be sent to another process */
    unsigned must, may;
} shape;

static const shape order_shapes[UDPAI_ORDER_KINDS] = {
    [UDPAI_ORDER_CHANGES] = {true, HAS_CHANGES, 0},
    [UDPAI_ORDER_SETTLED] = {true, HAS_SETTLED, 0},
    [UDPAI_ORDER_HANG_UP] = {true, 0, HAS_ERROR},
    [UDPAI_ORDER_ATTACH] = {true, 0, 0},
    [UDPAI_ORDER_SUBSCRIBE] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_ORDER_UNSUBSCRIBE] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_ORDER_PUBLICATION_DONE] = {true, HAS_PUBLICATION, 0},
    [UDPAI_ORDER_PUBLISH] = {true, HAS_PUBLICATION, 0},
    [UDPAI_ORDER_FORGET] = {true, 0, 0},
    [UDPAI_ORDER_ACL] = {true, 0, HAS_ACL}, /* without: there are no rules any more */
    [UDPAI_ORDER_STATUS] = {true, 0, 0},
    [UDPAI_ORDER_ACKNOWLEDGEMENTS] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_ORDER_CENSUS] = {true, 0, 0},
    [UDPAI_ORDER_EVENTS] = {true, HAS_EVENTS, 0},
    [UDPAI_ORDER_EVENTS_TAKEN] = {true, 0, 0},
    [UDPAI_ORDER_EVENTS_DEMAND] = {true, 0, 0},
    [UDPAI_ORDER_EPOCH] = {true, HAS_ANNOUNCED, 0},
    [UDPAI_ORDER_COMMIT] = {true, 0, 0},
    [UDPAI_ORDER_BARRIER] = {true, 0, 0},
    [UDPAI_ORDER_TWINS] = {true, 0, HAS_ANNOUNCED},
    [UDPAI_ORDER_SPREAD] = {true, HAS_ANNOUNCED, 0},
    [UDPAI_ORDER_DRAIN] = {true, 0, 0},
    [UDPAI_ORDER_LEAVE] = {true, 0, 0},
};

static const shape report_shapes[UDPAI_REPORT_KINDS] = {
    [UDPAI_REPORT_APPLIED] = {true, 0, 0},
    [UDPAI_REPORT_SETTLED] = {true, 0, 0},
    [UDPAI_REPORT_OPENED] = {true, 0, HAS_IDENTITY | HAS_ADDRESS},
    [UDPAI_REPORT_ALIVE] = {true, 0, 0},
    [UDPAI_REPORT_NODE] = {true, HAS_INFO, 0},
    [UDPAI_REPORT_PUBLICATION] = {true, HAS_PUBLICATION, 0},
    [UDPAI_REPORT_SUBSCRIPTION_ERROR] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_REPORT_RECEIPT] = {true, 0, HAS_PUBLICATION},
    [UDPAI_REPORT_CLOSED] = {true, 0, HAS_ERROR},
    [UDPAI_REPORT_INTEREST] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_REPORT_PASSED_ON] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_REPORT_CLIENTS] = {true, HAS_NAME_SPACE, HAS_INFO},
    [UDPAI_REPORT_STATUS] = {true, 0, HAS_STATUSES},
    [UDPAI_REPORT_ACKNOWLEDGEMENTS] = {true, HAS_SUBSCRIPTION, HAS_STATUSES},
    [UDPAI_REPORT_CENSUS] = {true, 0, HAS_STATUSES},
    [UDPAI_REPORT_EVENTS] = {true, HAS_EVENTS, 0},
    [UDPAI_REPORT_EVENTS_TAKEN] = {true, 0, 0},
    [UDPAI_REPORT_EVENTS_DEMAND] = {true, 0, 0},
    [UDPAI_REPORT_DEMAND] = {true, HAS_SUBSCRIPTION, 0},
    [UDPAI_REPORT_BARRIER] = {true, 0, 0},
    [UDPAI_REPORT_MARK] = {true, 0, HAS_ADDRESS},
};

static bool
fits(const shape *of, unsigned has)
{
    return of->is_known && (has & of->must) == of->must && (has & ~(of->must | of->may)) == 0;
}

/* What comes before everything else. */
typedef struct head {
    unsigned kind, has;
    uint64_t session, link, ticket;
    unsigned flags;
} head;

/* ---- what is kept from message to message ---- */

void
udpai_transfer_init(udpai_transfer *transfer)
{
    memset(transfer, 0, sizeof(*transfer));
    udpai_decoder_init(&transfer->decoder);
}

void
udpai_transfer_done(udpai_transfer *transfer)
{
    udpai_decoder_done(&transfer->decoder);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(transfer->types); i++)
        transfer->types[i] = udpa_bytes_unref(transfer->types[i]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(transfer->nodes); i++)
        transfer->nodes[i] = udpa_bytes_unref(transfer->nodes[i]);
}

/* ---- putting ---- */

static void
put_head(udpai_proto_writer *writer, const head *of)
{
    udpai_proto_put_bare_number(writer, of->kind);
    udpai_proto_put_bare_number(writer, of->has);
    udpai_proto_put_bare_number(writer, of->session);
    udpai_proto_put_bare_number(writer, of->link);
    udpai_proto_put_bare_number(writer, of->ticket);
    udpai_proto_put_bare_number(writer, of->flags);
}

/* Room for a message of this size, at the end of the buffer. */
static udpa_err
make_room(udpai_strbuf *buffer, size_t size, udpai_proto_writer *ret_writer)
{
    if (size > UDPAI_TRANSFER_MAX)
        return UDPA_ERR_LIMIT;
    *ret_writer = (udpai_proto_writer){udpai_strbuf_extend(buffer, size), 0};
    return ret_writer->at ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- orders ---- */

static unsigned
order_has(const udpai_order *order)
{
    return (order->changes ? HAS_CHANGES : 0) | (order->settled ? HAS_SETTLED : 0) |
           (order->acl ? HAS_ACL : 0) | (order->subscription ? HAS_SUBSCRIPTION : 0) |
           (order->publication ? HAS_PUBLICATION : 0) | (order->error ? HAS_ERROR : 0) |
           (order->events ? HAS_EVENTS : 0) | (order->announced ? HAS_ANNOUNCED : 0);
}

static void
put_marks(udpai_proto_writer *writer, const udpai_order *order)
{
    udpai_proto_put_bare_number(writer, order->since_ms);
    udpai_proto_put_bare_number(writer, order->marks.n);
    for (size_t i = 0; i < order->marks.n; i++) {
        udpai_proto_put_bare_number(writer, order->marks.items[i].number);
        udpai_proto_put_bare_number(writer, order->marks.items[i].change);
        udpai_transfer_put_trace(writer, &order->marks.items[i].trace);
    }
}

static void
put_order(udpai_proto_writer *writer, const udpai_order *order)
{
    const head of = {order->kind, order_has(order), order->session,
                     order->link, order->ticket,    order->is_source | order->is_set << 1};
    put_head(writer, &of);
    if (order->changes)
        udpai_transfer_put_changes(writer, order->changes);
    if (order->settled)
        udpai_transfer_put_settled(writer, order->settled);
    if (order->acl)
        udpai_transfer_put_acl(writer, order->acl);
    if (order->subscription)
        udpai_transfer_put_subscription(writer, order->subscription);
    if (order->publication)
        udpai_transfer_put_publication(writer, order->publication);
    if (order->error)
        udpai_transfer_put_error(writer, order->error);
    if (order->events)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(order->events));
    if (order->announced)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(order->announced));
    udpai_proto_put_bare_number(writer, order->commit);
    if (order->kind == UDPAI_ORDER_CHANGES)
        put_marks(writer, order);
}

udpa_err
udpai_order_encode(const udpai_order *order, udpai_strbuf *buffer)
{
    bool is_plain = order->kind < UDPAI_ORDER_KINDS && !order->target && order->place == 0;
    if (!is_plain || !fits(&order_shapes[order->kind], order_has(order)))
        return UDPA_ERR_INVAL;
    udpai_proto_writer size = {0}, writer;
    put_order(&size, order);
    udpa_err err = make_room(buffer, size.size, &writer);
    if (err == UDPA_OK) {
        put_order(&writer, order);
        assert(writer.size == size.size);
    }
    return err;
}

/* ---- reports ---- */

enum {
    IS_EXTENDED = 1,
    IS_SUBSCRIBED = 2,
    IS_DISOWNED = 4,
    IS_CLIENT = 8,
    ALL_REPORT_FLAGS = 15,
};

static unsigned
report_has(const udpai_report *report)
{
    return (report->identity ? HAS_IDENTITY : 0) | (report->address ? HAS_ADDRESS : 0) |
           (report->info ? HAS_INFO : 0) | (report->name_space ? HAS_NAME_SPACE : 0) |
           (report->subscription ? HAS_SUBSCRIPTION : 0) |
           (report->publication ? HAS_PUBLICATION : 0) | (report->error ? HAS_ERROR : 0) |
           (report->statuses.n ? HAS_STATUSES : 0) | (report->events ? HAS_EVENTS : 0);
}

/* A status is behind a flag: of what there is none, a place is left. */
static void
put_statuses(udpai_proto_writer *writer, const udpai_report *report)
{
    udpai_proto_put_bare_number(writer, report->statuses.n);
    for (size_t i = 0; i < report->statuses.n; i++) {
        const udpa_bytes *status = report->statuses.items[i];
        udpai_proto_put_bare_number(writer, status != NULL);
        if (status)
            udpai_proto_put_bare_bytes(writer, udpai_bytes_view(status));
    }
}

/* @p node: its info, as a Node message. */
static void
put_report(udpai_proto_writer *writer, const udpai_report *report, const udpa_bytes *node)
{
    const head of = {
        report->kind,
        report_has(report),
        report->session,
        report->link,
        report->ticket,
        (report->is_extended ? IS_EXTENDED : 0u) | (report->subscribed ? IS_SUBSCRIBED : 0u) |
            (report->is_disowned ? IS_DISOWNED : 0u) | (report->is_client ? IS_CLIENT : 0u)};
    put_head(writer, &of);
    if (report->identity)
        udpai_transfer_put_identity(writer, report->identity);
    if (report->address)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(report->address));
    if (node)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(node));
    if (report->name_space)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(report->name_space));
    if (report->subscription)
        udpai_transfer_put_subscription(writer, report->subscription);
    if (report->publication)
        udpai_transfer_put_publication(writer, report->publication);
    if (report->error)
        udpai_transfer_put_error(writer, report->error);
    if (report->statuses.n)
        put_statuses(writer, report);
    if (report->events)
        udpai_proto_put_bare_bytes(writer, udpai_bytes_view(report->events));
    if (report->kind == UDPAI_REPORT_MARK) {
        udpai_proto_put_bare_number(writer, report->outcome);
        udpai_proto_put_bare_number(writer, report->took_ms);
    }
}

udpa_err
udpai_report_encode(const udpai_report *report, udpai_strbuf *buffer)
{
    if (report->kind >= UDPAI_REPORT_KINDS ||
        !fits(&report_shapes[report->kind], report_has(report)))
        return UDPA_ERR_INVAL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *node = report->info ? udpai_node_encode(report->info) : NULL;
    if (report->info && !node)
        return UDPA_ERR_NOMEM;
    udpai_proto_writer size = {0}, writer;
    put_report(&size, report, node);
    udpa_err err = make_room(buffer, size.size, &writer);
    if (err == UDPA_OK) {
        put_report(&writer, report, node);
        assert(writer.size == size.size);
    }
    return err;
}

/* ---- taking ---- */

static head
take_head(udpai_transfer_reader *reader, const shape *shapes, unsigned n_shapes, unsigned all_flags)
{
    head of = {.kind = (unsigned)udpai_transfer_take_number(reader, n_shapes - 1)};
    of.has = (unsigned)udpai_transfer_take_number(reader, HAS_ALL);
    of.session = udpai_transfer_take_number(reader, UINT64_MAX);
    of.link = udpai_transfer_take_number(reader, UINT64_MAX);
    of.ticket = udpai_transfer_take_number(reader, UINT64_MAX);
    of.flags = (unsigned)udpai_transfer_take_number(reader, all_flags);
    if (!fits(&shapes[of.kind], of.has))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it is of no kind, or not whole");
    return of;
}

static udpai_subscription_message *
copy_subscription(udpai_transfer_reader *reader, const udpai_subscription_message *message)
{
    udpai_subscription_message *copy =
        reader->err == UDPA_OK ? udpai_subscription_message_copy(message) : NULL;
    if (reader->err == UDPA_OK && !copy)
        udpai_transfer_out_of_memory(reader);
    return copy;
}

static bool
begin(udpai_transfer_reader *reader, udpai_transfer *transfer, udpai_str bytes)
{
    *reader = (udpai_transfer_reader){.bytes = udpai_proto_read(bytes), .transfer = transfer};
    udpai_arena_reset(&transfer->decoder.arena);
    if (bytes.len > UDPAI_TRANSFER_MAX)
        udpai_transfer_fail(reader, UDPA_ERR_LIMIT, "it is larger than 2 GiB");
    return reader->err == UDPA_OK;
}

static udpa_err
end(udpai_transfer_reader *reader, udpa_error **ret_error)
{
    if (reader->err == UDPA_OK && reader->bytes.at != reader->bytes.end)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it goes on behind its end");
    udpai_arena_reset(&reader->transfer->decoder.arena);
    if (reader->err == UDPA_OK)
        return UDPA_OK;
    return udpai_fail_because(ret_error, reader->err, UDPAI_TAKE(reader->cause),
                              "a message from another process of this node cannot be read: %s",
                              reader->why);
}

/* ---- taking orders ---- */

static void
take_marks(udpai_transfer_reader *reader, udpai_order *order)
{
    order->since_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    size_t n = (size_t)udpai_transfer_take_number(reader, UDPAI_MARKS_MAX + UDPAI_TRACED_MAX);
    size_t n_changes = order->changes ? udpai_change_set_size(order->changes) : 0;
    if (n && n_changes == 0)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "it has marks of no change");
    for (size_t i = 0; i < n && reader->err == UDPA_OK; i++) {
        udpai_change_mark mark = {.number = udpai_transfer_take_number(reader, UINT64_MAX)};
        mark.change = (size_t)udpai_transfer_take_number(reader, n_changes - 1);
        mark.trace = udpai_transfer_take_trace(reader);
        if (!udpai_vector_push(&order->marks, mark))
            udpai_transfer_out_of_memory(reader);
    }
}

static void
take_order_parts(udpai_transfer_reader *reader, unsigned has, udpai_order *order)
{
    if (has & HAS_CHANGES)
        order->changes = udpai_transfer_take_changes(reader);
    if (has & HAS_SETTLED)
        order->settled = udpai_transfer_take_settled(reader);
    if (has & HAS_ACL)
        order->acl = udpai_transfer_take_acl(reader);
    if (has & HAS_SUBSCRIPTION) {
        const udpai_subscription_message message = udpai_transfer_take_subscription(reader);
        order->subscription = copy_subscription(reader, &message);
    }
    if (has & HAS_PUBLICATION)
        order->publication = udpai_transfer_take_publication(reader, false);
    if (has & HAS_ERROR)
        order->error = udpai_transfer_take_error(reader);
    if (has & HAS_EVENTS)
        order->events = udpai_transfer_take_own_bytes(reader);
    if (has & HAS_ANNOUNCED)
        order->announced = udpai_transfer_take_own_bytes(reader);
    order->commit = udpai_transfer_take_number(reader, UINT64_MAX);
    if (order->kind == UDPAI_ORDER_CHANGES)
        take_marks(reader, order);
}

static udpai_order *
take_order(udpai_transfer_reader *reader)
{
    const head of = take_head(reader, order_shapes, UDPAI_ORDER_KINDS, 3);
    udpai_order *order = reader->err == UDPA_OK ? udpai_order_new((udpai_order_kind)of.kind) : NULL;
    if (!order) {
        udpai_transfer_out_of_memory(reader);
        return NULL;
    }
    order->session = of.session;
    order->link = of.link;
    order->ticket = of.ticket;
    order->is_source = of.flags & 1;
    order->is_set = of.flags & 2;
    take_order_parts(reader, of.has, order);
    return order;
}

udpa_err
udpai_order_decode(udpai_transfer *transfer,
                   udpai_str bytes,
                   udpai_order **ret_order,
                   udpa_error **ret_error)
{
    udpai_transfer_reader reader;
    UDPA_AUTO(udpai_order_free)
    udpai_order *order = begin(&reader, transfer, bytes) ? take_order(&reader) : NULL;
    udpa_err err = end(&reader, ret_error);
    if (err == UDPA_OK)
        *ret_order = UDPAI_TAKE(order);
    return err;
}

/* ---- taking reports ---- */

/* By what reads the Nodes of peers, with all that it checks. */
static udpai_node_info *
take_info(udpai_transfer_reader *reader)
{
    udpai_node_info *info = NULL;
    udpa_error *error = NULL;
    udpai_str bytes = udpai_transfer_take_bytes(reader);
    if (reader->err != UDPA_OK)
        return NULL;
    udpa_err err = udpai_node_info_decode(&reader->transfer->decoder, bytes, &info, &error);
    if (err == UDPA_ERR_NOMEM) {
        udpa_error_unref(error);
        udpai_transfer_out_of_memory(reader);
    } else if (err != UDPA_OK) {
        udpai_transfer_fail_because(reader, error, "its Node is malformed");
    }
    return info;
}

static udpa_bytes *
take_own_text(udpai_transfer_reader *reader)
{
    udpai_transfer_reader ahead = *reader;
    (void)udpai_transfer_take_text(&ahead);
    if (ahead.err == UDPA_OK)
        return udpai_transfer_take_own_bytes(reader);
    *reader = ahead;
    return NULL;
}

/* An error is sent as short as a peer's own is; an interest is in one thing. */
static udpai_subscription_message *
take_report_subscription(udpai_transfer_reader *reader, udpai_report_kind kind)
{
    udpai_str names[UDPAI_ECHOED_NAMES];
    udpai_subscription_message message = udpai_transfer_take_subscription(reader);
    if (kind == UDPAI_REPORT_SUBSCRIPTION_ERROR)
        message = udpai_subscription_error_cut(&message, names);
    else if ((kind == UDPAI_REPORT_INTEREST || kind == UDPAI_REPORT_PASSED_ON) &&
             message.n_names != 1)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "an interest has not one name");
    return copy_subscription(reader, &message);
}

/* Only an answer may be missing; and each is in the place of its question. */
static void
take_statuses(udpai_transfer_reader *reader, udpai_report *report)
{
    size_t n = udpai_transfer_take_count(reader, 1);
    if (n == 0 || (report->subscription && n != report->subscription->n_names))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "answers do not stand beside questions");
    if (reader->err == UDPA_OK && !udpai_vector_reserve(&report->statuses, n))
        udpai_transfer_out_of_memory(reader);
    for (size_t i = 0; i < n && reader->err == UDPA_OK; i++) {
        bool is_there = udpai_transfer_take_flag(reader);
        if (!is_there && !report->subscription)
            udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a status is empty");
        report->statuses.items[report->statuses.n++] =
            is_there ? udpai_transfer_take_own_bytes(reader) : NULL;
    }
}

static void
take_report_parts(udpai_transfer_reader *reader, unsigned has, udpai_report *report)
{
    if (has & HAS_IDENTITY)
        report->identity = udpai_transfer_take_identity(reader);
    if (has & HAS_ADDRESS)
        report->address = take_own_text(reader);
    if (has & HAS_INFO)
        report->info = take_info(reader);
    if (has & HAS_NAME_SPACE)
        report->name_space = take_own_text(reader);
    if (has & HAS_SUBSCRIPTION)
        report->subscription = take_report_subscription(reader, report->kind);
    if (has & HAS_PUBLICATION)
        report->publication =
            udpai_transfer_take_publication(reader, report->kind == UDPAI_REPORT_PUBLICATION);
    if (has & HAS_ERROR)
        report->error = udpai_transfer_take_error(reader);
    if (has & HAS_STATUSES)
        take_statuses(reader, report);
    if (has & HAS_EVENTS)
        report->events = udpai_transfer_take_own_bytes(reader);
    if (report->kind == UDPAI_REPORT_MARK) {
        report->outcome =
            (udpai_mark_outcome)udpai_transfer_take_number(reader, UDPAI_MARK_OUTCOMES - 1);
        report->took_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    }
}

static udpai_report *
take_report(udpai_transfer_reader *reader)
{
    const head of = take_head(reader, report_shapes, UDPAI_REPORT_KINDS, ALL_REPORT_FLAGS);
    udpai_report *report =
        reader->err == UDPA_OK ? udpai_report_new((udpai_report_kind)of.kind) : NULL;
    if (!report) {
        udpai_transfer_out_of_memory(reader);
        return NULL;
    }
    report->session = of.session;
    report->link = of.link;
    report->ticket = of.ticket;
    report->is_extended = of.flags & IS_EXTENDED;
    report->subscribed = of.flags & IS_SUBSCRIBED;
    report->is_disowned = of.flags & IS_DISOWNED;
    report->is_client = of.flags & IS_CLIENT;
    take_report_parts(reader, of.has, report);
    return report;
}

udpa_err
udpai_report_decode(udpai_transfer *transfer,
                    udpai_str bytes,
                    udpai_report **ret_report,
                    udpa_error **ret_error)
{
    udpai_transfer_reader reader;
    UDPA_AUTO(udpai_report_free)
    udpai_report *report = begin(&reader, transfer, bytes) ? take_report(&reader) : NULL;
    udpa_err err = end(&reader, ret_error);
    if (err == UDPA_OK)
        *ret_report = UDPAI_TAKE(report);
    return err;
}
