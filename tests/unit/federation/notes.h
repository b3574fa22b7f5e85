/* SPDX-License-Identifier: Apache-2.0 */
/* What the node of a bed orders, as texts of the bed: "sub a CDS com.acme:*, hangup b". */
#ifndef UDPAI_TESTS_FEDERATION_NOTES_H
#define UDPAI_TESTS_FEDERATION_NOTES_H

#include "tests/unit/federation/federation_test.h"

/* The type URL of "CDS", and of the others that have short names; any other is one. */
const char *fed_url(const char *type);
/* Appends to one of the bed's texts, behind @p between if it is not empty. */
void fed_note(char text[FED_TEXT], const char *between, const char *format, ...) UDPA_PRINTF(3, 4);
/* The surroundings' order function, of a bed; takes the order. */
void fed_note_order(void *userdata, udpai_order *order);

#endif
