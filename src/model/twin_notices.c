/* SPDX-License-Identifier: Apache-2.0 */
#include "model/twin_notices.h"

#include "base/percent.h"
#include "model/resource.h"

/* With its percent signs; longer ids are left out. */
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
read_notice(udpai_str line, udpai_twin_notice *ret_notice)
{
    uint64_t distance;
    if (!udpai_str_cut(&line, ' ', &ret_notice->node_id) || !is_field(ret_notice->node_id) ||
        !udpai_str_cut(&line, ' ', &ret_notice->met) || !is_field(ret_notice->met) ||
        !udpai_str_cut(&line, ' ', &ret_notice->by) || !is_field(ret_notice->by) ||
        !udpai_str_number(line, &distance) || distance > UDPAI_TWIN_DISTANCE_MAX)
        return false;
    ret_notice->distance = (unsigned)distance;
    return true;
}

bool
udpai_twin_notices_next(udpai_str *text, udpai_twin_notice *ret_notice)
{
    udpai_str line;
    while (udpai_str_cut(text, '\n', &line))
        if (read_notice(line, ret_notice))
            return true;
    return false;
}

static int
compare(const udpai_twin_notice *a, const udpai_twin_notice *b)
{
    int order = udpai_str_cmp(a->node_id, b->node_id);
    if (order == 0)
        order = udpai_str_cmp(a->met, b->met);
    return order ? order : udpai_str_cmp(a->by, b->by);
}

void
udpai_twin_notices_add(udpai_twin_notices *notices, const udpai_twin_notice *notice)
{
    size_t at = 0;
    while (at < notices->n && compare(&notices->items[at], notice) < 0)
        at++;
    udpai_twin_notice *place = &notices->items[at];
    if (at < notices->n && compare(place, notice) == 0) {
        if (notice->distance < place->distance)
            place->distance = notice->distance;
        return;
    }
    if (at == UDPAI_TWIN_NOTICES_MAX)
        return;
    size_t n_behind = notices->n - at - (notices->n == UDPAI_TWIN_NOTICES_MAX);
    memmove(place + 1, place, n_behind * sizeof(*place));
    *place = *notice;
    notices->n = at + 1 + n_behind;
}

void
udpai_twin_notices_put(const udpai_twin_notices *notices, udpai_strbuf *text)
{
    for (size_t i = 0; i < notices->n; i++) {
        const udpai_twin_notice *notice = &notices->items[i];
        const udpai_str fields[] = {notice->node_id, notice->met, notice->by};
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(fields); k++) {
            udpai_strbuf_str(text, fields[k]);
            udpai_strbuf_putc(text, ' ');
        }
        udpai_strbuf_printf(text, "%u\n", notice->distance);
    }
}

void
udpai_twin_notices_put_own(udpai_strbuf *text, udpai_str node_id, udpai_str met, udpai_str by)
{
    const udpai_str fields[] = {node_id, met, by};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fields); i++) {
        udpai_percent_encode_segment(text, fields[i]);
        udpai_strbuf_putc(text, ' ');
    }
    udpai_strbuf_puts(text, "0\n");
}
