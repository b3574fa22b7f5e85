/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/trust.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"

/* A chain that was good. Its place is given by its digest. */
typedef struct remembered {
    uint8_t digest[UDPAI_CHAIN_DIGEST_SIZE];
    bool is_server;
    int64_t since_s, until_s; /* zeroes: the place is free */
} remembered;

struct udpai_trust {
    atomic_uint refs;
    pthread_mutex_t mutex;
    /* Under the mutex: */
    udpai_trust_store *store;
    remembered *good; /* UDPAI_TRUST_REMEMBERED of them; NULL: none is */
};

udpai_trust *
udpai_trust_new(udpai_trust_store *store)
{
    udpai_trust *trust = udpai_alloc(sizeof(*trust));
    if (!trust || pthread_mutex_init(&trust->mutex, NULL) != 0) {
        udpai_free(trust);
        return NULL;
    }
    atomic_init(&trust->refs, 1);
    trust->store = udpai_trust_store_ref(store);
    return trust;
}

udpai_trust *
udpai_trust_ref(udpai_trust *trust)
{
    if (trust)
        atomic_fetch_add_explicit(&trust->refs, 1, memory_order_relaxed);
    return trust;
}

udpai_trust *
udpai_trust_unref(udpai_trust *trust)
{
    if (!trust || atomic_fetch_sub_explicit(&trust->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    udpai_trust_store_unref(trust->store);
    udpai_free(trust->good);
    pthread_mutex_destroy(&trust->mutex);
    udpai_free(trust);
    return NULL;
}

void
udpai_trust_set(udpai_trust *trust, udpai_trust_store *store)
{
    pthread_mutex_lock(&trust->mutex);
    udpai_trust_store *before = trust->store;
    remembered *good = UDPAI_TAKE(trust->good);
    trust->store = udpai_trust_store_ref(store);
    pthread_mutex_unlock(&trust->mutex);
    udpai_trust_store_unref(before);
    udpai_free(good);
}

udpai_trust_store *
udpai_trust_get(udpai_trust *trust)
{
    pthread_mutex_lock(&trust->mutex);
    udpai_trust_store *store = udpai_trust_store_ref(trust->store);
    pthread_mutex_unlock(&trust->mutex);
    return store;
}

/* ---- what was good ---- */

static size_t
place_of(const uint8_t *digest)
{
    uint32_t number;
    memcpy(&number, digest, sizeof(number));
    return number % UDPAI_TRUST_REMEMBERED;
}

/* Under the mutex. */
static bool
is_remembered(const udpai_trust *trust,
              const uint8_t *digest,
              const udpai_trust_question *question,
              udpai_trust_answer *ret_answer)
{
    const remembered *place = trust->good ? &trust->good[place_of(digest)] : NULL;
    if (!place || place->is_server != question->is_server || question->now_s < place->since_s ||
        question->now_s > place->until_s ||
        memcmp(place->digest, digest, UDPAI_CHAIN_DIGEST_SIZE) != 0)
        return false;
    *ret_answer = (udpai_trust_answer){UDPAI_TRUST_GOOD, place->until_s};
    return true;
}

/* Under the mutex. Without memory it is looked at again the next time. */
static void
remember(udpai_trust *trust,
         const uint8_t *digest,
         const udpai_trust_question *question,
         int64_t until_s)
{
    if (!trust->good)
        trust->good = udpai_alloc(UDPAI_TRUST_REMEMBERED * sizeof(*trust->good));
    if (!trust->good)
        return;
    remembered *place = &trust->good[place_of(digest)];
    memcpy(place->digest, digest, UDPAI_CHAIN_DIGEST_SIZE);
    place->is_server = question->is_server;
    place->since_s = question->now_s;
    place->until_s = until_s;
}

udpa_err
udpai_trust_verify(udpai_trust *trust,
                   const udpai_trust_store *store,
                   const udpai_trust_question *question,
                   udpai_trust_answer *ret_answer,
                   udpa_error **ret_error)
{
    uint8_t digest[UDPAI_CHAIN_DIGEST_SIZE];
    if (udpai_chain_digest(question->chain, digest) != UDPA_OK)
        return udpai_trust_store_verify(store, question, ret_answer, ret_error);
    pthread_mutex_lock(&trust->mutex);
    bool is_good = trust->store == store && is_remembered(trust, digest, question, ret_answer);
    pthread_mutex_unlock(&trust->mutex);
    if (is_good)
        return UDPA_OK;
    udpa_err err = udpai_trust_store_verify(store, question, ret_answer, ret_error);
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&trust->mutex);
    if (trust->store == store)
        remember(trust, digest, question, ret_answer->until_s);
    pthread_mutex_unlock(&trust->mutex);
    return UDPA_OK;
}
