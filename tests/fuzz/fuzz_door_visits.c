/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of udpad's own listener that serves more than gRPC, from its first byte: whatever
 * comes, each visit is over in the end, once, what is reserved for it is given back, and a
 * connection is handed over at most once. The input's first byte says how it is cut, whether a
 * request that is held is answered, and whether there is room for large bodies. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/transport/door_bed.h"

#define ROOM ((size_t)1 << 20)
#define ANSWER_BYTES 800 /* more than the largest answer of the bed takes */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    door_bed bed;
    door_peer peer;
    const uint8_t how = fuzz_take_byte(&input);
    const size_t step = 1 + (size_t)(how & 0x3f) * 64;
    FUZZ_CHECK(door_bed_open_serving(&bed) == UDPA_OK);
    FUZZ_CHECK(door_bed_connect(&bed, &peer, "192.0.2.1:1") == UDPA_OK);
    bed.room = how & 0x80 ? 0 : ROOM;
    size_t room = bed.room;
    while (input.len && !peer.is_over) {
        udpai_strbuf_str(&peer.to, fuzz_take(&input, step));
        door_bed_run(&bed, &peer);
        if (bed.held && how & 0x40) {
            door_bed_answer(bed.held, 200, "late");
            bed.held = udpai_visit_unref(bed.held);
        }
    }
    FUZZ_CHECK(bed.n_handed <= 1 && bed.n_visits <= size);
    FUZZ_CHECK(!bed.n_handed || (bed.n_visits == 0 && peer.from.len == 0));
    FUZZ_CHECK(peer.from.len <= 4096 + size * ANSWER_BYTES);
    door_peer_close(&peer);
    door_bed_close(&bed);
    udpai_visit_unref(bed.held);
    FUZZ_CHECK(bed.n_open == 0 && bed.room == room);
    FUZZ_CHECK(bed.n_over == bed.n_visits && bed.n_admitted == bed.n_dismissed);
    return 0;
}
