/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text of a form that field rules name: a host name, an address, a URI and so on? */
#ifndef UDPAI_TEXT_FORM_H
#define UDPAI_TEXT_FORM_H

#include "base/util.h"

UDPA_BEGIN_DECLS

/* Labels of letters, digits and inner hyphens, at most 63 characters each and 253 in all; a dot at
 * the end is allowed. */
bool udpai_text_is_hostname(udpai_str text);
bool udpai_text_is_ipv4(udpai_str text);
bool udpai_text_is_ipv6(udpai_str text);
bool udpai_text_is_ip(udpai_str text);
/* NAME@HOSTNAME; the name without quotes. */
bool udpai_text_is_email(udpai_str text);
/* By the characters of RFC 3986; a URI has a scheme, a reference may have none. */
bool udpai_text_is_uri(udpai_str text);
bool udpai_text_is_uri_reference(udpai_str text);
/* Hexadecimal digits in groups of 8, 4, 4, 4 and 12. */
bool udpai_text_is_uuid(udpai_str text);

UDPA_END_DECLS

#endif
