/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of udpad's own listener: whatever comes, each call is over in the end, once, what is
 * reserved is given back, and what is sent does not grow beyond what came. The input's first byte
 * says how it is cut, whether streams are read, and whether there is room for large messages. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/transport/door_bed.h"

#define ROOM ((size_t)1 << 20)
#define ANSWER_BYTES 400 /* more than the largest status takes */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    door_bed bed;
    door_peer peer;
    const uint8_t how = fuzz_take_byte(&input);
    const size_t step = 1 + (size_t)(how & 0x3f) * 64;
    FUZZ_CHECK(door_bed_open(&bed) == UDPA_OK);
    FUZZ_CHECK(door_bed_connect(&bed, &peer, "192.0.2.1:1") == UDPA_OK);
    bed.holds = how & 0x40;
    bed.room = how & 0x80 ? 0 : ROOM;
    size_t room = bed.room;
    udpai_strbuf_puts(&peer.to, FRAMES_PREFACE);
    while (input.len && !peer.is_over) {
        udpai_strbuf_str(&peer.to, fuzz_take(&input, step));
        door_bed_run(&bed, &peer);
        if (bed.last && bed.holds && input.len % 7 == 0)
            udpai_door_stream_set_reading(bed.last, true);
    }
    FUZZ_CHECK(bed.n_open <= bed.n_opened && bed.n_open <= size);
    FUZZ_CHECK(peer.from.len <= 4096 + size * ANSWER_BYTES);
    door_peer_close(&peer);
    door_bed_close(&bed);
    FUZZ_CHECK(bed.n_open == 0 && bed.room == room);
    return 0;
}
