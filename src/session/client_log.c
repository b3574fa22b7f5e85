/* SPDX-License-Identifier: Apache-2.0 */
#include "session/client_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "wire/compose.h"

#define LOG "client"
#define SECOND_MS 1000
/* Of all clients together, in a second: a node that all come back to writes no more. */
#define LINES_PER_SECOND 1000
/* Of one peer at once; as many as that it may have again later, one after the other. */
#define LINES_OF_PEER 1000
#define REGAIN_MS 100
#define LINE_MAX_BYTES 1536
#define LABEL_MAX_BYTES 768
#define REASON_MAX 512

typedef enum line_kind {
    LINE_CONNECTED,
    LINE_NACK,
    LINE_DISCONNECTED,
    LINE_KINDS,
} line_kind;

/* What is written: views, or in one piece of memory with what they lead to. */
typedef struct client_line {
    const char *text;
    udpai_log_field about[UDPAI_LOG_KEYS];
    size_t n_about;
} client_line;

typedef struct waiting_line {
    client_line *line; /* NULL: none waits */
    uint64_t since_ms, number;
} waiting_line;

/* At most a line a second is written about one of these. */
typedef struct speaker {
    udpai_client_log *log;
    udpai_timer timer; /* set: a line was written within the last second */
    size_t n_clients;
    udpai_client_budget *budget; /* of its peer, and of some others */
    waiting_line lines[LINE_KINDS];
    unsigned n_left_out;
    udpai_str key; /* its text follows the struct */
} speaker;

struct udpai_logged_client {
    speaker *about;
    size_t n_sessions;
    int64_t since_us;
    udpai_str label; /* in words, and the key; the texts follow the struct */
    udpai_str id, address, identity;
};

static udpai_str
speaker_key(const void *item)
{
    return ((const speaker *)item)->key;
}

static udpai_str
client_key(const void *item)
{
    return ((const udpai_logged_client *)item)->label;
}

void
udpai_client_log_init(udpai_client_log *log, udpai_wheel *wheel)
{
    *log = (udpai_client_log){.wheel = wheel};
    udpai_map_init(&log->clients, client_key);
    udpai_map_init(&log->speakers, speaker_key);
}

/* ---- writing ---- */

/* A peer may have any number of clients, such as all those behind one address. They may come at
 * once, but one that is never done gets no more than this. */
static bool
is_within_budget(udpai_client_budget *budget, uint64_t now_ms)
{
    uint64_t n_regained = (now_ms - budget->since_ms) / REGAIN_MS;
    budget->since_ms += n_regained * REGAIN_MS;
    budget->n_spent = budget->n_spent > n_regained ? budget->n_spent - (unsigned)n_regained : 0;
    if (budget->n_spent >= LINES_OF_PEER)
        return false;
    budget->n_spent++;
    return true;
}

/* All clients together have a limit, too, in which what is left out is counted over all. */
static bool
is_allowed(speaker *self)
{
    udpai_client_log *log = self->log;
    if (!is_within_budget(self->budget, log->wheel->now_ms)) {
        log->n_left_out++;
        return false;
    }
    if (log->wheel->now_ms >= log->window_end_ms) {
        log->window_end_ms = log->wheel->now_ms + SECOND_MS;
        log->n_in_window = 0;
    }
    if (log->n_in_window >= LINES_PER_SECOND) {
        log->n_left_out++;
        return false;
    }
    log->n_in_window++;
    return true;
}

static void
put_left_out(char *room, size_t size, unsigned n, const char *about)
{
    room[0] = '\0';
    if (n)
        snprintf(room, size, " (%u more about %s not shown)", n, about);
}

static void
write_line(speaker *self, const client_line *line, uint64_t since_ms)
{
    udpai_client_log *log = self->log;
    char ago[48] = "", of_it[64], of_others[64];
    uint64_t late_ms = log->wheel->now_ms - since_ms;
    udpai_timer_set(log->wheel, &self->timer, log->wheel->now_ms + SECOND_MS);
    if (!is_allowed(self))
        return;
    if (late_ms)
        snprintf(ago, sizeof(ago), " (%" PRIu64 " ms ago)", late_ms);
    put_left_out(of_it, sizeof(of_it), self->n_left_out, "it");
    put_left_out(of_others, sizeof(of_others), log->n_left_out, "all clients");
    udpai_log_write_about(UDPA_LOG_INFO, LOG, line->about, line->n_about, "%s%s%s%s", line->text,
                          ago, of_it, of_others);
    self->n_left_out = log->n_left_out = 0;
}

static client_line *
copy_line(const client_line *line)
{
    udpai_str text = udpai_str_from(line->text);
    size_t size = sizeof(*line) + text.len + 1;
    for (size_t i = 0; i < line->n_about; i++)
        size += line->about[i].value.len;
    client_line *copy = udpai_alloc(size);
    if (!copy)
        return NULL;
    char *at = (char *)(copy + 1);
    *copy = *line;
    copy->text = udpai_str_put_terminated(&at, text).data;
    for (size_t i = 0; i < line->n_about; i++)
        copy->about[i].value = udpai_str_put(&at, line->about[i].value);
    return copy;
}

/* A later line of the same kind has more than the one that waits. */
static void
keep_waiting(speaker *self, line_kind kind, const client_line *line)
{
    waiting_line *waiting = &self->lines[kind];
    client_line *copy = copy_line(line);
    if (!copy || waiting->line)
        self->n_left_out++;
    if (!copy)
        return;
    udpai_free(waiting->line);
    *waiting = (waiting_line){copy, self->log->wheel->now_ms, ++self->log->n_waiting};
}

static void
log_line(speaker *self, line_kind kind, const client_line *line)
{
    if (udpai_timer_is_set(&self->timer))
        keep_waiting(self, kind, line);
    else
        write_line(self, line, self->log->wheel->now_ms);
}

/* The one that has waited longest; NULL: none waits. */
static waiting_line *
next_line(speaker *self)
{
    waiting_line *next = NULL;
    for (size_t i = 0; i < LINE_KINDS; i++)
        if (self->lines[i].line && (!next || self->lines[i].number < next->number))
            next = &self->lines[i];
    return next;
}

static void
write_next(speaker *self, waiting_line *waiting)
{
    write_line(self, waiting->line, waiting->since_ms);
    udpai_free(waiting->line);
    waiting->line = NULL;
}

/* ---- the client of a line ---- */

static void
forget_speaker(speaker *self)
{
    udpai_map_remove(&self->log->speakers, self->key);
    udpai_free(self);
}

static void
on_second_over(udpai_timer *timer)
{
    speaker *self = UDPAI_CONTAINER_OF(timer, speaker, timer);
    waiting_line *line = next_line(self);
    if (line)
        write_next(self, line);
    else if (self->n_clients == 0)
        forget_speaker(self);
}

static speaker *
add_speaker(udpai_client_log *log, udpai_client_budget *budget, udpai_str key)
{
    speaker *self = udpai_alloc(sizeof(*self) + key.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    *self = (speaker){.log = log, .budget = budget, .key = udpai_str_put(&at, key)};
    udpai_timer_init(&self->timer, on_second_over);
    if (udpai_map_add(&log->speakers, self))
        return self;
    udpai_free(self);
    return NULL;
}

static udpai_str
node_id(const udpai_node_info *node)
{
    return node ? udpai_node_info_parts(node)->id : (udpai_str){0};
}

static udpai_str
address_of(const udpai_session *session)
{
    return session->info.address ? udpai_bytes_view(session->info.address) : (udpai_str){0};
}

/* NULL without memory. */
static speaker *
find_speaker(udpai_client_log *log, const udpai_session *session, const udpai_node_info *node)
{
    char room[LABEL_MAX_BYTES];
    udpai_str peer = udpai_peer_counts_as(session->info.identity, address_of(session));
    udpai_str id = node_id(node);
    snprintf(room, sizeof(room), "%.*s %.*s", UDPAI_SHOWN(peer), UDPAI_SHOWN(id));
    speaker *known = udpai_map_get(&log->speakers, udpai_str_from(room));
    if (known)
        return known;
    udpai_client_budget *budget = &log->budgets[udpai_hash(peer) % UDPAI_CLIENT_BUDGETS];
    return add_speaker(log, budget, udpai_str_from(room));
}

static udpai_str
cut(udpai_str text)
{
    return udpai_utf8_cut(text, UDPAI_LOG_VALUE_MAX);
}

static udpai_logged_client *
add_client(speaker *about,
           udpai_str label,
           const udpai_session *session,
           const udpai_node_info *node)
{
    udpai_str id = cut(node_id(node)), address = cut(address_of(session));
    udpai_str identity = cut(udpai_identity_name(session->info.identity));
    udpai_logged_client *self =
        udpai_alloc(sizeof(*self) + label.len + id.len + address.len + identity.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    *self = (udpai_logged_client){
        .about = about,
        .label = udpai_str_put(&at, label),
        .id = udpai_str_put(&at, id),
        .address = udpai_str_put(&at, address),
        .identity = udpai_str_put(&at, identity),
    };
    if (udpai_map_add(&about->log->clients, self))
        return self;
    udpai_free(self);
    return NULL;
}

static void
put_label(char room[LABEL_MAX_BYTES], const udpai_session *session, const udpai_node_info *node)
{
    udpai_str id = node_id(node), address = address_of(session);
    udpai_str identity = udpai_identity_name(session->info.identity);
    if (address.len == 0)
        address = UDPAI_STR("-");
    snprintf(room, LABEL_MAX_BYTES,
             identity.len ? "node '%.*s', peer %.*s, identity '%.*s'"
                          : "node '%.*s', peer %.*s, identity -%.*s",
             UDPAI_SHOWN(id), UDPAI_SHOWN(address), UDPAI_SHOWN(identity));
}

/* Without memory the session is of none. */
static void
join(udpai_session *session, const udpai_node_info *node, const char *label)
{
    udpai_client_log *log = udpai_hub_client_log(session->hub);
    udpai_logged_client *client = udpai_map_get(&log->clients, udpai_str_from(label));
    speaker *about = client ? client->about : find_speaker(log, session, node);
    if (!client && about)
        client = add_client(about, udpai_str_from(label), session, node);
    if (!client) {
        if (about && about->n_clients == 0 && !udpai_timer_is_set(&about->timer))
            forget_speaker(about);
        return;
    }
    about->n_clients += client->n_sessions == 0;
    if (client->n_sessions++ == 0)
        client->since_us = session->since_us;
    session->logged = client;
}

/* ---- what is written ---- */

static void
add_about(client_line *line, udpai_log_key key, udpai_str value)
{
    if (value.len)
        line->about[line->n_about++] = (udpai_log_field){key, cut(value)};
}

static client_line
line_about(const udpai_logged_client *client, const char *text)
{
    client_line line = {.text = text};
    add_about(&line, UDPAI_LOG_PEER, client->id);
    add_about(&line, UDPAI_LOG_IDENTITY, client->identity);
    add_about(&line, UDPAI_LOG_ADDRESS, client->address);
    return line;
}

static void
log_connected(const udpai_session *session)
{
    char text[LINE_MAX_BYTES];
    const udpai_logged_client *client = session->logged;
    snprintf(text, sizeof(text), "connected: %.*s, protocol %s", (int)client->label.len,
             client->label.data, session->ops->name);
    const client_line line = line_about(client, text);
    log_line(client->about, LINE_CONNECTED, &line);
}

static void
log_disconnected(const udpai_session *session, const udpa_error *why)
{
    char text[LINE_MAX_BYTES];
    const udpai_logged_client *client = session->logged;
    int64_t after_us = udpai_hub_wall_us(session->hub) - client->since_us;
    udpai_str reason = udpai_utf8_cut(
        udpai_str_from(why ? udpa_error_message(why) : "its streams have ended"), REASON_MAX);
    snprintf(text, sizeof(text), "disconnected: %.*s, after %" PRId64 " s: %.*s",
             (int)client->label.len, client->label.data, after_us > 0 ? after_us / 1000000 : 0,
             (int)reason.len, reason.data);
    client_line line = line_about(client, text);
    add_about(&line, UDPAI_LOG_CODE, udpai_log_code(why));
    log_line(client->about, LINE_DISCONNECTED, &line);
}

static void
leave(udpai_session *session)
{
    udpai_logged_client *client = session->logged;
    session->logged = NULL;
    if (--client->n_sessions)
        return;
    speaker *about = client->about;
    udpai_map_remove(&about->log->clients, client->label);
    udpai_free(client);
    if (--about->n_clients == 0 && !udpai_timer_is_set(&about->timer))
        forget_speaker(about);
}

/* Where nobody reads it, nothing is kept. */
static bool
is_read(void)
{
    return udpai_log_enabled(UDPA_LOG_INFO);
}

void
udpai_client_log_node(udpai_session *session, const udpai_node_info *node)
{
    char label[LABEL_MAX_BYTES];
    if (!is_read())
        return;
    put_label(label, session, node);
    if (session->logged && udpai_str_eq(session->logged->label, udpai_str_from(label)))
        return;
    udpai_client_log_closed(session, NULL);
    join(session, node, label);
    if (session->logged && session->logged->n_sessions == 1)
        log_connected(session);
}

void
udpai_client_log_closed(udpai_session *session, const udpa_error *why)
{
    if (!session->logged)
        return;
    if (session->logged->n_sessions == 1)
        log_disconnected(session, why);
    leave(session);
}

static void
note_nack(const udpai_session *session, const udpai_node_info *node, const udpai_client_nack *nack)
{
    udpai_str id = node_id(node), identity = udpai_identity_name(session->info.identity);
    udpai_str address = address_of(session);
    udpa_err code = nack->why ? udpa_error_code(nack->why) : UDPA_ERR_NOMEM;
    const udpai_log_field about[] = {
        {UDPAI_LOG_PEER, id},
        {UDPAI_LOG_IDENTITY, identity},
        {UDPAI_LOG_ADDRESS, address},
        {UDPAI_LOG_TYPE, nack->type_url},
        {UDPAI_LOG_NAME, nack->name},
        {UDPAI_LOG_VERSION, nack->version},
        {UDPAI_LOG_CODE, udpai_log_code_of(code)},
    };
    udpai_hub_note(session->hub, UDPAI_NOTE_NACK, UDPA_LOG_WARNING, about, UDPAI_ARRAY_LEN(about),
                   "client '%.*s' has rejected %.*s: %s", UDPAI_SHOWN(id),
                   UDPAI_SHOWN(nack->type_url),
                   nack->why ? udpa_error_message(nack->why) : "out of memory");
}

void
udpai_client_log_nack(udpai_session *session,
                      const udpai_node_info *node,
                      const udpai_client_nack *nack)
{
    char text[LINE_MAX_BYTES], label[LABEL_MAX_BYTES], more[32] = "", nonce[UDPAI_NONCE_LEN];
    note_nack(session, node, nack);
    if (!is_read())
        return;
    put_label(label, session, node);
    if (!session->logged) /* the level was another one when it came */
        join(session, node, label);
    if (!session->logged)
        return;
    udpa_err code = nack->why ? udpa_error_code(nack->why) : UDPA_ERR_NOMEM;
    udpai_str why = udpai_utf8_cut(
        udpai_str_from(nack->why ? udpa_error_message(nack->why) : "not known"), REASON_MAX);
    udpai_nonce_format(nack->nonce, nonce);
    if (nack->n_more)
        snprintf(more, sizeof(more), nack->name.len ? " and %zu more" : " (%zu resources)",
                 nack->n_more);
    snprintf(text, sizeof(text),
             "NACK: %s: type %.*s, name '%.*s'%s, version '%.*s', nonce %.*s: %s: %.*s", label,
             UDPAI_SHOWN(nack->type_url), UDPAI_SHOWN(nack->name), more, UDPAI_SHOWN(nack->version),
             UDPAI_NONCE_LEN, nonce, udpa_err_text(code), (int)why.len, why.data);
    client_line line = line_about(session->logged, text);
    add_about(&line, UDPAI_LOG_TYPE, nack->type_url);
    add_about(&line, UDPAI_LOG_NAME, nack->name);
    add_about(&line, UDPAI_LOG_VERSION, nack->version);
    add_about(&line, UDPAI_LOG_CODE, udpai_log_code_of(code));
    log_line(session->logged->about, LINE_NACK, &line);
}

void
udpai_client_log_done(udpai_client_log *log)
{
    speaker *self;
    for (size_t at = 0; (self = udpai_map_next(&log->speakers, &at));) {
        for (waiting_line *line; (line = next_line(self));)
            write_next(self, line);
        udpai_timer_cancel(&self->timer);
        udpai_free(self);
    }
    udpai_map_done(&log->speakers);
    udpai_map_done(&log->clients);
}
