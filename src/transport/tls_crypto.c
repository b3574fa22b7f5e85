/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL with less to choose from. To read the public key of a certificate, OpenSSL 3.0 looks
 * through all decoders and all kinds of keys of its providers, each time and under locks, which
 * takes as long as all of the arithmetic of a handshake. So handshakes have a context of their own,
 * with a provider that passes on what the default one has, but of these two the kinds that
 * certificates of clients may have. */
#include "transport/tls_crypto.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <string.h>

#include "base/util.h"

#define KEPT_MAX 64

static struct chosen {
    OSSL_LIB_CTX *context; /* NULL: the usual one */
    OSSL_PROVIDER *usual;
    OSSL_ALGORITHM decoders[KEPT_MAX], keys[KEPT_MAX];
} chosen;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool
is_one_of(const char *names, const char *const *kept, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(kept[i]);
        if (strncmp(names, kept[i], len) == 0 && (names[len] == ':' || names[len] == '\0'))
            return true;
    }
    return false;
}

static bool
is_kept(int operation, const OSSL_ALGORITHM *one)
{
    static const char *const in_certificates[] = {"RSA", "RSA-PSS", "EC", "ED25519"};
    static const char *const more_keys[] = {"X25519", "HKDF", "TLS1-PRF", "HMAC"};
    if (is_one_of(one->algorithm_names, in_certificates, UDPAI_ARRAY_LEN(in_certificates)))
        return operation != OSSL_OP_DECODER ||
               strstr(one->property_definition, "structure=SubjectPublicKeyInfo");
    if (operation == OSSL_OP_DECODER)
        return strstr(one->algorithm_names, "DER") != NULL;
    return is_one_of(one->algorithm_names, more_keys, UDPAI_ARRAY_LEN(more_keys));
}

static void
choose(int operation, OSSL_ALGORITHM *room)
{
    int no_cache = 0;
    size_t n = 0;
    const OSSL_ALGORITHM *at = OSSL_PROVIDER_query_operation(chosen.usual, operation, &no_cache);
    for (; at && at->algorithm_names; at++)
        if (n + 1 < KEPT_MAX && is_kept(operation, at))
            room[n++] = *at;
}

static const OSSL_ALGORITHM *
query(void *provider, int operation, int *no_cache)
{
    (void)provider;
    *no_cache = 0;
    if (operation == OSSL_OP_DECODER)
        return chosen.decoders;
    if (operation == OSSL_OP_KEYMGMT)
        return chosen.keys;
    return OSSL_PROVIDER_query_operation(chosen.usual, operation, no_cache);
}

/* Such as groups for TLS. */
static int
get_capabilities(void *provider, const char *capability, OSSL_CALLBACK *take, void *userdata)
{
    (void)provider;
    return OSSL_PROVIDER_get_capabilities(chosen.usual, capability, take, userdata);
}

static int
begin(const OSSL_CORE_HANDLE *handle,
      const OSSL_DISPATCH *in,
      const OSSL_DISPATCH **out,
      void **ret_provider)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
        {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))get_capabilities},
        {0, NULL},
    };
    (void)handle;
    (void)in;
    *out = functions;
    *ret_provider = OSSL_PROVIDER_get0_provider_ctx(chosen.usual);
    return 1;
}

static void
make(void)
{
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    chosen.usual = OSSL_PROVIDER_load(NULL, "default");
    if (chosen.usual) {
        choose(OSSL_OP_DECODER, chosen.decoders);
        choose(OSSL_OP_KEYMGMT, chosen.keys);
    }
    if (context && chosen.usual && OSSL_PROVIDER_add_builtin(context, "udpa", begin) == 1 &&
        OSSL_PROVIDER_load(context, "udpa"))
        chosen.context = context;
    else
        OSSL_LIB_CTX_free(context);
}

OSSL_LIB_CTX *
udpai_tls_crypto(void)
{
    (void)pthread_once(&once, make);
    return chosen.context;
}
