/* SPDX-License-Identifier: Apache-2.0 */
#include "model/lineage.h"

static udpai_str
take_word(udpai_str *text)
{
    udpai_str word = *text;
    if (!udpai_str_cut(text, ' ', &word))
        *text = (udpai_str){0};
    return word;
}

static bool
read_opening(udpai_str word, udpai_str *ret_id, uint64_t *ret_number)
{
    return udpai_str_cut(&word, '@', ret_id) && ret_id->len && udpai_str_number(word, ret_number);
}

udpai_str
udpai_lineage_epoch(udpai_str lineage)
{
    return take_word(&lineage);
}

udpai_str
udpai_lineage_last(udpai_str lineage)
{
    udpai_str id, last = {0};
    uint64_t number;
    (void)take_word(&lineage);
    while (lineage.len)
        if (read_opening(take_word(&lineage), &id, &number))
            last = id;
    return last;
}

/* The opening after the one that was seen began no earlier than with what was seen. */
static bool
continues(udpai_str openings, udpai_str seen, uint64_t seen_commit)
{
    bool is_found = false;
    while (openings.len) {
        udpai_str id;
        uint64_t number;
        if (!read_opening(take_word(&openings), &id, &number))
            return false;
        if (is_found)
            return number >= seen_commit;
        is_found = udpai_str_eq(id, seen);
    }
    return is_found;
}

bool
udpai_lineage_comes_from(udpai_str lineage, udpai_str seen, uint64_t seen_commit)
{
    if (!udpai_str_eq(take_word(&lineage), take_word(&seen)))
        return false;
    return seen.len == 0 || continues(lineage, seen, seen_commit);
}
