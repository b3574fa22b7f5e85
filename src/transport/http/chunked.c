/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/http/chunked.h"

static udpa_err
fail(udpa_error **ret_error, const char *what)
{
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "the body is sent in chunks, and %s (RFC 9112, 7.1)", what);
}

static udpa_err
too_large(udpa_error **ret_error, size_t max)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "the body is larger than %zu bytes", max);
}

static udpa_err
take_digit(udpai_chunked *self, char c, size_t room, size_t max, udpa_error **ret_error)
{
    int value = udpai_hex_value(c);
    if (value < 0) {
        if (self->n == 0)
            return fail(ret_error, "one has no size");
        self->state = c == '\r' ? UDPAI_CHUNK_SIZE_LF : UDPAI_CHUNK_EXTENSION;
        return c == '\r' || c == ';' || c == ' ' || c == '\t'
                   ? UDPA_OK
                   : fail(ret_error, "the size of one is no number");
    }
    if (++self->n > 16)
        return fail(ret_error, "the size of one has too many digits");
    self->left = self->left * 16 + (size_t)value;
    return self->left > room ? too_large(ret_error, max) : UDPA_OK;
}

/* The line is thrown away. */
static udpa_err
take_line(udpai_chunked *self, char c, udpa_error **ret_error)
{
    if (c == '\r') {
        self->state =
            self->state == UDPAI_CHUNK_TRAILER ? UDPAI_CHUNK_TRAILER_LF : UDPAI_CHUNK_SIZE_LF;
        return UDPA_OK;
    }
    if (c == '\n' || c == '\0')
        return fail(ret_error, "a line between them does not end with CR LF");
    return ++self->n <= UDPAI_CHUNK_LINE_MAX ? UDPA_OK
                                             : fail(ret_error, "a line between them is too long");
}

static udpa_err
end_trailer(udpai_chunked *self, udpa_error **ret_error)
{
    bool was_empty = self->n == 0;
    self->n = 0;
    self->state = was_empty ? UDPAI_CHUNK_DONE : UDPAI_CHUNK_TRAILER;
    return was_empty || ++self->lines <= UDPAI_CHUNK_TRAILERS_MAX
               ? UDPA_OK
               : fail(ret_error, "there are too many lines behind them");
}

/* A line feed, which must be there. */
static udpa_err
take_lf(udpai_chunked *self, char c, udpa_error **ret_error)
{
    if (c != '\n')
        return fail(ret_error, "a line between them does not end with CR LF");
    if (self->state == UDPAI_CHUNK_TRAILER_LF)
        return end_trailer(self, ret_error);
    self->n = 0;
    if (self->state == UDPAI_CHUNK_SIZE_LF)
        self->state = self->left ? UDPAI_CHUNK_DATA : UDPAI_CHUNK_TRAILER;
    else
        self->state = UDPAI_CHUNK_SIZE;
    return UDPA_OK;
}

static udpa_err
take_byte(udpai_chunked *self, char c, size_t room, size_t max, udpa_error **ret_error)
{
    switch (self->state) {
    case UDPAI_CHUNK_SIZE:
        return take_digit(self, c, room, max, ret_error);
    case UDPAI_CHUNK_EXTENSION:
    case UDPAI_CHUNK_TRAILER:
        return take_line(self, c, ret_error);
    case UDPAI_CHUNK_DATA_CR:
        self->state = UDPAI_CHUNK_DATA_LF;
        return c == '\r' ? UDPA_OK : fail(ret_error, "one is longer than its length");
    default:
        return take_lf(self, c, ret_error);
    }
}

static size_t
take_data(udpai_chunked *self, udpai_str piece, udpai_strbuf *body)
{
    size_t n = udpai_min_size(self->left, piece.len);
    udpai_strbuf_append(body, piece.data, n);
    self->left -= n;
    if (self->left == 0)
        self->state = UDPAI_CHUNK_DATA_CR;
    return n;
}

udpa_err
udpai_chunked_take(
    udpai_chunked *self, udpai_str piece, size_t max, udpai_strbuf *body, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    size_t i = 0;
    while (i < piece.len && err == UDPA_OK && self->state != UDPAI_CHUNK_DONE) {
        if (self->state == UDPAI_CHUNK_DATA)
            i += take_data(self, (udpai_str){piece.data + i, piece.len - i}, body);
        else
            err = take_byte(self, piece.data[i++], max - body->len, max, ret_error);
    }
    self->n_taken = i;
    if (err == UDPA_OK && udpai_strbuf_failed(body))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}
