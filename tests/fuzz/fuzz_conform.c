/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the conformance suite: the first byte says which protocol, the rest is what a
 * server says, message by message, each with its length in a byte. Whatever it is, the script goes
 * on or ends with words, and what was noted can be shown. */
#include "tools/conform/script.h"

#include "tests/fuzz/fuzz.h"

typedef struct server {
    const uint8_t *at, *end;
    uint64_t now_ms;
} server;

static void *
open_call(void *self, const char *path)
{
    (void)path;
    return self;
}

static void
take(void *call, udpai_str message)
{
    (void)call, (void)message;
}

static void
end_call(void *call)
{
    (void)call;
}

static udpai_received
receive(void *call, uint64_t timeout_ms, udpai_str *ret_message)
{
    server *self = call;
    if (self->at == self->end) {
        self->now_ms += timeout_ms;
        return UDPAI_RECEIVED_NOTHING;
    }
    size_t len = *self->at++;
    len = udpai_min_size(len, (size_t)(self->end - self->at));
    *ret_message = (udpai_str){(const char *)self->at, len};
    self->at += len;
    return UDPAI_RECEIVED_MESSAGE;
}

static udpai_call_status
status(const void *call)
{
    (void)call;
    return (udpai_call_status){0};
}

static uint64_t
now_ms(void *self)
{
    return ((server *)self)->now_ms;
}

static void
converse(udpai_stage *stage, bool is_delta)
{
    udpai_script script;
    udpai_script_init(&script, stage);
    script.is_delta = is_delta;
    script.is_aggregated = true;
    udpai_test_session *session = udpai_test_session_open(&script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_NAMES("*", "a"));
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_NAMES("a"));
    udpai_expect_removed(session, UDPAI_CLUSTER, "a");
    (void)udpai_update_of_any_name(session, UDPAI_CLUSTER, "a");
    (void)udpai_error_of(session, UDPAI_CLUSTER, "a");
    udpai_expect_nothing_of(session, UDPAI_CLUSTER, NULL);
    FUZZ_CHECK(udpai_is_running(&script) || script.why.len > 0);
    for (size_t i = 0; i < session->updates.n; i++)
        FUZZ_CHECK(session->updates.items[i].response <= session->responses.n);
    udpai_script_done(&script);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static udpai_stage stage;
    if (size == 0)
        return 0;
    server self = {data + 1, data + size, 0};
    const udpai_peer peer = {open_call, take, end_call, receive, status, end_call, now_ms, &self};
    stage = (udpai_stage){.peer = &peer, .timeout_ms = 10, .quiet_ms = 5};
    udpai_xds_server_init(&stage.methods);
    udpai_world_init(&stage.world, "conform", NULL);
    udpai_world_learn(&stage.world, UDPAI_CLUSTER, UDPAI_STR("a"));
    converse(&stage, data[0] & 1);
    udpai_world_done(&stage.world);
    return 0;
}
