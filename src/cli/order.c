/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/order.h"

static bool
is_digit(udpai_str text)
{
    return text.len && *text.data >= '0' && *text.data <= '9';
}

static udpai_str
behind(udpai_str text, size_t n)
{
    return (udpai_str){text.data + n, text.len - n};
}

/* Takes the digits off the front, and returns them without leading zeros. */
static udpai_str
take_number(udpai_str *text)
{
    while (is_digit(*text) && *text->data == '0')
        *text = behind(*text, 1);
    udpai_str number = {text->data, 0};
    while (is_digit(*text)) {
        *text = behind(*text, 1);
        number.len++;
    }
    return number;
}

/* Of any length: more digits are more. */
static int
compare_numbers(udpai_str a, udpai_str b)
{
    return a.len != b.len ? (a.len > b.len) - (a.len < b.len) : udpai_str_cmp(a, b);
}

int
udpai_cli_compare_names(udpai_str a, udpai_str b)
{
    udpai_str x = a, y = b;
    while (x.len && y.len) {
        int order;
        if (is_digit(x) && is_digit(y)) {
            udpai_str number = take_number(&x);
            order = compare_numbers(number, take_number(&y));
        } else {
            order = (unsigned char)*x.data - (unsigned char)*y.data;
            x = behind(x, 1);
            y = behind(y, 1);
        }
        if (order)
            return order;
    }
    if (x.len || y.len)
        return x.len ? 1 : -1;
    return udpai_str_cmp(a, b); /* "r02" and "r2" */
}
