/* SPDX-License-Identifier: Apache-2.0 */
/* Making the messages that go out. What is the same for many streams is composed once, up to the
 * nonce, which each stream appends in a small piece of its own: it is the last field, of a length
 * that is always the same. */
#ifndef UDPAI_COMPOSE_H
#define UDPAI_COMPOSE_H

#include "model/node_info.h"
#include "model/publication.h"
#include "wire/entry.h"
#include "wire/message.h"

/* 12 hexadecimal digits: at a million responses a second, for eight years. */
#define UDPAI_NONCE_LEN 12
/* A nonce as a field: tag, length, digits. */
#define UDPAI_NONCE_TAIL_LEN (UDPAI_NONCE_LEN + 2)

void udpai_nonce_format(uint64_t counter, char nonce[UDPAI_NONCE_LEN]);
/* The counter of a nonce of ours; false for what is none. */
bool udpai_nonce_parse(udpai_str nonce, uint64_t *ret_counter);
/* @p field: the nonce's number in its message, below 16. */
void udpai_nonce_tail(uint64_t counter, uint32_t field, uint8_t tail[UDPAI_NONCE_TAIL_LEN]);

/* The nonce's number in DeltaPublish. */
#define UDPAI_PUBLISH_NONCE_FIELD 3

typedef struct udpai_publish_item {
    const udpa_resource *resource;
    udpai_entry_form form;
} udpai_publish_item;

typedef struct udpai_publish_plan {
    const udpai_publish_item *items;
    size_t n_items;
    const udpai_str *removed;
    size_t n_removed;
    /* Extension. For each name its removal with a generation (model/removal.h), or NULL; NULL: for
     * none. */
    udpa_resource *const *removals;
    bool receipt_required;
    bool is_trial; /* extension */
    /* Extensions; left empty for peers that do not know them. */
    udpai_str type_url, name_space;
    bool complete;
    udpai_str waits; /* fields of a DeltaPublish */
    uint32_t waits_behind;
    uint64_t commit;          /* 0: none */
    const udpai_trace *trace; /* NULL: none */
} udpai_publish_plan;

/* UdpaMessage.publish.delta, or .trial, up to its nonce, the tail of which must follow; NULL
 * without memory. */
udpa_bytes *udpai_publish_compose(const udpai_publish_plan *plan);
/* The same with its nonce, as one message. */
udpa_bytes *udpai_publish_compose_whole(const udpai_publish_plan *plan, uint64_t nonce);
/* Bytes that an item adds to a publish. */
size_t udpai_publish_item_size(const udpai_publish_item *item);

/* Whole messages; NULL without memory. */
udpa_bytes *udpai_subscribe_compose(const udpai_subscription_message *subscription);
udpa_bytes *udpai_unsubscribe_compose(const udpai_subscription_message *subscription);
udpa_bytes *udpai_subscription_error_compose(const udpai_subscription_message *subscription);
/* Above `texts_max` bytes with the full text of each rejection, it is short beyond the first ones;
 * above it still, a receipt holds codes alone: at most 4 bytes for each entry and refused removal,
 * and no effects. */
udpa_bytes *udpai_receipt_compose(const udpai_publication *publication, size_t texts_max);
/* Of one that can always be taken. */
#define UDPAI_RECEIPT_TEXTS_MAX ((size_t)1 << 20)
/* A serialised envoy.config.core.v3.Node. */
udpa_bytes *udpai_node_encode(const udpai_node_info *info);
/* The Node that begins a stream. */
udpa_bytes *udpai_node_compose(const udpai_node_info *info);

#endif
