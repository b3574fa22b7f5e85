/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/deprecated.h"

#include "base/strbuf.h"

/* Without memory the value of the feature's own key is not known: it is taken as not set. */
static bool
own_truth(const udpai_runtime_snapshot *snapshot,
          const char *prefix,
          udpai_str name,
          bool otherwise)
{
    udpai_strbuf key = {0};
    udpai_strbuf_puts(&key, prefix);
    udpai_strbuf_str(&key, name);
    bool truth = udpai_strbuf_failed(&key)
                     ? otherwise
                     : udpai_runtime_truth(snapshot, udpai_strbuf_view(&key), otherwise);
    udpai_strbuf_done(&key);
    return truth;
}

bool
udpai_runtime_allows_deprecated(const udpai_runtime_snapshot *snapshot,
                                udpai_str name,
                                bool is_disallowed)
{
    bool none = udpai_runtime_truth(snapshot, UDPAI_STR(UDPAI_RUNTIME_DEPRECATED_NONE), false);
    bool allows = !is_disallowed && !none;
    allows =
        udpai_runtime_truth(snapshot, UDPAI_STR(UDPAI_RUNTIME_DEPRECATED_ALL_SINGULAR), allows);
    allows = udpai_runtime_truth(snapshot, UDPAI_STR(UDPAI_RUNTIME_DEPRECATED_ALL), allows);
    allows = own_truth(snapshot, UDPAI_RUNTIME_DEPRECATED_SINGULAR, name, allows);
    return own_truth(snapshot, UDPAI_RUNTIME_DEPRECATED, name, allows);
}
