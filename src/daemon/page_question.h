/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a page of which the answer is gathered (gathering.h): it waits until all has come,
 * a time at most. So many wait at a time, and each ends with the node. On the loop. */
#ifndef UDPAI_DAEMON_PAGE_QUESTION_H
#define UDPAI_DAEMON_PAGE_QUESTION_H

#include "codec/schema.h"
#include "daemon/gathering.h"
#include "transport/http/http.h"

/* What has not come by then is not in the answer, which says so. */
#define UDPAI_PAGE_QUESTION_WAIT_MS 3000
/* That wait at a time; one more is UDPA_ERR_UNAVAILABLE. */
#define UDPAI_PAGE_QUESTIONS_MAX 16
#define UDPAI_PAGE_QUESTION_PARTS 8

typedef struct udpai_page_question udpai_page_question;

/* What waits. */
typedef struct udpai_page_questions {
    udpa_endpoint *endpoint; /* borrowed */
    udpai_schema *schema;    /* counted */
    udpai_list all;
    size_t n;
    uint64_t n_tokens; /* in the names of what is asked, so that no answer is from before */
} udpai_page_questions;

/* What a query may have, percent-encoded; of numbers see udpai_page_kind. */
typedef enum udpai_page_key {
    UDPAI_PAGE_TYPE,
    UDPAI_PAGE_NAME,
    UDPAI_PAGE_AFTER,
    UDPAI_PAGE_FOR,
    UDPAI_PAGE_KEYS,
} udpai_page_key;

#define UDPAI_PAGE_HAS(key) (1U << (key))

/* What distinguishes the pages. */
typedef struct udpai_page_kind {
    size_t size;               /* of its question, which begins with a udpai_page_question */
    unsigned takes;            /* UDPAI_PAGE_HAS() of its keys */
    uint64_t limit, limit_max; /* by default, and at most; 0: it takes no limit */
    const char *usage;
    void (*put)(udpai_page_question *self, udpai_strbuf *text); /* the answer, of what there is */
    /* Is that all? It may ask for more parts. NULL: once all parts are complete. */
    bool (*is_all)(udpai_page_question *self);
    void (*done)(udpai_page_question *self); /* NULL: there is nothing else to free */
} udpai_page_kind;

struct udpai_page_question {
    udpai_list node;
    const udpai_page_kind *kind;
    udpai_page_questions *questions;
    udpai_http_reading *reading;
    udpai_timer timer;
    uint64_t deadline_ms, pause_ms;
    udpai_gathering parts[UDPAI_PAGE_QUESTION_PARTS];
    size_t n_parts;
    bool is_complete, has_failed;     /* for want of memory */
    udpai_str texts[UDPAI_PAGE_KEYS]; /* with a NUL behind it; empty: not given */
    char *room;                       /* what these are views of */
    uint64_t limit;
};

/* The schema is counted. */
void udpai_page_questions_begin(udpai_page_questions *questions,
                                udpa_endpoint *endpoint,
                                udpai_schema *schema);
/* What waits is answered with 503. */
void udpai_page_questions_end(udpai_page_questions *questions);

/* A question of a query, to be followed by udpai_page_question_wait(). UDPA_ERR_INVAL: it is none;
 * UDPA_ERR_UNAVAILABLE: too many wait. The reading is still the caller's then. */
udpa_err udpai_page_question_begin(udpai_page_question **ret,
                                   udpai_page_questions *questions,
                                   const udpai_page_kind *kind,
                                   udpai_http_reading *reading,
                                   udpa_error **ret_error);
/* One part more: of the selection, or of a name of it, which is taken. */
udpa_err udpai_page_question_gather(udpai_page_question *self,
                                    const udpai_selection *selection,
                                    char *name,
                                    udpa_error **ret_error);
/* Of a status that this node makes of itself: no other is asked. */
udpa_err udpai_page_question_gather_own(udpai_page_question *self,
                                        const char *type_url,
                                        udpa_error **ret_error);
/* Are the first parts complete, so many or all there are? */
bool udpai_page_question_has(const udpai_page_question *self, size_t n);
/* Takes the reading, to be answered later; after an error the question ends, and the reading is the
 * caller's. Returns the error. */
udpa_err udpai_page_question_wait(udpai_page_question *self, udpa_err err);

#endif
