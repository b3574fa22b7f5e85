/* SPDX-License-Identifier: Apache-2.0 */
/* The language of cases: sessions with the server, what they send, and what is expected.
 *
 * A script ends at the first unexpected result, or when something is missing that it needs; after
 * that every function here does nothing, so cases check nothing themselves. What was sent and
 * received is kept, and printed with a failure. Resources are named as in tools/conform/world.h. */
#ifndef UDPAI_CONFORM_SCRIPT_H
#define UDPAI_CONFORM_SCRIPT_H

#include "tools/conform/world.h"
#include "xds/exchange.h"
#include "xds/server.h"

typedef enum udpai_verdict {
    UDPAI_RUNNING, /* at the end: it passes */
    UDPAI_PASSED,
    UDPAI_FAILED,
    UDPAI_SKIPPED,
} udpai_verdict;

typedef struct udpai_test_session udpai_test_session;
typedef struct udpai_script udpai_script;

/* What all scripts of a run share. */
typedef struct udpai_stage {
    const udpai_peer *peer;
    const udpai_byte_peer *rest; /* NULL: the address of the server's REST is not known */
    udpai_world world;
    udpai_str node_id;
    uint64_t timeout_ms; /* for what must come */
    uint64_t quiet_ms;   /* for what must not */
    udpai_xds_server methods;
    unsigned n_sessions; /* so far */
} udpai_stage;

/* Names of cases: NAMES("a", "b"); NOBODY is an empty list. */
typedef const char *const *udpai_names;
#define UDPAI_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define UDPAI_NO_NAMES ((const char *const[]){NULL})

struct udpai_script {
    udpai_stage *stage;
    udpai_kind kind; /* that the case is about */
    bool is_delta, is_aggregated;
    udpai_verdict verdict;
    udpai_strbuf why;        /* it failed or was skipped */
    udpai_strbuf transcript; /* lines */
    UDPAI_VECTOR(udpai_test_session *) sessions;
};

/* ---- one stream ---- */

/* What was received of a resource. */
typedef struct udpai_update {
    udpai_kind kind;
    char *name;
    char *version;       /* of the resource; SotW, not wrapped: empty */
    char *aliases;       /* that it came with, a line each; NULL: none */
    char *endpoints;     /* of a cluster: the name that its endpoints have; NULL: none by EDS */
    udpai_kind contents; /* what kind the payload is */
    bool is_removal;
    bool is_wrapped, has_payload, has_ttl;
    unsigned variant;
    size_t response; /* its number */
} udpai_update;

/* What was received in resource_errors. */
typedef struct udpai_resource_error {
    udpai_kind kind;
    char *name;
    int code;        /* of google.rpc */
    size_t response; /* its number */
} udpai_resource_error;

typedef struct udpai_response {
    udpai_kind kind;
    char *nonce, *version;
    size_t n_resources;
} udpai_response;

/* The answer to responses of a type. */
typedef enum udpai_manner {
    UDPAI_ACKS,
    UDPAI_NACKS,
    UDPAI_IGNORES,
} udpai_manner;

typedef struct udpai_test_subscription {
    UDPAI_VECTOR(const char *) names; /* of the subscription, as the world has them */
    char *nonce;                      /* of the last response */
    char *version;                    /* that was accepted last */
    udpai_manner manner;
    size_t n_responses;
} udpai_test_subscription;

struct udpai_test_session {
    udpai_script *script;
    void *call;
    unsigned number; /* for people */
    bool is_delta;
    udpai_kind only;   /* a stream of one type: this; aggregated: UDPAI_KINDS */
    bool sends_node;   /* with the next request; later: no more */
    bool supports_ttl; /* announces the features of the client that a ttl needs, and a wrapper */
    bool reads_errors; /* announces that it reads resource_errors */
    bool is_over;
    bool is_optional; /* a method that a server need not have */
    udpai_decoder decoder;
    udpai_test_subscription subscriptions[UDPAI_KINDS];
    UDPAI_VECTOR(udpai_response) responses;
    UDPAI_VECTOR(udpai_update) updates;
    UDPAI_VECTOR(udpai_resource_error) errors;
    size_t mark, response_mark; /* updates and responses from here on are behind the last deed */
    unsigned n_sentinels;
};

/* A new stream of the script's variant, for this kind if it is not aggregated. */
udpai_test_session *udpai_test_session_open(udpai_script *script, udpai_kind kind);
/* Of another method: one of this variant and of the type that is given, or aggregated. */
udpai_test_session *
udpai_test_session_open_method(udpai_script *script, udpai_kind only, udpai_xds_variant variant);
/* By its path; its messages are those of the state of the world protocol. */
udpai_test_session *udpai_test_session_open_path(udpai_script *script, const char *path);
/* Ends the stream, as a client that leaves. */
void udpai_test_session_close(udpai_test_session *session);
/* Closes, frees. */
void udpai_test_session_free(udpai_test_session *session);

/* ---- sending ---- */

/* A delta client that reconnects, on a new stream in the place of that one, subscribes to these,
 * and sends that it holds one of them as it was sent to it. */
udpai_test_session *
udpai_resume(udpai_script *script, udpai_test_session *before, udpai_names names, const char *held);

/* Subscribes to these names and no others. SotW: one request with all of them. Delta: one that
 * subscribes to new names and unsubscribes from the rest. */
void udpai_subscribe(udpai_test_session *session, udpai_kind kind, udpai_names names);

/* One request as it is. NULL is nothing, but for the nonce: there it is that of the last response.
 */
typedef struct udpai_test_request {
    udpai_names names; /* SotW: all; delta: to be subscribed to */
    udpai_names unsubscribed;
    const char *nonce;
    const char *version; /* SotW */
    const udpai_held_version *held;
    size_t n_held;
    int error_code;
    bool has_no_type;
} udpai_test_request;

void
udpai_send_request(udpai_test_session *session, udpai_kind kind, const udpai_test_request *request);
/* The same of a type that no case uses. */
void udpai_send_request_of_type(udpai_test_session *session, const char *type_url);
/* Bytes that need not be a request. */
void udpai_send_bytes(udpai_test_session *session, udpai_str bytes);
/* The client sends nothing more on it. */
void udpai_half_close(udpai_test_session *session);
/* From now on responses of this type have this answer. */
void udpai_behave(udpai_test_session *session, udpai_kind kind, udpai_manner manner);

/* ---- changing ---- */

/* The change is made, and what is expected next is its effect. */
void udpai_set(udpai_script *script, udpai_kind kind, const char *name);
void udpai_set_as(udpai_script *script,
                  udpai_kind kind,
                  const char *name,
                  const udpai_world_extra *extra);
void udpai_remove(udpai_script *script, udpai_kind kind, const char *name);
/* Changes that were staged with udpai_world_set() and udpai_world_remove(). */
void udpai_commit(udpai_script *script);

/* ---- receiving ---- */

/* Reads the next message, and answers it; false: none arrived in this time, or never will. */
bool udpai_receive(udpai_test_session *session, uint64_t timeout_ms);
/* The last of a name, behind the mark; NULL: none. */
const udpai_update *
udpai_update_of(const udpai_test_session *session, udpai_kind kind, const char *name);
/* The last of a name, since the beginning; NULL: none. */
const udpai_update *
udpai_last_of(const udpai_test_session *session, udpai_kind kind, const char *name);
/* The last response of a type; NULL: none. */
const udpai_response *udpai_last_response(const udpai_test_session *session, udpai_kind kind);
/* Does it have this alias? */
bool udpai_has_alias(const udpai_update *update, const char *alias);
/* The last of a name or of an alias, behind the mark; NULL: none. */
const udpai_update *
udpai_update_of_any_name(const udpai_test_session *session, udpai_kind kind, const char *name);
/* Its error in resource_errors, behind the mark; NULL: none. */
const udpai_resource_error *
udpai_error_of(const udpai_test_session *session, udpai_kind kind, const char *name);
/* How often the last response of the type has it. */
size_t udpai_count_in_last(const udpai_test_session *session, udpai_kind kind, const char *name);

/* ---- judging ---- */

void udpai_fail_script(udpai_script *script, const char *format, ...) UDPA_PRINTF(2, 3);
void udpai_skip_script(udpai_script *script, const char *format, ...) UDPA_PRINTF(2, 3);
bool udpai_is_running(const udpai_script *script);
/* Fails unless it is so. */
#define udpai_require(script, condition, ...)                                                      \
    ((condition) ? (void)0 : udpai_fail_script((script), __VA_ARGS__))
void udpai_transcribe(udpai_script *script, const char *format, ...) UDPA_PRINTF(2, 3);

/* What arrives from now on is behind the last deed; each request and each change does this, too. */
void udpai_test_session_mark(udpai_test_session *session);
/* All of these arrive after the last deed, and as they are now. */
void udpai_expect(udpai_test_session *session, udpai_kind kind, udpai_names names);
/* Its removal arrives: in delta as such, else by a whole state without it. */
void udpai_expect_removed(udpai_test_session *session, udpai_kind kind, const char *name);
/* The name, or its removal, arrives. */
void udpai_expect_update(udpai_test_session *session, udpai_kind kind, const char *name);
/* Waits a while for an error of the name in resource_errors, or for an update of it. */
void udpai_wait_for_error(udpai_test_session *session, udpai_kind kind, const char *name);
/* Any response of the type. */
void udpai_expect_response(udpai_test_session *session, udpai_kind kind);
/* No update of these arrives, and none has since the last deed; NULL: none of the type. */
void udpai_expect_nothing_of(udpai_test_session *session, udpai_kind kind, udpai_names names);
/* The server ends the stream with this code of gRPC; -1: with any that is an error. */
void udpai_expect_end(udpai_test_session *session, int code);
/* What is on its way has arrived: nothing more arrives for a while. */
void udpai_wait_until_quiet(udpai_test_session *session);

void udpai_script_init(udpai_script *script, udpai_stage *stage);
void udpai_script_done(udpai_script *script);

#endif
