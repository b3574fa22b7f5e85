/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says to a client of `udpactl bench`. The first byte says the protocol, and whether
 * versions are learned; the second how the rest is cut: what is known of it is the same as of the
 * whole. */
#include "tests/fuzz/fuzz.h"
#include "tools/bench/stream.h"

#define N_LEARNED 4

struct told {
    udpai_load_stream stream;
    udpai_load_version versions[N_LEARNED];
    size_t n_messages, n_bytes;
    uint64_t hash; /* of all that was told */
};

static void
note(struct told *told, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++)
        told->hash = (told->hash ^ bytes[i]) * 0x100000001b3u;
}

static void
note_text(struct told *told, const udpai_load_text *text)
{
    FUZZ_CHECK(text->len <= sizeof(text->text));
    note(told, text->text, text->len);
    note(told, &text->len, 1);
}

static void
on_message(void *userdata, const udpai_load_stream *stream)
{
    struct told *told = userdata;
    told->n_messages++;
    FUZZ_CHECK(stream->n_resources <= told->n_bytes);
    FUZZ_CHECK(stream->nonce.len < sizeof(stream->nonce.text));
    FUZZ_CHECK(stream->version.len < sizeof(stream->version.text));
    note(told, &stream->n_resources, sizeof(stream->n_resources));
    note(told, (const bool[]){stream->is_receipt, stream->is_rejected, stream->wants_receipt}, 3);
    note_text(told, &stream->nonce);
    note_text(told, &stream->version);
    note_text(told, &stream->reason);
}

static bool
stream(struct told *told, uint8_t kind, udpai_str rest, size_t step)
{
    *told = (struct told){.n_bytes = rest.len};
    told->stream = (udpai_load_stream){
        .protocol = (udpai_load_protocol)(kind % 3),
        .message = on_message,
        .userdata = told,
        .learned = kind & 128 ? told->versions : NULL,
        .n_learned = N_LEARNED,
    };
    bool is_good = true;
    while (rest.len && is_good)
        is_good = udpai_load_stream_read(&told->stream, fuzz_take(&rest, step));
    FUZZ_CHECK(is_good || !udpai_load_stream_read(&told->stream, UDPAI_STR("\0\0\0\0\0")));
    return is_good;
}

static void
compare(const struct told *a, const struct told *b)
{
    FUZZ_CHECK(a->n_messages == b->n_messages && a->hash == b->hash);
    for (size_t i = 0; i < N_LEARNED; i++) {
        const udpai_load_version *one = &a->versions[i], *other = &b->versions[i];
        FUZZ_CHECK(
            udpai_str_eq((udpai_str){one->text, one->len}, (udpai_str){other->text, other->len}));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct told whole, pieces;
    udpai_str input = {(const char *)data, size};
    uint8_t kind = fuzz_take_byte(&input);
    size_t step = fuzz_take_byte(&input) % 32 + 1;
    bool is_good = stream(&whole, kind, input, SIZE_MAX);
    FUZZ_CHECK(stream(&pieces, kind, input, step) == is_good);
    compare(&whole, &pieces);
    return 0;
}
