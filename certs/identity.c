/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of a certificate. Its issuer is trusted to name a holder, not to write names that every
 * reader reads alike: what could be read in two ways is refused. */
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/utf8.h"
#include "certs/certificate_internal.h"

struct names {
    udpai_str uris[UDPAI_SANS_MAX], dns_names[UDPAI_SANS_MAX];
    size_t n_uris, n_dns_names;
};

static udpa_err
fail_name(const udpai_chain *chain, const char *why, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                      "%s: the certificate does not identify its holder clearly: %s; let its "
                      "authority issue another",
                      chain->file, why);
}

static bool
has_control_characters(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return true;
    return false;
}

/* Those of users of this machine, which the kernel proves, and no authority does. */
static bool
is_of_user(udpai_str name)
{
    return udpai_str_starts(name, UDPAI_STR(UDPAI_IDENTITY_USER));
}

#define OF_USER "it has a name that begins with " UDPAI_IDENTITY_USER ", which are of local users"

/* NULL: none. Of two, some readers take the first, and some the last. */
static const ASN1_STRING *
find_common_name(X509 *x509, bool *ret_is_one_of_more)
{
    const X509_NAME *subject = X509_get_subject_name(x509);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0)
        return NULL;
    *ret_is_one_of_more = X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0;
    return X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
}

/* @p ret_text is released with OPENSSL_free(). */
static udpa_err
read_common_name(const udpai_chain *chain,
                 unsigned char **ret_text,
                 udpai_str *ret_name,
                 udpa_error **ret_error)
{
    bool is_one_of_more = false;
    const ASN1_STRING *found = find_common_name(chain->certificates[0].x509, &is_one_of_more);
    if (!found)
        return UDPA_OK;
    if (is_one_of_more)
        return fail_name(chain, "it has more than one common name", ret_error);
    unsigned char *text = NULL;
    int len = ASN1_STRING_to_UTF8(&text, found);
    if (len < 0)
        return fail_name(chain, "its common name is no text", ret_error);
    udpai_str name = {(const char *)text, (size_t)len};
    udpa_err err = UDPA_OK;
    if (name.len > UDPAI_COMMON_NAME_MAX)
        err = fail_name(chain, "its common name is longer than 512 bytes", ret_error);
    else if (!udpai_utf8_valid(name) || has_control_characters(name))
        err = fail_name(chain, "its common name has zero bytes or other control characters",
                        ret_error);
    else if (is_of_user(name))
        err = fail_name(chain, OF_USER, ret_error);
    if (err != UDPA_OK) {
        OPENSSL_free(text);
        return err;
    }
    *ret_text = text;
    *ret_name = name;
    return UDPA_OK;
}

/* URIs and DNS names are ASCII without spaces; that also leaves out zero bytes. */
static bool
is_plain(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= 0x20 || text.data[i] >= 0x7f)
            return false;
    return text.len > 0;
}

static udpa_err
add_name(const udpai_chain *chain,
         struct names *names,
         const GENERAL_NAME *name,
         udpa_error **ret_error)
{
    if (name->type != GEN_URI && name->type != GEN_DNS)
        return UDPA_OK;
    const ASN1_IA5STRING *value = GENERAL_NAME_get0_value(name, NULL);
    udpai_str text = {(const char *)ASN1_STRING_get0_data(value),
                      (size_t)ASN1_STRING_length(value)};
    if (names->n_uris + names->n_dns_names == UDPAI_SANS_MAX)
        return fail_name(chain, "it has more than 256 URIs and DNS names", ret_error);
    if (text.len > UDPAI_SAN_MAX)
        return fail_name(chain, "it has a URI or DNS name longer than 2048 bytes", ret_error);
    if (!is_plain(text))
        return fail_name(chain,
                         "it has a URI or DNS name that is empty, or has zero bytes, spaces or "
                         "characters beyond ASCII",
                         ret_error);
    if (is_of_user(text))
        return fail_name(chain, OF_USER, ret_error);
    if (name->type == GEN_URI)
        names->uris[names->n_uris++] = text;
    else
        names->dns_names[names->n_dns_names++] = text;
    return UDPA_OK;
}

/* @p ret_list is what the names refer to; released with GENERAL_NAMES_free(). */
static udpa_err
read_alternative_names(const udpai_chain *chain,
                       GENERAL_NAMES **ret_list,
                       struct names *names,
                       udpa_error **ret_error)
{
    int found = 0;
    GENERAL_NAMES *list =
        X509_get_ext_d2i(chain->certificates[0].x509, NID_subject_alt_name, &found, NULL);
    if (!list && found == -1) /* it has none */
        return UDPA_OK;
    if (!list)
        return fail_name(chain, "its subjectAltName is malformed, or there are two", ret_error);
    udpa_err err = UDPA_OK;
    for (int i = 0; i < sk_GENERAL_NAME_num(list) && err == UDPA_OK; i++)
        err = add_name(chain, names, sk_GENERAL_NAME_value(list, i), ret_error);
    *ret_list = list;
    return err;
}

udpa_err
udpai_chain_identity(const udpai_chain *chain,
                     udpai_identity **ret_identity,
                     udpa_error **ret_error)
{
    struct names names = {.n_uris = 0};
    unsigned char *common_name = NULL;
    GENERAL_NAMES *list = NULL;
    udpai_identity_parts parts = {.authenticated = true};
    udpa_err err = read_common_name(chain, &common_name, &parts.common_name, ret_error);
    if (err == UDPA_OK)
        err = read_alternative_names(chain, &list, &names, ret_error);
    if (err == UDPA_OK) {
        parts.uris = names.uris;
        parts.n_uris = names.n_uris;
        parts.dns_names = names.dns_names;
        parts.n_dns_names = names.n_dns_names;
        err = udpai_fail_code(ret_error, udpai_identity_new(ret_identity, &parts));
    }
    OPENSSL_free(common_name);
    GENERAL_NAMES_free(list);
    ERR_clear_error();
    return err;
}
