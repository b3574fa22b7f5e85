/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/changer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "loop/dial.h"

#define PATIENCE_MS 10000 /* of the control connection */
#define TURN_MS 100
#define RECEIPTS_AHEAD 64 /* messages that no receipt has come for */
#define RECORD_LEN 12

/* ---- what the node sends ---- */

static void
note_error(udpai_changer *changer, udpa_err code, const char *what, udpai_str reason)
{
    if (changer->code != UDPA_OK)
        return;
    changer->code = code;
    udpai_strbuf_printf(&changer->error, "%s: %s%.*s", changer->options->publish_to, what,
                        UDPAI_SHOWN(reason));
}

static uint64_t
serial_of(udpai_str nonce)
{
    uint64_t number = 0;
    for (size_t i = 0; i < nonce.len && nonce.data[i] >= '0' && nonce.data[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(nonce.data[i] - '0');
    return number ? number - 1 : 0;
}

static void
on_message(void *userdata, const udpai_load_stream *stream)
{
    udpai_changer *changer = userdata;
    if (stream->is_receipt)
        changer->n_receipts++;
    if (stream->is_receipt && changer->received)
        changer->received(changer->userdata, serial_of(udpai_load_text_view(&stream->nonce)));
    if (stream->is_receipt && stream->is_rejected)
        note_error(changer, UDPA_ERR_DENIED, "what was published is refused: ",
                   stream->reason.len ? udpai_load_text_view(&stream->reason)
                                      : UDPAI_STR("it does not say why"));
}

static void
on_data(void *userdata, size_t stream, udpai_str bytes)
{
    udpai_changer *changer = userdata;
    (void)stream;
    if (!udpai_load_stream_read(&changer->stream, bytes))
        note_error(changer, UDPA_ERR_MALFORMED, "what it says cannot be read", UDPAI_STR(""));
}

static void
on_ready(void *userdata)
{
    udpai_changer *changer = userdata;
    changer->is_ready = true;
}

static void
on_ended(void *userdata, size_t stream, const char *reason)
{
    (void)stream;
    note_error(userdata, UDPA_ERR_ABORTED,
               "the stream to publish on was ended: ", udpai_str_from(reason));
}

static void
on_broken(void *userdata, const char *reason)
{
    note_error(userdata, UDPA_ERR_UNAVAILABLE,
               "the connection to publish on is lost: ", udpai_str_from(reason));
}

static udpa_err
check(const udpai_changer *changer, udpa_error **ret_error)
{
    if (changer->code == UDPA_OK)
        return UDPA_OK;
    if (udpai_strbuf_failed(&changer->error))
        return udpai_fail_code(ret_error, changer->code);
    return udpai_fail(ret_error, changer->code, "%s", changer->error.data);
}

/* ---- publishing ---- */

static void
publish(udpai_changer *changer, const udpai_load_publication *publication)
{
    udpai_strbuf *out = udpai_link_out(changer->link, 0);
    udpai_load_put_publication(out, publication);
    if (udpai_strbuf_failed(out))
        note_error(changer, UDPA_ERR_NOMEM, "nothing can be sent: ", UDPAI_STR("out of memory"));
    udpai_link_flush(changer->link);
}

/* Waits until fewer messages than these have no receipt. */
static udpa_err
await_receipts(udpai_changer *changer, uint64_t n_sent, uint64_t n_ahead, udpa_error **ret_error)
{
    uint64_t n = changer->n_receipts, last_ms = udpai_monotonic_ms();
    udpa_err err = check(changer, ret_error);
    while (err == UDPA_OK && n_sent - changer->n_receipts > n_ahead) {
        udpai_load_loop_run(changer->loop, TURN_MS);
        udpai_load_loop_report(changer->loop, "publications", changer->n_receipts,
                               changer->n_publications);
        if (n != changer->n_receipts)
            last_ms = udpai_monotonic_ms();
        n = changer->n_receipts;
        err = check(changer, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() - last_ms > changer->options->patience_ms)
            err = udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                             "%s: no receipt has come for what was published",
                             changer->options->publish_to);
    }
    return err;
}

/* Of one namespace: they lie in it by turns. */
static udpa_err
publish_space(
    udpai_changer *changer, size_t space, bool is_removal, uint64_t *n_sent, udpa_error **ret_error)
{
    const udpai_load_options *options = changer->options;
    size_t step = udpai_load_n_spaces(options);
    udpa_err err = UDPA_OK;
    for (size_t i = space; i < options->n_resources && err == UDPA_OK; i += step * options->batch) {
        const udpai_load_publication publication = {
            .contents = &changer->contents[space],
            .first = i,
            .step = step,
            .n = udpai_min_size(options->batch, udpai_load_n_in_space(options, i)),
            .wants_receipt = true,
            .is_removal = is_removal,
        };
        publish(changer, &publication);
        err = await_receipts(changer, ++*n_sent, RECEIPTS_AHEAD, ret_error);
    }
    return err;
}

udpa_err
udpai_changer_fill(udpai_changer *changer, udpa_error **ret_error)
{
    const udpai_load_options *options = changer->options;
    uint64_t n_sent = 0;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < udpai_load_n_spaces(options); i++)
        changer->n_publications +=
            (udpai_load_n_in_space(options, i) + options->batch - 1) / options->batch;
    for (size_t i = 0; i < udpai_load_n_spaces(options) && err == UDPA_OK; i++)
        err = publish_space(changer, i, false, &n_sent, ret_error);
    return err == UDPA_OK ? await_receipts(changer, n_sent, 0, ret_error) : err;
}

void
udpai_changer_clean(udpai_changer *changer)
{
    uint64_t n_sent = changer->n_receipts;
    if (!changer->link || !changer->n_publications || changer->code != UDPA_OK)
        return;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < udpai_load_n_spaces(changer->options) && err == UDPA_OK; i++)
        err = publish_space(changer, i, true, &n_sent, NULL);
    if (err == UDPA_OK)
        (void)await_receipts(changer, n_sent, 0, NULL);
}

static udpa_err
await_ready(udpai_changer *changer, udpa_error **ret_error)
{
    uint64_t deadline = udpai_monotonic_ms() + changer->options->patience_ms;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && !changer->is_ready) {
        udpai_load_loop_run(changer->loop, TURN_MS);
        err = check(changer, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() > deadline)
            err = udpai_fail(ret_error, UDPA_ERR_DEADLINE, "%s: it does not answer",
                             changer->options->publish_to);
    }
    return err;
}

static udpa_err
begin_publishing(udpai_changer *changer, udpa_error **ret_error)
{
    static const udpai_link_events events = {on_ready, on_data, on_ended, on_broken};
    char id[UDPAI_LOAD_ID_ROOM];
    udpa_err err = udpai_load_tls_new(&changer->tls, &changer->options->tls, ret_error);
    if (err == UDPA_OK)
        err = udpai_link_open(&changer->link,
                              &(udpai_link_options){
                                  .loop = changer->loop,
                                  .server = changer->options->publish_to,
                                  .tls = changer->tls,
                                  .server_name = changer->options->tls.server_name,
                                  .events = &events,
                                  .userdata = changer,
                              },
                              ret_error);
    if (err == UDPA_OK)
        err = await_ready(changer, ret_error);
    if (err != UDPA_OK)
        return err;
    changer->stream = (udpai_load_stream){
        .protocol = UDPAI_LOAD_UDPA, .message = on_message, .userdata = changer};
    if (!udpai_link_request(changer->link, udpai_load_path(UDPAI_LOAD_UDPA)))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    snprintf(id, sizeof(id), "%s-publisher", changer->options->node_id);
    udpai_load_put_node(udpai_link_out(changer->link, 0), id);
    udpai_link_flush(changer->link);
    return UDPA_OK;
}

/* ---- records ---- */

static udpa_err
begin_control(udpai_changer *changer, udpa_error **ret_error)
{
    udpai_strbuf why = {0};
    changer->control = udpai_dial(changer->options->control, PATIENCE_MS, &why);
    udpa_err err = changer->control >= 0 ? UDPA_OK : UDPA_ERR_UNAVAILABLE;
    if (err != UDPA_OK)
        err = udpai_fail(ret_error, err, "%s: %.*s", changer->options->control,
                         UDPAI_SHOWN(udpai_strbuf_view(&why)));
    udpai_strbuf_done(&why);
    return err;
}

static udpa_err
send_record(const udpai_changer *changer, size_t resource, uint64_t serial, udpa_error **ret_error)
{
    uint8_t record[RECORD_LEN];
    for (size_t i = 0; i < 4; i++)
        record[i] = (uint8_t)(resource >> 8 * (3 - i));
    for (size_t i = 0; i < 8; i++)
        record[4 + i] = (uint8_t)(serial >> 8 * (7 - i));
    size_t n_sent = 0;
    while (n_sent < sizeof(record)) {
        ssize_t n = send(changer->control, record + n_sent, sizeof(record) - n_sent, MSG_NOSIGNAL);
        if (n > 0)
            n_sent += (size_t)n;
        else if (errno != EAGAIN || !udpai_await_socket(changer->control, POLLOUT, PATIENCE_MS))
            return udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", changer->options->control,
                              strerror(errno));
    }
    return UDPA_OK;
}

udpa_err
udpai_changer_change(
    udpai_changer *changer, size_t resource, size_t n, uint64_t serial, udpa_error **ret_error)
{
    if (changer->control >= 0)
        return send_record(changer, resource, serial, ret_error);
    const udpai_load_publication publication = {
        .contents = &changer->contents[udpai_load_space_of(changer->options, resource)],
        .first = resource,
        .step = 1,
        .n = n,
        .serial = serial,
        .wants_receipt = changer->options->has_receipts,
    };
    publish(changer, &publication);
    return check(changer, ret_error);
}

/* ---- its life ---- */

bool
udpai_changer_can(const udpai_changer *changer)
{
    return changer->link || changer->control >= 0;
}

static bool
make_contents(udpai_changer *changer)
{
    size_t n = udpai_load_n_spaces(changer->options);
    changer->contents = udpai_alloc_array(n, sizeof(*changer->contents));
    for (size_t i = 0; changer->contents && i < n; i++) {
        udpai_load_space name;
        udpai_load_space_name(name, changer->options, i);
        if (!udpai_contents_make(&changer->contents[i], name, changer->options->size))
            return false;
    }
    return changer->contents != NULL;
}

udpa_err
udpai_changer_begin(udpai_changer *changer,
                    udpai_load_loop *loop,
                    const udpai_load_options *options,
                    udpa_error **ret_error)
{
    *changer = (udpai_changer){.options = options, .loop = loop, .control = -1};
    if (!make_contents(changer))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (options->publish_to)
        return begin_publishing(changer, ret_error);
    return options->control ? begin_control(changer, ret_error) : UDPA_OK;
}

void
udpai_changer_end(udpai_changer *changer)
{
    for (size_t i = 0; changer->contents && i < udpai_load_n_spaces(changer->options); i++)
        udpai_contents_done(&changer->contents[i]);
    udpai_free(changer->contents);
    udpai_link_close(changer->link);
    SSL_CTX_free(changer->tls);
    udpai_strbuf_done(&changer->error);
    if (changer->control >= 0)
        close(changer->control);
}
