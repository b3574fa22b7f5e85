/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/words.h"

#include <ctype.h>

static void
visit_options(const struct argp_option *options, udpai_ctl_option_fn visit, void *userdata)
{
    for (; options && (options->name || options->key || options->doc); options++)
        if (options->name)
            visit(userdata, options);
}

void
udpai_ctl_options_visit(const struct argp *parser, udpai_ctl_option_fn visit, void *userdata)
{
    visit_options(parser->options, visit, userdata);
    for (const struct argp_child *child = parser->children; child && child->argp; child++)
        udpai_ctl_options_visit(child->argp, visit, userdata);
}

/* ---- one word ---- */

struct search {
    udpai_str name; /* of "--name"; empty: … */
    int key;        /* … "-k" */
    const struct argp_option *found;
};

static void
compare(void *userdata, const struct argp_option *option)
{
    struct search *search = userdata;
    bool is_it = search->name.len ? udpai_str_eq(search->name, udpai_str_from(option->name))
                                  : search->key == option->key;
    if (is_it && !search->found)
        search->found = option;
}

/* NULL: it is no option, or is not known. */
static const struct argp_option *
find_option(const struct argp *parser, const char *word, const char **ret_value)
{
    struct search search = {0};
    *ret_value = NULL;
    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] == '-') {
        const char *end = strchr(word, '=');
        search.name = (udpai_str){word + 2, end ? (size_t)(end - word - 2) : strlen(word + 2)};
        *ret_value = end ? end + 1 : NULL;
    } else {
        search.key = (unsigned char)word[1];
        *ret_value = word[2] ? word + 2 : NULL;
    }
    if (search.name.len || search.key)
        udpai_ctl_options_visit(parser, compare, &search);
    return search.found;
}

static bool
is_option(const udpai_ctl_words *words, const char *word)
{
    return !words->ends_options && word[0] == '-' && word[1];
}

static udpa_err
take_argument(udpai_ctl_words *words, const char *word)
{
    if (words->has_command)
        return udpai_vector_push(&words->arguments, word) ? UDPA_OK : UDPA_ERR_NOMEM;
    words->has_command = true;
    words->verb = udpai_ctl_verb_find(word);
    return UDPA_OK;
}

/* ---- all ---- */

static udpa_err
keep(udpai_ctl_words *words, const struct argp *connection, const char *word, const char *value)
{
    const char *in_word;
    if (!find_option(connection, word, &in_word))
        return UDPA_OK;
    bool is_kept = udpai_vector_push(&words->connection, word) &&
                   (!value || udpai_vector_push(&words->connection, value));
    return is_kept ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
take_last(udpai_ctl_words *words, const char *word, const struct argp *parser)
{
    const char *value;
    words->last = words->value = word;
    const struct argp_option *option =
        is_option(words, word) ? find_option(parser, word, &value) : NULL;
    if (!option || !option->arg || !value)
        return;
    words->option = option;
    words->value = value;
}

udpa_err
udpai_ctl_words_read(udpai_ctl_words *words,
                     const char *const *given,
                     size_t n_given,
                     const struct argp *parser,
                     const struct argp *connection)
{
    udpa_err err = UDPA_OK;
    *words = (udpai_ctl_words){.last = "", .value = ""};
    for (size_t i = 0; i + 1 < n_given && err == UDPA_OK; i++) {
        const char *value;
        if (!is_option(words, given[i])) {
            err = take_argument(words, given[i]);
            continue;
        }
        words->ends_options = strcmp(given[i], "--") == 0;
        const struct argp_option *option = find_option(parser, given[i], &value);
        bool takes_next = option && option->arg && !value;
        if (takes_next && i + 2 == n_given) { /* which is the last one */
            words->option = option;
            words->last = words->value = given[i + 1];
            return UDPA_OK;
        }
        err = keep(words, connection, given[i], takes_next ? given[i + 1] : NULL);
        i += takes_next;
    }
    if (n_given && err == UDPA_OK)
        take_last(words, given[n_given - 1], parser);
    return err;
}

void
udpai_ctl_words_done(udpai_ctl_words *words)
{
    udpai_vector_done(&words->arguments);
    udpai_vector_done(&words->connection);
}
