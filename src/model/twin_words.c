/* SPDX-License-Identifier: Apache-2.0 */
#include "model/twin_words.h"

#include "base/percent.h"
#include "model/resource.h"

/* With its percent signs; longer ids are not told of. */
#define FIELD_MAX UDPAI_AUTHORITY_MAX

/* It goes on to others, in a Node that must be one for all of them. */
static bool
is_field(udpai_str field)
{
    for (size_t i = 0; i < field.len; i++)
        if (field.data[i] <= ' ' || field.data[i] >= 0x7f)
            return false;
    return field.len > 0 && field.len <= FIELD_MAX;
}

static bool
read_word(udpai_str line, udpai_twin_word *ret_word)
{
    uint64_t distance;
    if (!udpai_str_cut(&line, ' ', &ret_word->node_id) || !is_field(ret_word->node_id) ||
        !udpai_str_cut(&line, ' ', &ret_word->met) || !is_field(ret_word->met) ||
        !udpai_str_cut(&line, ' ', &ret_word->by) || !is_field(ret_word->by) ||
        !udpai_str_number(line, &distance) || distance > UDPAI_TWIN_DISTANCE_MAX)
        return false;
    ret_word->distance = (unsigned)distance;
    return true;
}

bool
udpai_twin_words_next(udpai_str *text, udpai_twin_word *ret_word)
{
    udpai_str line;
    while (udpai_str_cut(text, '\n', &line))
        if (read_word(line, ret_word))
            return true;
    return false;
}

static int
compare(const udpai_twin_word *a, const udpai_twin_word *b)
{
    int order = udpai_str_cmp(a->node_id, b->node_id);
    if (order == 0)
        order = udpai_str_cmp(a->met, b->met);
    return order ? order : udpai_str_cmp(a->by, b->by);
}

void
udpai_twin_words_add(udpai_twin_words *words, const udpai_twin_word *word)
{
    size_t at = 0;
    while (at < words->n && compare(&words->items[at], word) < 0)
        at++;
    udpai_twin_word *place = &words->items[at];
    if (at < words->n && compare(place, word) == 0) {
        if (word->distance < place->distance)
            place->distance = word->distance;
        return;
    }
    if (at == UDPAI_TWIN_WORDS_MAX)
        return;
    size_t n_behind = words->n - at - (words->n == UDPAI_TWIN_WORDS_MAX);
    memmove(place + 1, place, n_behind * sizeof(*place));
    *place = *word;
    words->n = at + 1 + n_behind;
}

void
udpai_twin_words_put(const udpai_twin_words *words, udpai_strbuf *text)
{
    for (size_t i = 0; i < words->n; i++) {
        const udpai_twin_word *word = &words->items[i];
        const udpai_str fields[] = {word->node_id, word->met, word->by};
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(fields); k++) {
            udpai_strbuf_str(text, fields[k]);
            udpai_strbuf_putc(text, ' ');
        }
        udpai_strbuf_printf(text, "%u\n", word->distance);
    }
}

void
udpai_twin_words_put_own(udpai_strbuf *text, udpai_str node_id, udpai_str met, udpai_str by)
{
    const udpai_str fields[] = {node_id, met, by};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fields); i++) {
        udpai_percent_encode_segment(text, fields[i]);
        udpai_strbuf_putc(text, ' ');
    }
    udpai_strbuf_puts(text, "0\n");
}
