/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/client_versions.h"

#define WORD_BITS 64
#define WORDS 16 /* of a piece */
#define PIECE_BITS ((size_t)WORDS * WORD_BITS)

struct udpai_versions_piece {
    uint64_t words[WORDS];
};

/* The word that has the bit; NULL: its piece is not there. */
static uint64_t *
find_word(const udpai_client_versions *versions, size_t number)
{
    size_t piece = number / PIECE_BITS;
    if (piece >= versions->pieces.n || !versions->pieces.items[piece])
        return NULL;
    return &versions->pieces.items[piece]->words[number % PIECE_BITS / WORD_BITS];
}

static uint64_t
bit_of(size_t number)
{
    return UINT64_C(1) << number % WORD_BITS;
}

bool
udpai_client_versions_has(const udpai_client_versions *versions, uint32_t number)
{
    const uint64_t *word = find_word(versions, number);
    return word && *word & bit_of(number);
}

static bool
make_piece(udpai_client_versions *versions, size_t piece)
{
    size_t n = versions->pieces.n;
    if (piece >= n) {
        if (!udpai_vector_reserve_in(versions->memory, &versions->pieces, piece + 1 - n))
            return false;
        memset(versions->pieces.items + n, 0, (piece + 1 - n) * sizeof(*versions->pieces.items));
        versions->pieces.n = piece + 1;
    }
    return (versions->pieces.items[piece] =
                udpai_alloc_in(versions->memory, sizeof(udpai_versions_piece)));
}

bool
udpai_client_versions_add(udpai_client_versions *versions, uint32_t number, bool *ret_added)
{
    uint64_t *word = find_word(versions, number);
    if (!word && !make_piece(versions, number / PIECE_BITS))
        return false;
    word = word ? word : find_word(versions, number);
    *ret_added = !(*word & bit_of(number));
    *word |= bit_of(number);
    versions->n += *ret_added;
    return true;
}

bool
udpai_client_versions_remove(udpai_client_versions *versions, uint32_t number)
{
    uint64_t *word = find_word(versions, number);
    if (!word || !(*word & bit_of(number)))
        return false;
    *word &= ~bit_of(number);
    if (--versions->n == 0)
        udpai_client_versions_done(versions);
    return true;
}

udpai_item *
udpai_client_versions_next(const udpai_client_versions *versions,
                           const udpai_numbers *numbers,
                           size_t *position)
{
    while (*position < versions->pieces.n * PIECE_BITS) {
        const uint64_t *word = find_word(versions, *position);
        size_t step = word ? WORD_BITS : PIECE_BITS;
        uint64_t left = word ? *word >> *position % WORD_BITS : 0;
        if (left) {
            size_t number = *position + (size_t)__builtin_ctzll(left);
            *position = number + 1;
            return udpai_numbers_item(numbers, number);
        }
        *position = (*position / step + 1) * step;
    }
    return NULL;
}

void
udpai_client_versions_done(udpai_client_versions *versions)
{
    for (size_t i = 0; i < versions->pieces.n; i++)
        udpai_free_in(versions->memory, versions->pieces.items[i], sizeof(udpai_versions_piece));
    udpai_vector_done_in(versions->memory, &versions->pieces);
    versions->n = 0;
}
