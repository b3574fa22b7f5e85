/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/usage.h"

#include <ctype.h>

#define PLACES_MAX 16

/* A place of a line. */
typedef struct place {
    udpai_str text; /* without brackets: "get|watch", "NAME" */
    bool repeats;   /* "NAME..." */
} place;

typedef struct line {
    place places[PLACES_MAX];
    size_t n;
} line;

static udpai_str
cut(udpai_str *text, char at)
{
    const char *end = text->len ? memchr(text->data, at, text->len) : NULL;
    udpai_str head = {text->data, end ? (size_t)(end - text->data) : text->len};
    size_t gone = head.len + (end != NULL);
    *text = (udpai_str){text->data + gone, text->len - gone};
    return head;
}

static bool
is_variable(udpai_str text)
{
    return text.len && isupper((unsigned char)text.data[0]);
}

static place
place_of(udpai_str word)
{
    const udpai_str dots = UDPAI_STR("...");
    place one = {.text = word};
    while (one.text.len && one.text.data[0] == '[')
        one.text = (udpai_str){one.text.data + 1, one.text.len - 1};
    while (one.text.len && one.text.data[one.text.len - 1] == ']')
        one.text.len--;
    if (one.text.len > dots.len &&
        memcmp(one.text.data + one.text.len - dots.len, dots.data, dots.len) == 0) {
        one.repeats = true;
        one.text.len -= dots.len;
    }
    return one;
}

/* The first word is the verb. What an option is given, as FILE of "-f FILE", has no place. */
static line
read_line(udpai_str text)
{
    line self = {0};
    bool is_of_option = false;
    (void)cut(&text, ' ');
    while (text.len && self.n < PLACES_MAX) {
        udpai_str word = cut(&text, ' ');
        place one = place_of(word);
        bool is_option = one.text.len && one.text.data[0] == '-';
        if (!is_option && !(is_of_option && is_variable(one.text)))
            self.places[self.n++] = one;
        is_of_option = is_option && word.data[word.len - 1] != ']';
    }
    return self;
}

/* NULL: nothing may stand there. */
static const place *
place_at(const line *self, size_t i)
{
    if (i < self->n)
        return &self->places[i];
    return self->n && self->places[self->n - 1].repeats ? &self->places[self->n - 1] : NULL;
}

static bool
may_be(const place *one, const char *word)
{
    udpai_str rest = one->text;
    if (is_variable(rest))
        return true;
    while (rest.len)
        if (udpai_str_eq(cut(&rest, '|'), udpai_str_from(word)))
            return true;
    return false;
}

static bool
begins(const line *self, const char *const *words, size_t n_words, const char **ret_type)
{
    *ret_type = NULL;
    for (size_t i = 0; i < n_words; i++) {
        const place *one = place_at(self, i);
        if (!one || !may_be(one, words[i]))
            return false;
        if (udpai_str_eq(one->text, UDPAI_STR("TYPE")))
            *ret_type = words[i];
    }
    return true;
}

void
udpai_ctl_usage_visit(const char *usage,
                      const char *const *words,
                      size_t n_words,
                      udpai_ctl_usage_fn visit,
                      void *userdata)
{
    udpai_str rest = udpai_str_from(usage);
    while (rest.len) {
        const char *type;
        line self = read_line(cut(&rest, '\n'));
        const place *next = place_at(&self, n_words);
        if (!next || !begins(&self, words, n_words, &type))
            continue;
        udpai_str all = next->text;
        while (all.len)
            visit(userdata, cut(&all, '|'), type);
    }
}
