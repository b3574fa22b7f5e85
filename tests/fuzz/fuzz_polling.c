/* SPDX-License-Identifier: Apache-2.0 */
/* A polled server that answers anything, and a session that says anything. Each byte is a step:
 * time passes, an answer comes, the session speaks, stops reading, or begins anew. One request of
 * a type is under way at a time, and not too soon behind the one before; the session is shown whole
 * responses of the right type while it reads, one of a type until it has judged that; and whoever
 * has failed is not asked any more. */
#include "xds/polling.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "tests/fuzz/fuzz.h"

typedef struct bed {
    udpai_wheel wheel;
    udpai_polled_server *server;
    udpai_polling *polling;
    bool is_under_way[UDPAI_XDS_POLLS], is_cancelled[UDPAI_XDS_POLLS], is_shown[UDPAI_XDS_POLLS];
    uint64_t asked_ms[UDPAI_XDS_POLLS];
    bool has_asked[UDPAI_XDS_POLLS];
    char nonces[UDPAI_XDS_POLLS][16]; /* of what is shown */
    size_t nonce_len;
    bool is_reading, has_failed;
} bed;

/* The last text of this number; the message must be whole. */
static udpai_str
text_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpai_str text = {NULL, 0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            text = field.bytes;
    FUZZ_CHECK(!reader.failed);
    return text;
}

/* ---- the surroundings ---- */

static udpa_err
on_begin(void *userdata, const udpai_polling_request *request)
{
    bed *self = userdata;
    size_t index = request->index;
    udpai_str message = udpai_bytes_view(request->message);
    FUZZ_CHECK(!self->has_failed && index < UDPAI_XDS_POLLS);
    FUZZ_CHECK(!self->is_under_way[index] && !self->is_shown[index]);
    FUZZ_CHECK(!self->has_asked[index] ||
               self->wheel.now_ms >= self->asked_ms[index] + UDPAI_POLLING_GAP_MS);
    FUZZ_CHECK(udpai_str_eq(text_of(message, 2), UDPAI_STR("node")));
    FUZZ_CHECK(udpai_xds_rest_index(text_of(message, 4)) == index);
    FUZZ_CHECK(!text_of(message, 5).data && !text_of(message, 6).data);
    self->is_under_way[index] = self->has_asked[index] = true;
    self->asked_ms[index] = self->wheel.now_ms;
    return UDPA_OK;
}

static void
on_cancel(void *userdata, size_t index)
{
    bed *self = userdata;
    FUZZ_CHECK(self->is_under_way[index] && !self->is_cancelled[index]);
    self->is_cancelled[index] = true;
}

static void
on_deliver(void *userdata, udpai_str response, const udpai_trace *trace)
{
    bed *self = userdata;
    (void)trace;
    size_t index = udpai_xds_rest_index(text_of(response, 4));
    udpai_str nonce = text_of(response, 5);
    FUZZ_CHECK(self->is_reading && !self->has_failed);
    FUZZ_CHECK(index < UDPAI_XDS_POLLS && !self->is_shown[index] && !self->is_under_way[index]);
    FUZZ_CHECK(nonce.len && nonce.len <= sizeof(self->nonces[0]));
    self->is_shown[index] = true;
    memcpy(self->nonces[index], nonce.data, nonce.len);
    self->nonce_len = nonce.len;
}

static void
on_fail(void *userdata, udpa_error *error)
{
    bed *self = userdata;
    FUZZ_CHECK(!self->has_failed);
    self->has_failed = true;
    udpa_error_unref(error);
}

static uint64_t
on_random(void *userdata)
{
    return ((bed *)userdata)->wheel.now_ms * 7;
}

/* ---- steps ---- */

static void
begin_stream(bed *self)
{
    const udpai_polling_ops ops = {on_begin, on_cancel, on_deliver, on_fail, on_random, self};
    udpai_polling_free(self->polling);
    memset(self->is_under_way, 0, sizeof(self->is_under_way));
    memset(self->is_cancelled, 0, sizeof(self->is_cancelled));
    memset(self->is_shown, 0, sizeof(self->is_shown));
    memset(self->has_asked, 0, sizeof(self->has_asked));
    self->is_reading = true;
    self->has_failed = false;
    self->polling = udpai_polling_new(self->server, &self->wheel, &ops);
    FUZZ_CHECK(self->polling);
}

static void
answer(bed *self, udpai_str *input)
{
    uint8_t how = fuzz_take_byte(input);
    size_t index = how % UDPAI_XDS_POLLS;
    udpai_polling_response answer = {.outcome = (how / UDPAI_XDS_POLLS) % 3,
                                     .server_holds = how & 0x80};
    if (!self->is_under_way[index])
        return;
    if (answer.outcome == UDPAI_POLLING_NEW)
        answer.message = fuzz_take_text(input);
    self->is_under_way[index] = self->is_cancelled[index] = false;
    udpai_polling_receive(self->polling, index, &answer);
}

static udpa_err
say(bed *self, udpai_str *input)
{
    uint8_t how = fuzz_take_byte(input);
    size_t index = how % UDPAI_XDS_POLLS;
    char room[600];
    udpai_proto_writer writer = {(uint8_t *)room, 0};
    bool judges = (how & 0x10) && self->is_shown[index];
    udpai_proto_put_raw(&writer, fuzz_take_text(input));
    udpai_proto_put_bytes(&writer, 4, udpai_xds_rest_type(index));
    udpai_proto_put_bytes(
        &writer, 5, judges ? (udpai_str){self->nonces[index], self->nonce_len} : UDPAI_STR("?"));
    if (judges)
        self->is_shown[index] = false;
    udpa_err err = udpai_polling_send(self->polling, (udpai_str){room, writer.size});
    FUZZ_CHECK(err == UDPA_OK || err == UDPA_ERR_MALFORMED);
    return err;
}

static void
step(bed *self, udpai_str *input)
{
    uint8_t what = fuzz_take_byte(input);
    switch (what % 6) {
    case 0:
    case 1:
        udpai_wheel_advance(&self->wheel, self->wheel.now_ms + what * 4U);
        break;
    case 2:
    case 3:
        answer(self, input);
        break;
    case 4:
        if (say(self, input) != UDPA_OK)
            begin_stream(self);
        break;
    default:
        if (what & 0x40) {
            begin_stream(self);
        } else {
            self->is_reading = !self->is_reading;
            udpai_polling_set_reading(self->polling, self->is_reading);
        }
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    bed self = {0};
    udpai_wheel_init(&self.wheel, 1);
    self.server = udpai_polled_server_new(
        &(udpai_polling_options){.node = UDPAI_STR("node"), .refresh_ms = 300});
    FUZZ_CHECK(self.server);
    begin_stream(&self);
    while (input.len)
        step(&self, &input);
    udpai_polling_free(self.polling);
    udpai_polled_server_free(self.server);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
