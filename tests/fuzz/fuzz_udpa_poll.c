/* SPDX-License-Identifier: Apache-2.0 */
/* A FetchRequest of any bytes: it is answered, held, or refused with words; and what is held ends
 * when its client's patience does. */
#include "session/udpa_poll.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"

#define PATIENCE_MS 1000

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const udpai_udpa_polls polls;
    static const udpai_settled_facts all;
    const udpai_stream_info info = {
        .context = (void *)(uintptr_t)&polls,
        .patience_ms = PATIENCE_MS,
        .is_secure = size % 2,
    };
    const udpai_hub_options options = fake_hub_options();
    fake_hub hub;
    fake_stream stream = {0};
    fake_hub_init(&hub, &options);
    fake_hub_settle(&hub, &all);
    fake_stream_open(&stream, &hub, udpai_udpa_poll_new, &info);
    fake_stream_receive(&stream, data, size);
    udpai_session_ended(stream.session);
    fake_stream_run(&stream, &hub);
    fake_hub_advance(&hub, PATIENCE_MS);
    fake_stream_run(&stream, &hub);
    FUZZ_CHECK(stream.is_finished);
    udpa_bytes *answer = fake_stream_take(&stream);
    FUZZ_CHECK(!stream.status || !answer);
    FUZZ_CHECK(!stream.status || *udpa_error_message(stream.status));
    udpa_bytes_unref(answer);
    fake_stream_close(&stream);
    fake_hub_done(&hub);
    return 0;
}
