/* SPDX-License-Identifier: Apache-2.0 */
/* A mirror on the model of etcd, and beside it a copy of what it hands on. */
#ifndef UDPAI_TESTS_MIRROR_BED_H
#define UDPAI_TESTS_MIRROR_BED_H

#include "etcd/mirror.h"

#include <stdio.h>

#include "base/vector.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/test.h"

#define PREFIX UDPAI_STR("/u/")

typedef struct shadow_key {
    char key[32];
    int64_t mod_revision;
} shadow_key;

static udpai_wheel wheel;
static etcd_model model;
static udpai_mirror *mirror;

static struct {
    shadow_key items[1024];
    size_t n;
} shadow;

static int64_t revision;
static unsigned n_changes, n_events, n_all, n_states[4], n_refused;
static unsigned refuse; /* of a hundred changes */
static char why[300];
static bool accepted; /* another history */
static uint64_t chance;

/* ---- the copy ---- */

static inline size_t
find(udpai_str key)
{
    size_t at = 0;
    while (at < shadow.n && !udpai_str_eq(udpai_str_from(shadow.items[at].key), key))
        at++;
    return at;
}

static inline void
apply(const udpai_etcd_event *event, bool is_all)
{
    size_t at = find(event->kv.key);
    shadow_key key = {.mod_revision = event->kv.mod_revision};
    snprintf(key.key, sizeof(key.key), "%.*s", (int)event->kv.key.len, event->kv.key.data);
    if (event->is_delete) {
        assert_true(at < shadow.n || is_all);
        if (at < shadow.n)
            shadow.items[at] = shadow.items[--shadow.n];
    } else if (at < shadow.n) {
        assert_true(accepted || event->kv.mod_revision > shadow.items[at].mod_revision);
        shadow.items[at] = key;
    } else {
        assert_true(shadow.n < UDPAI_ARRAY_LEN(shadow.items));
        shadow.items[shadow.n++] = key;
    }
}

static inline void
assert_is_state(int64_t at)
{
    assert_int_equal(shadow.n, etcd_model_count(&model, PREFIX, at));
    for (size_t i = 0; i < shadow.n; i++) {
        const etcd_model_event *event =
            etcd_model_find(&model, udpai_str_from(shadow.items[i].key), at);
        assert_non_null(event);
        assert_int_equal(event->revision, shadow.items[i].mod_revision);
    }
}

static inline udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    (void)userdata;
    if (refuse && test_random_below(&chance, 100) < refuse) {
        n_refused++;
        return UDPA_ERR_NOMEM;
    }
    assert_true(change->position.revision >= revision || change->is_all);
    assert_true(change->n_events || change->is_all);
    assert_int_equal(change->position.cluster_id, model.cluster_id);
    if (change->is_all)
        shadow.n = 0;
    for (size_t i = 0; i < change->n_events; i++)
        apply(&change->events[i], change->is_all);
    revision = change->position.revision;
    assert_is_state(revision);
    n_changes++;
    n_events += (unsigned)change->n_events;
    n_all += change->is_all;
    return UDPA_OK;
}

static inline void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *error)
{
    (void)userdata;
    n_states[state]++;
    snprintf(why, sizeof(why), "%s", error ? udpa_error_message(error) : "");
}

static inline uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static inline bool
on_is_kept(void *userdata, udpai_str key)
{
    (void)userdata;
    return udpai_str_eq(key, UDPAI_STR("/u/lane"));
}

/* ---- the bed ---- */

static inline void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms;
    while (wheel.now_ms < end)
        udpai_wheel_advance(&wheel, wheel.now_ms + 1);
}

/* False: not within a minute. */
static inline bool
run_until(udpai_mirror_state state, int64_t at_least)
{
    for (unsigned ms = 0; ms < 60000; ms++) {
        if (udpai_mirror_get_state(mirror) == state && revision >= at_least)
            return true;
        run_ms(1);
    }
    return false;
}

static inline void
open_at(udpai_mirror_position position)
{
    const udpai_mirror_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .is_kept = on_is_kept,
        .changed = on_changed,
        .state_changed = on_state,
    };
    assert_ok(udpai_mirror_new(&mirror, &env, PREFIX, position));
}

static inline void
begin(uint64_t seed)
{
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    chance = seed;
    revision = 0;
    n_changes = n_all = n_refused = refuse = 0;
    memset(n_states, 0, sizeof(n_states));
    why[0] = '\0';
    accepted = false;
    shadow.n = 0;
}

static inline void
end(void)
{
    mirror = udpai_mirror_free(mirror);
    run_ms(5000);
    etcd_model_done(&model);
}

static inline int
setup(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    end();
    return 0;
}

static inline void
put_many(unsigned n)
{
    char key[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "/u/many-%03u", i);
        etcd_model_put(&model, key, "x");
    }
}

#endif
