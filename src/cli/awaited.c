/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/awaited.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "model/name.h"

typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;

#define STATE(name) UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__##name

/* ---- the list ---- */

static void
done(udpai_cli_awaited *awaited)
{
    udpai_free(awaited->type_url);
    udpai_free(awaited->name);
    udpai_free(awaited->question);
    udpai_free(awaited->version);
    for (size_t i = 0; i < awaited->absent.n; i++)
        udpai_free(awaited->absent.items[i].peer);
    udpai_vector_done(&awaited->absent);
    udpa__status__v1__acknowledgement_status__free_unpacked(awaited->status, NULL);
}

void
udpai_cli_awaited_done(udpai_cli_awaited_list *list)
{
    for (size_t i = 0; i < list->items.n; i++)
        done(&list->items.items[i]);
    udpai_vector_done(&list->items);
}

/* A type URL is distinguished from the name behind it by having one slash. */
static udpa_err
make_question(const udpai_cli_awaited_list *list,
              const char *type_url,
              const char *name,
              char **ret_question,
              udpa_error **ret_error)
{
    const char *slash = strchr(type_url, '/');
    if (!slash || slash == type_url || strchr(slash + 1, '/'))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "cannot wait for a resource of type '%s': its URL must have exactly one '/'", type_url);
    udpai_strbuf question = {0};
    udpai_strbuf_printf(&question, "udpa.node/acknowledgement/%s/%s/%s", list->token, type_url,
                        name);
    if (question.len > UDPAI_NAME_MAX) {
        udpai_strbuf_done(&question);
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "cannot wait for '%.60s…': its name is too long to be asked for", name);
    }
    *ret_question = udpai_strbuf_take(&question);
    return *ret_question ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_cli_awaited_add(udpai_cli_awaited_list *list,
                      const char *type_url,
                      const char *name,
                      const char *version,
                      udpa_error **ret_error)
{
    udpai_cli_awaited awaited = {
        .type_url = udpai_strdup(type_url),
        .name = udpai_strdup(name),
        .version = version ? udpai_strdup(version) : NULL,
    };
    udpa_err err = make_question(list, type_url, name, &awaited.question, ret_error);
    if (err == UDPA_OK && awaited.type_url && awaited.name && (awaited.version || !version) &&
        udpai_vector_push(&list->items, awaited))
        return UDPA_OK;
    done(&awaited);
    return err == UDPA_OK ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : err;
}

/* ---- sessions that have left ---- */

const char *
udpai_cli_awaited_peer(const session_message *session)
{
    return *session->peer_identity ? session->peer_identity : session->peer_node_id;
}

static bool
lacks_it(const session_message *session)
{
    return session->state == STATE(BEHIND) || session->state == STATE(UNANSWERED) ||
           session->state == STATE(REFUSED) || session->state == STATE(DOUBTFUL);
}

static udpai_cli_absent *
find_absent(const udpai_cli_awaited *awaited, const char *peer)
{
    for (size_t i = 0; i < awaited->absent.n; i++)
        if (strcmp(awaited->absent.items[i].peer, peer) == 0)
            return &awaited->absent.items[i];
    return NULL;
}

/* Sessions without anything to know them again by are not missed, nor are tools that come and go.
 */
static bool
note_absent(udpai_cli_awaited *awaited, const session_message *session, const char *own_id)
{
    udpai_cli_absent fresh = {0};
    const char *peer = udpai_cli_awaited_peer(session);
    if (!*peer || find_absent(awaited, peer) || !lacks_it(session) ||
        (own_id && strcmp(session->peer_node_id, own_id) == 0))
        return true;
    fresh.peer = udpai_strdup(peer);
    if (fresh.peer && udpai_vector_push(&awaited->absent, fresh))
        return true;
    udpai_free(fresh.peer);
    return false;
}

/* Only where all sessions are listed it is certain which are not among them. */
static void
note_left(udpai_cli_awaited *awaited)
{
    const status_message *status = awaited->status;
    bool is_whole = status->n_sessions == status->n_subscribed;
    for (size_t i = 0; i < awaited->absent.n; i++) {
        awaited->absent.items[i].has_left = is_whole;
        for (size_t k = 0; k < status->n_sessions; k++)
            if (strcmp(udpai_cli_awaited_peer(status->sessions[k]),
                       awaited->absent.items[i].peer) == 0)
                awaited->absent.items[i].has_left = false;
    }
}

static size_t
count_left(const udpai_cli_awaited *awaited)
{
    size_t n = 0;
    for (size_t i = 0; i < awaited->absent.n; i++)
        n += awaited->absent.items[i].has_left;
    return n;
}

/* ---- answers ---- */

bool
udpai_cli_awaited_is_there(const udpai_cli_awaited *awaited)
{
    const status_message *status = awaited->status;
    if (!status || awaited->is_removal)
        return status && !status->exists;
    return status->exists && (!awaited->version || strcmp(awaited->version, status->version) == 0 ||
                              strcmp(awaited->version, status->content_version) == 0);
}

static udpa_err
take(udpai_cli_awaited *awaited, const udpa_resource *answer, const char *own_id)
{
    size_t size;
    const void *payload = udpa_resource_payload(answer, &size);
    status_message *status = udpa__status__v1__acknowledgement_status__unpack(NULL, size, payload);
    if (!status)
        return UDPA_ERR_MALFORMED;
    udpa__status__v1__acknowledgement_status__free_unpacked(awaited->status, NULL);
    awaited->status = status;
    bool noted = true;
    bool is_there = udpai_cli_awaited_is_there(awaited);
    awaited->was_there |= is_there;
    for (size_t i = 0; is_there && noted && i < status->n_sessions; i++)
        noted = note_absent(awaited, status->sessions[i], own_id);
    note_left(awaited);
    return noted ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_cli_awaited_take(udpai_cli_awaited_list *list, const udpa_resource *answer)
{
    for (size_t i = 0; i < list->items.n; i++)
        if (strcmp(list->items.items[i].question, udpa_resource_name(answer)) == 0)
            return take(&list->items.items[i], answer, list->node_id);
    return UDPA_OK;
}

/* ---- how far it is ---- */

static bool
exists(const udpai_cli_awaited *awaited)
{
    return awaited->status && awaited->status->exists;
}

bool
udpai_cli_awaited_is_meant(const udpai_cli_awaited_list *list, size_t index)
{
    const udpai_cli_awaited *items = list->items.items;
    if (items[index].is_second)
        return exists(&items[index]) && !exists(&items[index - 1]);
    bool has_second = index + 1 < list->items.n && items[index + 1].is_second;
    return !has_second || exists(&items[index]) || !exists(&items[index + 1]);
}

/* Other nodes, and peers that cannot be sent it, are not waited for. */
static bool
have_all(const udpai_cli_awaited *awaited, uint64_t at_least)
{
    const status_message *status = awaited->status;
    return status->n_acknowledged + status->n_sent + status->n_untold == status->n_subscribed &&
           status->n_acknowledged >= at_least && count_left(awaited) == 0;
}

bool
udpai_cli_awaited_lacks_subscribers(const udpai_cli_awaited_list *list)
{
    for (size_t i = 0; i < list->items.n; i++) {
        const udpai_cli_awaited *awaited = &list->items.items[i];
        if (awaited->status && udpai_cli_awaited_is_there(awaited) &&
            awaited->status->n_subscribed == 0)
            return true;
    }
    return false;
}

udpai_cli_progress
udpai_cli_awaited_progress(const udpai_cli_awaited_list *list, size_t index)
{
    const udpai_cli_awaited *awaited = &list->items.items[index];
    if (!awaited->status)
        return UDPAI_CLI_UNKNOWN;
    if (!udpai_cli_awaited_is_there(awaited))
        return awaited->was_there && (awaited->version || awaited->is_removal) ? UDPAI_CLI_REPLACED
                                                                               : UDPAI_CLI_WAITING;
    if (awaited->status->n_refused)
        return UDPAI_CLI_REFUSED_BY;
    return have_all(awaited, list->at_least) ? UDPAI_CLI_ACKNOWLEDGED : UDPAI_CLI_WAITING;
}

udpai_cli_progress
udpai_cli_awaited_overall(const udpai_cli_awaited_list *list)
{
    static const int weights[] = {
        [UDPAI_CLI_REFUSED_BY] = 0, [UDPAI_CLI_REPLACED] = 1,     [UDPAI_CLI_UNKNOWN] = 2,
        [UDPAI_CLI_WAITING] = 3,    [UDPAI_CLI_ACKNOWLEDGED] = 4,
    };
    udpai_cli_progress overall = UDPAI_CLI_ACKNOWLEDGED;
    for (size_t i = 0; i < list->items.n; i++) {
        udpai_cli_progress one = udpai_cli_awaited_progress(list, i);
        bool counts = one == UDPAI_CLI_UNKNOWN || udpai_cli_awaited_is_meant(list, i);
        if (counts && weights[one] < weights[overall])
            overall = one;
    }
    return overall;
}
