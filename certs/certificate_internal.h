/* SPDX-License-Identifier: Apache-2.0 */
/* What certificate.c and identity.c share. */
#ifndef UDPAI_CERTIFICATE_INTERNAL_H
#define UDPAI_CERTIFICATE_INTERNAL_H

#include <openssl/x509.h>
#include <stdatomic.h>

#include "certs/certificate.h"

struct udpai_certificate {
    X509 *x509;
    int64_t not_before_s, not_after_s;
};

struct udpai_chain {
    atomic_uint refs;
    char *file; /* for messages */
    size_t n;
    struct udpai_certificate *certificates;
};

#endif
