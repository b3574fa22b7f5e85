/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of the PROXY protocol. However its bytes are cut, a head has one size, which is seen as
 * soon as they are there; what was wrong stays wrong with more bytes behind it. */
#include "tests/fuzz/fuzz.h"
#include "transport/door/proxy_head.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const udpai_str all = {(const char *)data, udpai_min_size(size, UDPAI_PROXY_HEAD_MAX + 1)};
    size_t last = UDPAI_PROXY_HEAD_START;
    udpa_err err = UDPA_OK;
    for (size_t n = 0; n <= all.len; n++) {
        size_t found = 0;
        udpa_err now = udpai_proxy_head_size((udpai_str){all.data, n}, &found, NULL);
        FUZZ_CHECK(err == UDPA_OK || now != UDPA_OK);
        err = now;
        if (err != UDPA_OK)
            continue;
        FUZZ_CHECK(n < UDPAI_PROXY_HEAD_START ? found == UDPAI_PROXY_HEAD_START : found >= last);
        FUZZ_CHECK(n <= UDPAI_PROXY_HEAD_START || found == last);
        FUZZ_CHECK(found <= UDPAI_PROXY_HEAD_MAX);
        last = found;
    }
    udpai_proxy_head head;
    udpai_str whole = {all.data, udpai_min_size(all.len, last)};
    if (udpai_proxy_head_read(whole, &head, NULL) == UDPA_OK) {
        FUZZ_CHECK(err == UDPA_OK && whole.len == last);
        FUZZ_CHECK(!head.has_client || head.client.ss_family == AF_INET ||
                   head.client.ss_family == AF_INET6);
    }
    return 0;
}
