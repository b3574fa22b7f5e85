/* SPDX-License-Identifier: Apache-2.0 */
/* Type URLs: "<prefix>/<message type>". */
#ifndef UDPAI_TYPE_URL_H
#define UDPAI_TYPE_URL_H

#include "base/util.h"

/* The message type: what is behind the last '/', or the whole text if there is none. */
static inline udpai_str
udpai_type_url_name(udpai_str type_url)
{
    const char *slash =
        type_url.len ? (const char *)memrchr(type_url.data, '/', type_url.len) : NULL;
    if (!slash)
        return type_url;
    size_t skip = (size_t)(slash - type_url.data) + 1;
    udpai_str name = {type_url.data + skip, type_url.len - skip};
    return name;
}

#endif
