/* SPDX-License-Identifier: Apache-2.0 */
/* No part of the password ever gets into a message. */
#include "storage/password_file.h"

#include <openssl/crypto.h>

#include "storage/private_file.h"

enum {
    FILE_MAX = UDPAI_PASSWORD_MAX + 2, /* with "\r\n" */
};

static udpai_str
without_line_end(udpai_str text)
{
    if (text.len && text.data[text.len - 1] == '\n') {
        text.len--;
        if (text.len && text.data[text.len - 1] == '\r')
            text.len--;
    }
    return text;
}

/* Of any encoding, but what ends a line or a text is a slip. */
static bool
is_password(udpai_str text)
{
    bool is = text.len > 0 && text.len <= UDPAI_PASSWORD_MAX;
    for (size_t i = 0; i < text.len && is; i++)
        is = (unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7f;
    return is;
}

udpa_err
udpai_password_file_read(const char *path,
                         char password[UDPAI_PASSWORD_MAX + 1],
                         udpa_error **ret_error)
{
    char room[FILE_MAX + 1]; /* one more, to notice a longer file */
    size_t size = sizeof(room);
    udpa_err err = udpai_private_file_read(path, "password", room, &size, ret_error);
    udpai_str text = {0};
    if (err == UDPA_OK)
        text = without_line_end((udpai_str){room, size});
    if (err == UDPA_OK && !is_password(text)) {
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "password file %s must hold one line of 1 to %d bytes, without control "
                         "characters",
                         path, UDPAI_PASSWORD_MAX);
    } else if (err == UDPA_OK) {
        memcpy(password, text.data, text.len);
        password[text.len] = '\0';
    }
    OPENSSL_cleanse(room, sizeof(room));
    return err;
}
