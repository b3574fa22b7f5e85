/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/debounce_rules.h"

#include <stdatomic.h>

#include "base/alloc.h"

struct udpai_debounce_rules {
    atomic_uint n_refs;
    char *texts; /* what the rules refer to */
    size_t n;
    udpai_debounce_rule items[];
};

udpa_err
udpai_debounce_rules_new(udpai_debounce_rules **ret_rules,
                         const udpai_debounce_rule *rules,
                         size_t n)
{
    size_t size = 1;
    udpai_debounce_rules *self = udpai_alloc(sizeof(*self) + n * sizeof(self->items[0]));
    for (size_t i = 0; i < n; i++)
        size += rules[i].type_url.len;
    char *at = self ? self->texts = udpai_alloc(size) : NULL;
    if (!at) {
        udpai_free(self);
        return UDPA_ERR_NOMEM;
    }
    atomic_init(&self->n_refs, 1);
    self->n = n;
    for (size_t i = 0; i < n; i++) {
        self->items[i] = rules[i];
        self->items[i].type_url = udpai_str_put(&at, rules[i].type_url);
    }
    *ret_rules = self;
    return UDPA_OK;
}

udpai_debounce_rules *
udpai_debounce_rules_ref(udpai_debounce_rules *rules)
{
    if (rules)
        atomic_fetch_add_explicit(&rules->n_refs, 1, memory_order_relaxed);
    return rules;
}

udpai_debounce_rules *
udpai_debounce_rules_unref(udpai_debounce_rules *rules)
{
    if (rules && atomic_fetch_sub_explicit(&rules->n_refs, 1, memory_order_acq_rel) == 1) {
        udpai_free(rules->texts);
        udpai_free(rules);
    }
    return NULL;
}

size_t
udpai_debounce_rules_size(const udpai_debounce_rules *rules)
{
    return rules ? rules->n : 0;
}

const udpai_debounce_rule *
udpai_debounce_rules_at(const udpai_debounce_rules *rules, size_t index)
{
    return &rules->items[index];
}

static bool
is_same(const udpai_debounce_rule *a, const udpai_debounce_rule *b)
{
    return udpai_str_eq(a->type_url, b->type_url) && a->quiet_ms == b->quiet_ms &&
           a->max_ms == b->max_ms;
}

bool
udpai_debounce_rules_equal(const udpai_debounce_rules *a, const udpai_debounce_rules *b)
{
    size_t n = udpai_debounce_rules_size(a);
    bool is = n == udpai_debounce_rules_size(b);
    for (size_t i = 0; is && i < n; i++)
        is = is_same(&a->items[i], &b->items[i]);
    return is;
}
