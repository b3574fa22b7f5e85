/* SPDX-License-Identifier: Apache-2.0 */
/* Distance = the number of letters to insert, delete, replace or swap with their neighbour; case
 * and underscores do not count, so that both spellings of a field are near each other. */
#include "codec/suggest.h"

#include <stdio.h>

#define WORD_MAX 96 /* longer words get no suggestion */

struct word {
    char letters[WORD_MAX];
    size_t len;
};

static bool
normalise(udpai_str text, struct word *ret_word)
{
    ret_word->len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '_')
            continue;
        if (ret_word->len == WORD_MAX)
            return false;
        ret_word->letters[ret_word->len++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return true;
}

static size_t
least(size_t a, size_t b, size_t c)
{
    return udpai_min_size(a, udpai_min_size(b, c));
}

/* Optimal string alignment, with the last three rows of the table. */
static size_t
distance(const struct word *a, const struct word *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b->len; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= a->len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b->len; j++) {
            char x = a->letters[i - 1], y = b->letters[j - 1];
            row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == b->letters[j - 2] && a->letters[i - 2] == y)
                row[j] = udpai_min_size(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b->len];
}

udpai_suggestion
udpai_suggest(udpai_str written)
{
    return (udpai_suggestion){.written = written};
}

static void
note_offer(udpai_suggestion *suggestion, const char *name)
{
    for (size_t i = 0; i < suggestion->n_offered && i < UDPAI_CHOICES_SHOWN; i++)
        if (strcmp(suggestion->offered[i], name) == 0)
            return;
    if (suggestion->n_offered < UDPAI_CHOICES_SHOWN)
        suggestion->offered[suggestion->n_offered] = name;
    suggestion->n_offered++;
}

void
udpai_suggest_offer(udpai_suggestion *suggestion, const char *name)
{
    struct word a, b;
    note_offer(suggestion, name);
    if (!normalise(suggestion->written, &a) || !normalise(udpai_str_from(name), &b) || !a.len)
        return;
    size_t found = distance(&a, &b);
    size_t near_enough = a.len <= 4 ? 1 : a.len <= 8 ? 2 : a.len / 3;
    if (found > near_enough || found >= b.len ||
        (suggestion->best && found >= suggestion->distance))
        return;
    suggestion->best = name;
    suggestion->distance = found;
}

const char *
udpai_suggestion_text(const udpai_suggestion *suggestion, char text[UDPAI_SUGGESTION_TEXT])
{
    text[0] = '\0';
    if (suggestion->best)
        snprintf(text, UDPAI_SUGGESTION_TEXT, "; did you mean '%.80s'?", suggestion->best);
    return text;
}

const char *
udpai_suggestion_or_list(const udpai_suggestion *suggestion, char text[UDPAI_CHOICE_TEXT])
{
    size_t n_listed = udpai_min_size(suggestion->n_offered, UDPAI_CHOICES_SHOWN);
    if (suggestion->best || n_listed == 0)
        return udpai_suggestion_text(suggestion, text);
    size_t len =
        (size_t)snprintf(text, UDPAI_CHOICE_TEXT, "; there %s", n_listed == 1 ? "is only" : "are");
    /* names are cut so that all of them fit */
    for (size_t i = 0; i < n_listed; i++) {
        bool is_last = i > 0 && i + 1 == suggestion->n_offered;
        len += (size_t)snprintf(text + len, UDPAI_CHOICE_TEXT - len, "%s '%.40s'",
                                is_last ? " and"
                                : i     ? ","
                                        : "",
                                suggestion->offered[i]);
    }
    if (suggestion->n_offered > n_listed)
        snprintf(text + len, UDPAI_CHOICE_TEXT - len, " and %zu more",
                 suggestion->n_offered - n_listed);
    return text;
}
