/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/type.h"

#include "base/strbuf.h"
#include "model/types.h"

char *
udpai_type_url_complete(const char *type)
{
    udpai_strbuf url = {0};
    if (!strchr(type, '/'))
        udpai_strbuf_puts(&url, UDPAI_TYPE_PREFIX);
    udpai_strbuf_puts(&url, type);
    return udpai_strbuf_take(&url);
}
