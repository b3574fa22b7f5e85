/* SPDX-License-Identifier: Apache-2.0 */
/* Keys for secrets as tests have them: a letter each, and the first one seals. */
#ifndef UDPAI_TESTS_LETTER_SEALS_H
#define UDPAI_TESTS_LETTER_SEALS_H

#include "replica/record.h"

#include <stdio.h>

#define SECRET "type.googleapis.com/test.Secret"

static inline bool
is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    return udpai_str_eq(type_url, UDPAI_STR(SECRET));
}

/* ---- keys: a letter, then the place, then the text in a way that nothing finds it ---- */

static inline udpa_bytes *
turned(char letter, const udpai_record_place *place, udpai_str text)
{
    uint8_t *room;
    size_t head = 1 + place->origin.len + place->name.len;
    udpa_bytes *bytes = udpai_bytes_make(head + text.len, &room);
    if (!bytes)
        return NULL;
    room[0] = (uint8_t)letter;
    memcpy(room + 1, place->origin.data, place->origin.len);
    memcpy(room + 1 + place->origin.len, place->name.data, place->name.len);
    for (size_t i = 0; i < text.len; i++)
        room[head + i] = (uint8_t)(text.data[i] ^ 0x80 ^ letter);
    return bytes;
}

static inline udpa_err
on_seal(void *userdata,
        const udpai_record_place *place,
        udpai_str plain,
        udpa_bytes **ret_sealed,
        udpa_error **ret_error)
{
    const char *keys = *(const char *const *)userdata;
    if (!*keys)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "no key");
    *ret_sealed = turned(keys[0], place, plain);
    return *ret_sealed ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static inline udpa_err
on_unseal(void *userdata,
          const udpai_record_place *place,
          udpai_str sealed,
          udpa_bytes **ret_plain,
          udpa_error **ret_error)
{
    const char *keys = *(const char *const *)userdata;
    size_t head = 1 + place->origin.len + place->name.len;
    if (sealed.len < head || memcmp(sealed.data + 1, place->origin.data, place->origin.len) != 0)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is damaged");
    if (!strchr(keys, sealed.data[0]))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "no key");
    const udpai_record_place none = {{"", 0}, {"", 0}, {"", 0}};
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *text =
        turned(sealed.data[0], &none, (udpai_str){sealed.data + head, sealed.len - head});
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_str view = udpai_bytes_view(text);
    return udpa_bytes_new(ret_plain, view.data + 1, view.len - 1);
}

static inline udpai_record_sealed
on_find_key(void *userdata, udpai_str sealed, char ret_id[UDPAI_RECORD_KEY_ID_MAX])
{
    const char *keys = *(const char *const *)userdata;
    if (sealed.len < 2 || sealed.data[0] < 'A' || sealed.data[0] > 'Z')
        return UDPAI_RECORD_DAMAGED;
    (void)snprintf(ret_id, UDPAI_RECORD_KEY_ID_MAX, "%c", sealed.data[0]);
    return sealed.data[0] == keys[0]      ? UDPAI_RECORD_CURRENT
           : strchr(keys, sealed.data[0]) ? UDPAI_RECORD_OLD
                                          : UDPAI_RECORD_LOCKED;
}

/* @p keys: such as "AB"; it may be another one later. */
static inline udpai_record_seals
letter_seals(const char *const *keys)
{
    return (udpai_record_seals){is_secret, on_seal, on_unseal, on_find_key,
                                (void *)(uintptr_t)keys};
}

#endif
