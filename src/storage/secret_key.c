/* SPDX-License-Identifier: Apache-2.0 */
/* No part of the key, nor of a file that is none, ever gets into a message. */
#include "storage/secret_key.h"

#include <openssl/crypto.h>

#include "storage/private_file.h"

enum {
    HEX_SIZE = 2 * UDPAI_SECRET_KEY_SIZE,
    FILE_MAX = HEX_SIZE + 2, /* with "\r\n" */
};

static bool
parse_hex(udpai_str text, uint8_t key[UDPAI_SECRET_KEY_SIZE])
{
    if (text.len > HEX_SIZE && text.data[text.len - 1] == '\n')
        text.len--;
    if (text.len > HEX_SIZE && text.data[text.len - 1] == '\r')
        text.len--;
    if (text.len != HEX_SIZE)
        return false;
    for (size_t i = 0; i < UDPAI_SECRET_KEY_SIZE; i++) {
        int high = udpai_hex_value(text.data[2 * i]), low = udpai_hex_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool
parse(udpai_str text, uint8_t key[UDPAI_SECRET_KEY_SIZE])
{
    if (text.len != UDPAI_SECRET_KEY_SIZE)
        return parse_hex(text, key);
    memcpy(key, text.data, UDPAI_SECRET_KEY_SIZE);
    return true;
}

udpa_err
udpai_secret_key_read(const char *path, uint8_t key[UDPAI_SECRET_KEY_SIZE], udpa_error **ret_error)
{
    char text[FILE_MAX + 1]; /* one more, to notice a longer file */
    uint8_t found[UDPAI_SECRET_KEY_SIZE];
    size_t size = sizeof(text);
    udpa_err err = udpai_private_file_read(path, "key", text, &size, ret_error);
    if (err == UDPA_OK && !parse((udpai_str){text, size}, found))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "key file %s must hold 32 bytes, or 64 hexadecimal digits and at most a "
                         "line end; 'openssl rand -hex 32' makes such a key",
                         path);
    else if (err == UDPA_OK)
        memcpy(key, found, sizeof(found));
    OPENSSL_cleanse(text, sizeof(text));
    OPENSSL_cleanse(found, sizeof(found));
    return err;
}
