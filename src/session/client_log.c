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
#define LINE_MAX_BYTES 1536
#define LABEL_MAX_BYTES 768
#define REASON_MAX 512

typedef enum line_kind {
    LINE_CONNECTED,
    LINE_NACK,
    LINE_DISCONNECTED,
    LINE_KINDS,
} line_kind;

typedef struct waiting_line {
    char *text; /* NULL: none waits */
    uint64_t since_ms, number;
} waiting_line;

/* At most a line a second is written about one of these. */
typedef struct speaker {
    udpai_client_log *log;
    udpai_timer timer; /* set: a line was written within the last second */
    size_t n_clients;
    waiting_line lines[LINE_KINDS];
    unsigned n_left_out;
    udpai_str key; /* its text follows the struct */
} speaker;

struct udpai_logged_client {
    speaker *about;
    size_t n_sessions;
    int64_t since_us;
    udpai_str label; /* in words, and the key; its text follows the struct */
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

/* All clients together have a limit, too, in which what is left out is counted over all. */
static bool
is_allowed(udpai_client_log *log)
{
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
write_line(speaker *self, const char *text, uint64_t since_ms)
{
    udpai_client_log *log = self->log;
    char ago[48] = "", of_it[64], of_others[64];
    uint64_t late_ms = log->wheel->now_ms - since_ms;
    udpai_timer_set(log->wheel, &self->timer, log->wheel->now_ms + SECOND_MS);
    if (!is_allowed(log))
        return;
    if (late_ms)
        snprintf(ago, sizeof(ago), " (%" PRIu64 " ms ago)", late_ms);
    put_left_out(of_it, sizeof(of_it), self->n_left_out, "it");
    put_left_out(of_others, sizeof(of_others), log->n_left_out, "all clients");
    udpai_log(UDPA_LOG_INFO, LOG, "%s%s%s%s", text, ago, of_it, of_others);
    self->n_left_out = log->n_left_out = 0;
}

/* A later line of the same kind has more than the one that waits. */
static void
keep_waiting(speaker *self, line_kind kind, const char *text)
{
    waiting_line *line = &self->lines[kind];
    size_t size = strlen(text) + 1;
    char *copy = udpai_alloc(size);
    if (!copy || line->text)
        self->n_left_out++;
    if (!copy)
        return;
    memcpy(copy, text, size);
    udpai_free(line->text);
    *line = (waiting_line){copy, self->log->wheel->now_ms, ++self->log->n_waiting};
}

static void
log_line(speaker *self, line_kind kind, const char *text)
{
    if (udpai_timer_is_set(&self->timer))
        keep_waiting(self, kind, text);
    else
        write_line(self, text, self->log->wheel->now_ms);
}

/* The one that has waited longest; NULL: none waits. */
static waiting_line *
next_line(speaker *self)
{
    waiting_line *next = NULL;
    for (size_t i = 0; i < LINE_KINDS; i++)
        if (self->lines[i].text && (!next || self->lines[i].number < next->number))
            next = &self->lines[i];
    return next;
}

static void
write_next(speaker *self, waiting_line *line)
{
    write_line(self, line->text, line->since_ms);
    udpai_free(line->text);
    line->text = NULL;
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
add_speaker(udpai_client_log *log, udpai_str key)
{
    speaker *self = udpai_alloc(sizeof(*self) + key.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    *self = (speaker){.log = log, .key = udpai_str_put(&at, key)};
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
    return known ? known : add_speaker(log, udpai_str_from(room));
}

static udpai_logged_client *
add_client(udpai_client_log *log, speaker *about, udpai_str label)
{
    udpai_logged_client *self = udpai_alloc(sizeof(*self) + label.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    *self = (udpai_logged_client){.about = about, .label = udpai_str_put(&at, label)};
    if (udpai_map_add(&log->clients, self))
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
        client = add_client(log, about, udpai_str_from(label));
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
log_connected(const udpai_session *session)
{
    char line[LINE_MAX_BYTES];
    const udpai_logged_client *client = session->logged;
    snprintf(line, sizeof(line), "connected: %.*s, protocol %s", (int)client->label.len,
             client->label.data, session->ops->name);
    log_line(client->about, LINE_CONNECTED, line);
}

static void
log_disconnected(const udpai_session *session, const udpa_error *why)
{
    char line[LINE_MAX_BYTES];
    const udpai_logged_client *client = session->logged;
    int64_t after_us = udpai_hub_wall_us(session->hub) - client->since_us;
    udpai_str reason = udpai_utf8_cut(
        udpai_str_from(why ? udpa_error_message(why) : "its streams have ended"), REASON_MAX);
    snprintf(line, sizeof(line), "disconnected: %.*s, after %" PRId64 " s: %.*s",
             (int)client->label.len, client->label.data, after_us > 0 ? after_us / 1000000 : 0,
             (int)reason.len, reason.data);
    log_line(client->about, LINE_DISCONNECTED, line);
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

void
udpai_client_log_nack(udpai_session *session,
                      const udpai_node_info *node,
                      const udpai_client_nack *nack)
{
    char line[LINE_MAX_BYTES], label[LABEL_MAX_BYTES], more[32] = "", nonce[UDPAI_NONCE_LEN];
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
    snprintf(line, sizeof(line),
             "NACK: %s: type %.*s, name '%.*s'%s, version '%.*s', nonce %.*s: %s: %.*s", label,
             UDPAI_SHOWN(nack->type_url), UDPAI_SHOWN(nack->name), more, UDPAI_SHOWN(nack->version),
             UDPAI_NONCE_LEN, nonce, udpa_err_text(code), (int)why.len, why.data);
    log_line(session->logged->about, LINE_NACK, line);
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
