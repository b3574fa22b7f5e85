/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UDPAI_UTF8_H
#define UDPAI_UTF8_H

#include "base/util.h"

/* Is it well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms) without a zero byte? */
bool udpai_utf8_valid(udpai_str text);

#endif
