/* SPDX-License-Identifier: Apache-2.0 */
/* How long changes of a type wait before they are sent to clients, who so take a turn for many: a
 * value, counted atomically, that any thread may have. */
#ifndef UDPAI_DEBOUNCE_RULES_H
#define UDPAI_DEBOUNCE_RULES_H

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_debounce_rule {
    udpai_str type_url; /* empty: each that has no other rule, and is no secret */
    uint64_t quiet_ms;  /* until there was none for so long; */
    uint64_t max_ms;    /* the first of them at most so long */
} udpai_debounce_rule;

typedef struct udpai_debounce_rules udpai_debounce_rules;

/* Copies them, with their texts. */
udpa_err udpai_debounce_rules_new(udpai_debounce_rules **ret_rules,
                                  const udpai_debounce_rule *rules,
                                  size_t n);
/* NULL is fine here and below: there are none. */
udpai_debounce_rules *udpai_debounce_rules_ref(udpai_debounce_rules *rules);
udpai_debounce_rules *udpai_debounce_rules_unref(udpai_debounce_rules *rules);
UDPA_DEFINE_CLEANUP(udpai_debounce_rules, udpai_debounce_rules_unref)
size_t udpai_debounce_rules_size(const udpai_debounce_rules *rules);
const udpai_debounce_rule *udpai_debounce_rules_at(const udpai_debounce_rules *rules, size_t index);
bool udpai_debounce_rules_equal(const udpai_debounce_rules *a, const udpai_debounce_rules *b);

#endif
