/* SPDX-License-Identifier: Apache-2.0 */
/* What was received of a name, on one stream: by a resource of that name or an alias, by a removal,
 * or in resource_errors. */
#include "tools/conform/session_internal.h"

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

static const udpai_update *
find_update(const udpai_test_session *session, udpai_kind kind, const char *name, size_t from)
{
    const char *full = udpai_resolve(session->script, kind, name);
    for (size_t i = session->updates.n; full && i-- > from;) {
        const udpai_update *update = &session->updates.items[i];
        if (update->kind == kind && update->name && udpai_world_same_name(update->name, full))
            return update;
    }
    return NULL;
}

const udpai_update *
udpai_update_of(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    return session ? find_update(session, kind, name, session->mark) : NULL;
}

const udpai_update *
udpai_last_of(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    return session ? find_update(session, kind, name, 0) : NULL;
}

const udpai_response *
udpai_last_response(const udpai_test_session *session, udpai_kind kind)
{
    for (size_t i = session ? session->responses.n : 0; i-- > 0;)
        if (session->responses.items[i].kind == kind)
            return &session->responses.items[i];
    return NULL;
}

size_t
udpai_count_in_last(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const udpai_response *last = udpai_last_response(session, kind);
    const char *full = last ? udpai_resolve(session->script, kind, name) : NULL;
    size_t n = 0;
    for (size_t i = 0; full && i < session->updates.n; i++) {
        const udpai_update *update = &session->updates.items[i];
        n += update->response == (size_t)(last - session->responses.items) && !update->is_removal &&
             update->name && udpai_world_same_name(update->name, full);
    }
    return n;
}

bool
udpai_has_alias(const udpai_update *update, const char *alias)
{
    size_t len = strlen(alias);
    for (const char *at = update->aliases, *end; at && (end = strchr(at, '\n')); at = end + 1)
        if ((size_t)(end - at) == len && memcmp(at, alias, len) == 0)
            return true;
    return false;
}

const udpai_update *
udpai_update_of_any_name(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const char *full = session ? udpai_resolve(session->script, kind, name) : NULL;
    for (size_t i = session ? session->updates.n : 0; full && i-- > session->mark;) {
        const udpai_update *update = &session->updates.items[i];
        if (update->kind == kind && update->name &&
            (udpai_world_same_name(update->name, full) || udpai_has_alias(update, full)))
            return update;
    }
    return NULL;
}

const udpai_resource_error *
udpai_error_of(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const char *full = session ? udpai_resolve(session->script, kind, name) : NULL;
    for (size_t i = session ? session->errors.n : 0; full && i-- > 0;) {
        const udpai_resource_error *noted = &session->errors.items[i];
        if (noted->response < session->response_mark)
            break;
        if (noted->kind == kind && udpai_world_same_name(noted->name, full))
            return noted;
    }
    return NULL;
}
