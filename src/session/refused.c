/* SPDX-License-Identifier: Apache-2.0 */
/* The list is short, so that the oldest is dropped by moving the others up. */
#include "session/refused.h"

#include "base/alloc.h"

static void
free_refused(udpai_refused *refused)
{
    udpa_error_unref(refused->error);
    udpai_free(refused);
}

static void
drop(udpai_refused_list *list, size_t index)
{
    free_refused(list->items[index]);
    list->n--;
    memmove(list->items + index, list->items + index + 1, (list->n - index) * sizeof(*list->items));
}

/* ---- ranges ---- */

void
udpai_refused_range_add(udpai_refused_range *range, const udpai_refused_range *more)
{
    bool is_first = !range->error;
    if (is_first || more->low < range->low)
        range->low = more->low;
    if (is_first || more->high > range->high)
        range->high = more->high;
    udpa_error *error = udpa_error_ref(more->error);
    udpa_error_unref(range->error);
    range->error = error;
    range->at_us = more->at_us;
}

bool
udpai_refused_range_meets(const udpai_refused_range *range, uint64_t from, uint64_t to)
{
    return range->error && range->low <= to && range->high >= from;
}

static void
clear(udpai_refused_range *range)
{
    udpa_error_unref(range->error);
    *range = (udpai_refused_range){0};
}

/* ---- the last ones ---- */

static udpai_refused *
copy(const udpai_refused *from)
{
    udpai_refused *refused =
        udpai_alloc(sizeof(*refused) + from->name.len + from->version.len + from->good.len);
    if (!refused)
        return NULL;
    char *at = (char *)(refused + 1);
    *refused = *from;
    refused->name = udpai_str_put(&at, from->name);
    refused->version = udpai_str_put(&at, from->version);
    refused->good = udpai_str_put(&at, from->good);
    udpa_error_ref(refused->error);
    return refused;
}

static const udpai_refused *
find_noted(const udpai_refusals *refusals, udpai_str name, uint64_t seq)
{
    for (size_t i = refusals->last.n; seq && i-- > 0;)
        if (refusals->last.items[i]->seq == seq &&
            udpai_str_eq(refusals->last.items[i]->name, name))
            return refusals->last.items[i];
    return NULL;
}

/* What it was sent before may have been refused, too: then it has what it had before that. */
void
udpai_refusals_find_good(const udpai_refusals *refusals,
                         const udpai_subscription *subscription,
                         udpai_ack_position place,
                         udpai_refused *refused,
                         udpai_had *room)
{
    const udpai_had_question asked = {refused->name, refused->seq, place};
    const udpai_refused_range *others = &refusals->others;
    refused->good = (udpai_str){0};
    if (refused->seq == 0 || !udpai_subscription_had(subscription, &asked, room))
        return;
    const udpai_refused *before = find_noted(refusals, refused->name, room->seq);
    if (before)
        refused->good = before->good;
    else if (!others->error || room->seq < others->low || room->seq > others->high)
        refused->good = room->version;
}

/* That it was refused is not forgotten with its name. */
static void
drop_oldest(udpai_refusals *refusals)
{
    const udpai_refused *oldest = refusals->last.items[0];
    const udpai_refused_range range = {oldest->seq, oldest->seq, oldest->error, oldest->at_us};
    if (oldest->seq)
        udpai_refused_range_add(&refusals->others, &range);
    drop(&refusals->last, 0);
}

void
udpai_refusals_add(udpai_refusals *refusals, const udpai_refused *what)
{
    udpai_refused *refused = copy(what);
    if (!refused)
        return;
    if (refusals->last.n == UDPAI_REFUSED_KEPT)
        drop_oldest(refusals);
    if (!udpai_vector_push(&refusals->last, refused))
        free_refused(refused);
}

void
udpai_refusals_forget_range(udpai_refusals *refusals, uint64_t low, uint64_t high)
{
    for (size_t i = refusals->last.n; i-- > 0;) {
        uint64_t seq = refusals->last.items[i]->seq;
        if (seq && seq >= low && seq <= high)
            drop(&refusals->last, i);
    }
    if (refusals->others.error && low <= refusals->others.low && high >= refusals->others.high)
        clear(&refusals->others);
}

void
udpai_refusals_forget(udpai_refusals *refusals, uint64_t seq)
{
    if (seq)
        udpai_refusals_forget_range(refusals, seq, seq);
}

void
udpai_refusals_accept(udpai_refusals *refusals, udpai_str name, uint64_t seq)
{
    for (size_t i = refusals->last.n; i-- > 0;)
        if (refusals->last.items[i]->seq < seq && udpai_str_eq(refusals->last.items[i]->name, name))
            drop(&refusals->last, i);
    udpai_refusals_forget(refusals, seq);
}

bool
udpai_refusals_any(const udpai_refusals *refusals)
{
    return refusals->last.n || refusals->others.error;
}

bool
udpai_refusals_has(const udpai_refusals *refusals, uint64_t seq)
{
    const udpai_refused_range *others = &refusals->others;
    for (size_t i = 0; seq && i < refusals->last.n; i++)
        if (refusals->last.items[i]->seq == seq)
            return true;
    return seq && others->error && others->low == seq && others->high == seq;
}

bool
udpai_refusals_find(const udpai_refusals *refusals,
                    udpai_str name,
                    uint64_t seq,
                    udpai_refused *ret_refused)
{
    const udpai_refused *noted = find_noted(refusals, name, seq);
    if (noted) {
        *ret_refused = *noted;
        return true;
    }
    const udpai_refused_range *others = &refusals->others;
    if (!others->error || seq < others->low || seq > others->high)
        return false;
    *ret_refused = (udpai_refused){
        .error = others->error,
        .at_us = others->at_us,
        .is_certain = others->low == others->high ||
                      udpai_refusal_names(udpai_str_from(udpa_error_message(others->error)), name),
    };
    return true;
}

void
udpai_refusals_done(udpai_refusals *refusals)
{
    while (refusals->last.n)
        free_refused(refusals->last.items[--refusals->last.n]);
    udpai_vector_done(&refusals->last);
    clear(&refusals->others);
    clear(&refusals->removals);
}

/* ---- what a text speaks of ---- */

static bool
is_part_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* "web.v2" is not spoken of by "web", but a sentence may end with it; nor is "web?k=1". */
static bool
goes_on(udpai_str text, size_t at)
{
    if (at < text.len && memchr("./?&%", text.data[at], 5))
        at++;
    return at < text.len && is_part_of_word(text.data[at]);
}

static bool
came_from(udpai_str text, size_t at)
{
    return at > 0 && (is_part_of_word(text.data[at - 1]) || text.data[at - 1] == '.');
}

bool
udpai_refusal_spells(udpai_str text, udpai_str name)
{
    if (name.len == 0)
        return false;
    for (size_t at = 0; at + name.len <= text.len; at++) {
        const char *found = memmem(text.data + at, text.len - at, name.data, name.len);
        if (!found)
            return false;
        at = (size_t)(found - text.data);
        if (!came_from(text, at) && !goes_on(text, at + name.len))
            return true;
    }
    return false;
}

/* Peers know a name with its namespace or without: both end with the id. */
bool
udpai_refusal_names(udpai_str text, udpai_str full_name)
{
    const char *slash = full_name.len ? memchr(full_name.data, '/', full_name.len) : NULL;
    if (!slash)
        return udpai_refusal_spells(text, full_name);
    size_t skip = (size_t)(slash - full_name.data) + 1;
    return udpai_refusal_spells(text, (udpai_str){slash + 1, full_name.len - skip});
}
