/* SPDX-License-Identifier: Apache-2.0 */
/* What was received of a name, on one stream: by a resource of that name or an alias, by a removal,
 * or in resource_errors. */
#include "tools/conform/talk_internal.h"

const char *
udpai_resolve(udpai_script *script, udpai_kind kind, const char *name)
{
    const char *found = udpai_world_name(&script->stage->world, kind, name);
    if (!found)
        udpai_skip_script(script,
                          "no %s that could be '%s' is known: name one with --resource %s=NAME, or "
                          "have the suite make it, with --change or --apply-to",
                          udpai_kind_word(kind), name, udpai_kind_word(kind));
    return found;
}

static const udpai_news *
find_news(const udpai_talk *talk, udpai_kind kind, const char *name, size_t from)
{
    const char *full = udpai_resolve(talk->script, kind, name);
    for (size_t i = talk->news.n; full && i-- > from;) {
        const udpai_news *news = &talk->news.items[i];
        if (news->kind == kind && news->name && udpai_world_same_name(news->name, full))
            return news;
    }
    return NULL;
}

const udpai_news *
udpai_heard_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    return talk ? find_news(talk, kind, name, talk->mark) : NULL;
}

const udpai_news *
udpai_last_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    return talk ? find_news(talk, kind, name, 0) : NULL;
}

const udpai_response *
udpai_last_response(const udpai_talk *talk, udpai_kind kind)
{
    for (size_t i = talk ? talk->responses.n : 0; i-- > 0;)
        if (talk->responses.items[i].kind == kind)
            return &talk->responses.items[i];
    return NULL;
}

size_t
udpai_count_in_last(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const udpai_response *last = udpai_last_response(talk, kind);
    const char *full = last ? udpai_resolve(talk->script, kind, name) : NULL;
    size_t n = 0;
    for (size_t i = 0; full && i < talk->news.n; i++) {
        const udpai_news *news = &talk->news.items[i];
        n += news->response == (size_t)(last - talk->responses.items) && !news->is_removal &&
             news->name && udpai_world_same_name(news->name, full);
    }
    return n;
}

bool
udpai_has_alias(const udpai_news *news, const char *alias)
{
    size_t len = strlen(alias);
    for (const char *at = news->aliases, *end; at && (end = strchr(at, '\n')); at = end + 1)
        if ((size_t)(end - at) == len && memcmp(at, alias, len) == 0)
            return true;
    return false;
}

const udpai_news *
udpai_told_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const char *full = talk ? udpai_resolve(talk->script, kind, name) : NULL;
    for (size_t i = talk ? talk->news.n : 0; full && i-- > talk->mark;) {
        const udpai_news *news = &talk->news.items[i];
        if (news->kind == kind && news->name &&
            (udpai_world_same_name(news->name, full) || udpai_has_alias(news, full)))
            return news;
    }
    return NULL;
}

const udpai_told_error *
udpai_error_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const char *full = talk ? udpai_resolve(talk->script, kind, name) : NULL;
    for (size_t i = talk ? talk->errors.n : 0; full && i-- > 0;) {
        const udpai_told_error *told = &talk->errors.items[i];
        if (told->response < talk->response_mark)
            break;
        if (told->kind == kind && udpai_world_same_name(told->name, full))
            return told;
    }
    return NULL;
}
