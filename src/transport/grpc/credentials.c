/* SPDX-License-Identifier: Apache-2.0 */
/* What peers have presented, for as long as they are here. A handshake looks at a certificate once,
 * and a stream lasts for weeks: so each chain is kept, once for all that present it, and is looked
 * at again when others are trusted, and when it ends. It is done in slices, between which the
 * thread does its other work; so is the cutting off of those with a certificate that is good no
 * more.
 *
 * There are as many as streams at most, and a handshake takes no chain larger than 100 KiB. */
#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"
#include "transport/grpc/grpc_internal.h"

#define SLICE_MS 4
#define LATER_MS 1000 /* without memory */
/* The wall clock may be put right while nobody looks: it is asked so often. */
#define LOOK_MS 60000

struct udpai_credential {
    udpai_stream_thread *thread;
    udpai_list in_queue; /* to be looked at, or its bearers are to be cut off */
    udpai_trust *trust;
    bool is_server;
    udpai_chain *chain;
    udpai_trust_store *store; /* that it was looked at with; NULL: not yet */
    int64_t until_s;
    udpai_timer end;
    udpa_error *why; /* it is good no more; NULL: it is good */
    bool is_disowned;
    udpai_list bearers;
    uint8_t key[UDPAI_CHAIN_DIGEST_SIZE + sizeof(udpai_trust *) + 1];
};

static udpai_str
key_of(const void *item)
{
    const udpai_credential *credential = item;
    return (udpai_str){(const char *)credential->key, sizeof(credential->key)};
}

static int64_t
now_s(void)
{
    return udpai_wall_us() / 1000000;
}

static void
enqueue(udpai_credential *credential)
{
    udpai_credentials *all = &credential->thread->credentials;
    if (!udpai_list_linked(&credential->in_queue))
        udpai_list_append(&all->queue, &credential->in_queue);
    if (!udpai_timer_is_set(&all->slice))
        udpai_timer_set(&credential->thread->wheel, &all->slice, credential->thread->wheel.now_ms);
}

static void
free_credential(udpai_credential *credential)
{
    udpai_map_remove(&credential->thread->credentials.all, key_of(credential));
    udpai_list_remove(&credential->in_queue);
    udpai_timer_cancel(&credential->end);
    udpai_trust_unref(credential->trust);
    udpai_trust_store_unref(credential->store);
    udpai_chain_unref(credential->chain);
    udpa_error_unref(credential->why);
    udpai_free(credential);
}

/* ---- looking at one ---- */

static void
watch_end(udpai_credential *credential)
{
    int64_t left_s = credential->until_s + 1 - now_s();
    uint64_t left_ms = left_s > 0 ? (uint64_t)left_s * 1000 : 0;
    udpai_timer_set(&credential->thread->wheel, &credential->end,
                    credential->thread->wheel.now_ms + (left_ms < LOOK_MS ? left_ms : LOOK_MS));
}

static void
on_end(udpai_timer *timer)
{
    udpai_credential *credential = UDPAI_CONTAINER_OF(timer, udpai_credential, end);
    if (now_s() > credential->until_s)
        enqueue(credential);
    else
        watch_end(credential);
}

/* UDPA_ERR_NOMEM: nothing was found out. Else it is good, or has a `why`. */
static udpa_err
judge(udpai_credential *credential, udpai_trust_store *store)
{
    udpai_trust_answer answer;
    udpa_error *why = NULL;
    const udpai_trust_question question = {
        .chain = credential->chain,
        .is_server = credential->is_server,
        .now_s = now_s(),
        .known = &credential->thread->credentials.known,
    };
    udpa_err err = udpai_trust_verify(credential->trust, store, &question, &answer, &why);
    if (err == UDPA_ERR_NOMEM || (err != UDPA_OK && !why)) {
        udpa_error_unref(why);
        return UDPA_ERR_NOMEM;
    }
    udpai_trust_store_ref(store);
    udpai_trust_store_unref(credential->store);
    udpa_error_unref(credential->why);
    credential->store = store;
    credential->why = why;
    credential->until_s = answer.until_s;
    credential->is_disowned = answer.verdict == UDPAI_TRUST_REVOKED;
    if (why)
        udpai_timer_cancel(&credential->end);
    else
        watch_end(credential);
    return UDPA_OK;
}

static void
log_bad(udpai_stream_thread *thread, const char *what, const udpa_error *why)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&thread->credentials.log, thread->wheel.now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
                        UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(why)}),
                        "%s: %s (%u more not shown)", what, udpa_error_message(why), n_suppressed);
}

/* ---- looking at all again ---- */

static bool
is_late(const udpai_stream_thread *thread)
{
    return udpai_monotonic_ms() - thread->wheel.now_ms >= SLICE_MS;
}

/* True: none is left. */
static bool
cut_off(udpai_credential *credential)
{
    udpai_stream_thread *thread = credential->thread;
    udpai_list *at;
    while ((at = udpai_list_pop(&credential->bearers))) {
        udpai_bearer *bearer = UDPAI_LIST_ENTRY(at, udpai_bearer, node);
        bearer->credential = NULL;
        thread->credentials.n_cut_off++;
        atomic_fetch_add_explicit(&thread->stat_cut_off, 1, memory_order_relaxed);
        bearer->lose(bearer, credential->why, credential->is_disowned);
        if (is_late(thread))
            break;
    }
    return udpai_list_empty(&credential->bearers);
}

typedef enum progress {
    DONE,
    MORE,
    LATER
} progress;

static progress
look_at(udpai_credential *credential)
{
    udpai_stream_thread *thread = credential->thread;
    UDPA_AUTO(udpai_trust_store_unref)
    udpai_trust_store *store = udpai_trust_get(credential->trust);
    bool is_checked = !store || (credential->why && credential->store == store);
    if (!is_checked) {
        if (judge(credential, store) != UDPA_OK)
            return LATER;
        thread->credentials.n_looked_at++;
        if (credential->why)
            log_bad(thread, "streams are cut off", credential->why);
    }
    if (!credential->why)
        udpai_list_remove(&credential->in_queue);
    else if (cut_off(credential))
        free_credential(credential);
    else
        return MORE;
    return DONE;
}

static void
log_end(udpai_credentials *all, uint64_t now_ms)
{
    if (all->n_cut_off)
        udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
                  "the certificates of %zu peers were looked at again, and %zu streams cut off, in "
                  "%llu ms",
                  all->n_looked_at, all->n_cut_off, (unsigned long long)(now_ms - all->since_ms));
    else
        udpai_log(UDPA_LOG_DEBUG, UDPAI_LOG_GRPC, "the certificates of %zu peers are good",
                  all->n_looked_at);
    all->n_looked_at = all->n_cut_off = 0;
    all->since_ms = 0;
}

static void
on_slice(udpai_timer *timer)
{
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(timer, udpai_stream_thread, credentials.slice);
    udpai_credentials *all = &thread->credentials;
    uint64_t now_ms = thread->wheel.now_ms;
    progress how = DONE;
    if (!all->since_ms)
        all->since_ms = now_ms;
    while (!udpai_list_empty(&all->queue) && how != LATER && !is_late(thread))
        how = look_at(UDPAI_LIST_ENTRY(all->queue.next, udpai_credential, in_queue));
    if (udpai_list_empty(&all->queue))
        log_end(all, udpai_monotonic_ms());
    else
        udpai_timer_set(&thread->wheel, timer, how == LATER ? now_ms + LATER_MS : now_ms);
}

static void
run_verify(udpai_request *request)
{
    udpai_stream_thread *thread = request->thread;
    size_t at = 0;
    udpai_credential *credential;
    atomic_store(&thread->credentials.is_asked, false);
    while ((credential = udpai_map_next(&thread->credentials.all, &at)))
        enqueue(credential);
}

void
udpai_stream_thread_verify(udpai_stream_thread *thread)
{
    if (!atomic_exchange(&thread->credentials.is_asked, true))
        (void)udpai_thread_request(thread, &thread->credentials.request, run_verify);
}

/* ---- bearers ---- */

static udpai_credential *
make(udpai_stream_thread *thread, const udpai_credential *like)
{
    udpai_credential *credential = udpai_memdup(like, sizeof(*like));
    if (!credential || !udpai_map_add(&thread->credentials.all, credential)) {
        udpai_free(credential);
        return NULL;
    }
    udpai_list_init(&credential->in_queue);
    udpai_list_init(&credential->bearers);
    udpai_timer_init(&credential->end, on_end);
    udpai_trust_ref(credential->trust);
    udpai_chain_ref(credential->chain);
    return credential;
}

/* The one of this chain, where it is presented to be verified by these; made if need be. */
static udpai_credential *
find(udpai_stream_thread *thread, const udpai_presented *presented)
{
    udpai_credential key_only = {
        .thread = thread,
        .trust = presented->trust,
        .is_server = presented->is_server,
        .chain = presented->chain,
    };
    uint8_t *to = key_only.key + UDPAI_CHAIN_DIGEST_SIZE;
    if (udpai_chain_digest(presented->chain, key_only.key) != UDPA_OK)
        return NULL;
    memcpy(to, &presented->trust, sizeof(presented->trust));
    to[sizeof(presented->trust)] = presented->is_server;
    udpai_credential *found = udpai_map_get(&thread->credentials.all, key_of(&key_only));
    return found ? found : make(thread, &key_only);
}

udpa_err
udpai_bearer_enter(udpai_stream_thread *thread,
                   udpai_bearer *bearer,
                   const udpai_presented *presented,
                   udpa_error **ret_error)
{
    UDPA_AUTO(udpai_trust_store_unref)
    udpai_trust_store *store = presented->trust ? udpai_trust_get(presented->trust) : NULL;
    if (!store || !presented->chain)
        return UDPA_OK;
    udpai_credential *credential = find(thread, presented);
    if (!credential)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    bool is_checked =
        credential->store == store && (credential->why || now_s() <= credential->until_s);
    udpa_err err = is_checked ? UDPA_OK : judge(credential, store);
    if (err == UDPA_OK && credential->why) {
        log_bad(thread, "refused", credential->why);
        err = UDPA_ERR_UNAUTHENTICATED;
        if (ret_error)
            *ret_error = udpa_error_ref(credential->why);
    }
    if (err == UDPA_OK) {
        bearer->credential = credential;
        udpai_list_append(&credential->bearers, &bearer->node);
    } else if (udpai_list_empty(&credential->bearers)) {
        free_credential(credential);
    } else {
        enqueue(credential); /* what is so of this one is so of the others */
    }
    return err == UDPA_ERR_NOMEM ? udpai_fail_code(ret_error, err) : err;
}

void
udpai_bearer_leave(udpai_bearer *bearer)
{
    udpai_credential *credential = UDPAI_TAKE(bearer->credential);
    if (!credential)
        return;
    udpai_list_remove(&bearer->node);
    if (udpai_list_empty(&credential->bearers))
        free_credential(credential);
}

/* ---- all of them ---- */

void
udpai_credentials_init(udpai_credentials *all)
{
    udpai_map_init(&all->all, key_of);
    udpai_list_init(&all->queue);
    udpai_timer_init(&all->slice, on_slice);
    atomic_init(&all->is_asked, false);
}

void
udpai_credentials_done(udpai_credentials *all)
{
    udpai_timer_cancel(&all->slice);
    udpai_intermediates_done(&all->known);
    udpai_map_done(&all->all);
}
