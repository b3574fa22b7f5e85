/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a map whose items have a type and a text, such as a name. */
#ifndef UDPAI_FEDERATION_TYPE_KEY_H
#define UDPAI_FEDERATION_TYPE_KEY_H

#include <string.h>

#include "base/util.h"

/* The room has place for both, and one more. */
static inline udpai_str
udpai_type_key(char *room, udpai_str type_url, udpai_str text)
{
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, text.data, text.len);
    return (udpai_str){room, type_url.len + 1 + text.len};
}

#endif
