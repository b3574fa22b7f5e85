/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/trust.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

struct udpai_trust {
    atomic_uint refs;
    pthread_mutex_t mutex;
    udpai_trust_store *store; /* under the mutex */
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
    pthread_mutex_destroy(&trust->mutex);
    udpai_free(trust);
    return NULL;
}

void
udpai_trust_set(udpai_trust *trust, udpai_trust_store *store)
{
    pthread_mutex_lock(&trust->mutex);
    udpai_trust_store *before = trust->store;
    trust->store = udpai_trust_store_ref(store);
    pthread_mutex_unlock(&trust->mutex);
    udpai_trust_store_unref(before);
}

udpai_trust_store *
udpai_trust_get(udpai_trust *trust)
{
    pthread_mutex_lock(&trust->mutex);
    udpai_trust_store *store = udpai_trust_store_ref(trust->store);
    pthread_mutex_unlock(&trust->mutex);
    return store;
}
