/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed values come back to their place and key, and to nothing else. */
#include "storage/seal.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";
static const udpai_seal_place place = {{"origin", 6}, {"x/type", 6}, {"com.acme/a", 10}};

static udpa_bytes *
seal(const udpai_sealer *sealer, udpai_str plain)
{
    udpa_bytes *sealed = NULL;
    assert_ok(udpai_seal(sealer, &place, plain, &sealed, NULL));
    return sealed;
}

static udpa_err
unseal(const udpai_sealer *sealer, const udpai_seal_place *from, udpai_str sealed)
{
    udpa_bytes *plain = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_unseal(sealer, from, sealed, &plain, &error);
    assert_int_equal(plain != NULL, err == UDPA_OK);
    assert_int_equal(error != NULL, err != UDPA_OK);
    udpa_bytes_unref(plain);
    return err;
}

static void
sealed_comes_back(void **state)
{
    (void)state;
    static const udpai_str texts[] = {{"attack at dawn", 14}, {"\0\0", 2}, {"", 0}};
    udpai_sealer sealer;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpa_bytes *sealed = seal(&sealer, texts[i]), *plain = NULL;
        udpai_str view = udpai_bytes_view(sealed);
        if (texts[i].len > 2)
            assert_null(memmem(view.data, view.len, texts[i].data, texts[i].len));
        assert_ok(udpai_unseal(&sealer, &place, view, &plain, NULL));
        assert_true(udpai_str_eq(udpai_bytes_view(plain), texts[i]));
        udpa_bytes_unref(plain);
        udpa_bytes_unref(sealed);
    }
    udpai_sealer_done(&sealer);
}

static void
equal_texts_are_sealed_differently(void **state)
{
    (void)state;
    udpai_sealer sealer;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    udpa_bytes *a = seal(&sealer, UDPAI_STR("same")), *b = seal(&sealer, UDPAI_STR("same"));
    assert_false(udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
    udpa_bytes_unref(a);
    udpa_bytes_unref(b);
    udpai_sealer_done(&sealer);
}

static void
any_changed_bit_is_seen(void **state)
{
    (void)state;
    udpai_sealer sealer;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    udpa_bytes *sealed = seal(&sealer, UDPAI_STR("attack at dawn"));
    size_t size = udpa_bytes_size(sealed);
    char *copy = malloc(size);
    assert_non_null(copy);
    for (size_t bit = 0; bit < size * 8; bit++) {
        memcpy(copy, udpa_bytes_data(sealed), size);
        copy[bit / 8] ^= (char)(1 << bit % 8);
        udpa_err err = unseal(&sealer, &place, (udpai_str){copy, size});
        assert_true(err == UDPA_ERR_MALFORMED || err == UDPA_ERR_PRECONDITION);
    }
    for (size_t len = 0; len < size; len++)
        assert_int_equal(unseal(&sealer, &place, (udpai_str){udpa_bytes_data(sealed), len}),
                         UDPA_ERR_MALFORMED);
    free(copy);
    udpa_bytes_unref(sealed);
    udpai_sealer_done(&sealer);
}

static void
a_value_is_of_its_place_only(void **state)
{
    (void)state;
    static const udpai_seal_place others[] = {
        {{"other", 5}, {"x/type", 6}, {"com.acme/a", 10}},
        {{"origin", 6}, {"x/typf", 6}, {"com.acme/a", 10}},
        {{"origin", 6}, {"x/type", 6}, {"com.acme/b", 10}},
        {{"originx", 7}, {"/type", 5}, {"com.acme/a", 10}}, /* the same, joined */
        {{"", 0}, {"", 0}, {"", 0}},
    };
    udpai_sealer sealer;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    udpa_bytes *sealed = seal(&sealer, UDPAI_STR("attack at dawn"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        assert_int_equal(unseal(&sealer, &others[i], udpai_bytes_view(sealed)), UDPA_ERR_MALFORMED);
    assert_ok(unseal(&sealer, &place, udpai_bytes_view(sealed)));
    udpa_bytes_unref(sealed);
    udpai_sealer_done(&sealer);
}

static void
another_key_is_told_from_damage(void **state)
{
    (void)state;
    static const uint8_t other_key[UDPAI_SECRET_KEY_SIZE] = "1123456789abcdef0123456789abcde";
    udpai_sealer sealer, other, none;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    assert_ok(udpai_sealer_init(&other, other_key, NULL));
    assert_ok(udpai_sealer_init(&none, NULL, NULL));
    udpa_bytes *sealed = seal(&sealer, UDPAI_STR("attack at dawn"));
    assert_int_equal(unseal(&other, &place, udpai_bytes_view(sealed)), UDPA_ERR_PRECONDITION);
    assert_int_equal(unseal(&none, &place, udpai_bytes_view(sealed)), UDPA_ERR_PRECONDITION);
    udpa_bytes_unref(sealed);
    udpai_sealer_done(&sealer);
    udpai_sealer_done(&other);
    static const udpai_sealer wiped;
    assert_memory_equal(&other, &wiped, sizeof(wiped));
}

static udpa_err
seal_and_unseal(void *context)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = NULL, *plain = NULL;
    udpa_err err = udpai_seal(context, &place, UDPAI_STR("text"), &sealed, NULL);
    return err == UDPA_OK ? udpai_unseal(context, &place, udpai_bytes_view(sealed), &plain, NULL)
                          : err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    udpai_sealer sealer;
    assert_ok(udpai_sealer_init(&sealer, key, NULL));
    assert_true(oom_torture(seal_and_unseal, &sealer) >= 4);
    udpai_sealer_done(&sealer);
}

/* After a change of keys. */
static void
the_first_key_seals_and_all_open(void **state)
{
    (void)state;
    static const uint8_t old_key[UDPAI_SECRET_KEY_SIZE] = "2123456789abcdef0123456789abcde";
    udpai_sealer old, both;
    char id[UDPAI_SEAL_KEY_ID_HEX] = "", first_id[UDPAI_SEAL_KEY_ID_HEX] = "";
    assert_ok(udpai_sealer_init(&old, old_key, NULL));
    assert_ok(udpai_sealer_init(&both, key, NULL));
    assert_ok(udpai_sealer_add(&both, old_key, NULL));
    udpa_bytes *sealed = seal(&old, UDPAI_STR("before")), *anew = seal(&both, UDPAI_STR("now"));
    assert_ok(unseal(&both, &place, udpai_bytes_view(sealed)));
    assert_ok(unseal(&both, &place, udpai_bytes_view(anew)));
    assert_int_equal(unseal(&old, &place, udpai_bytes_view(anew)), UDPA_ERR_PRECONDITION);
    assert_int_equal(udpai_sealer_find(&both, udpai_bytes_view(sealed), id), UDPAI_SEALED_BY_OTHER);
    assert_int_equal(udpai_sealer_find(&both, udpai_bytes_view(anew), first_id),
                     UDPAI_SEALED_BY_FIRST);
    assert_string_not_equal(id, first_id);
    assert_int_equal(udpai_sealer_find(&old, udpai_bytes_view(anew), id), UDPAI_SEALED_BY_MISSING);
    assert_string_equal(id, first_id);
    for (size_t len = 0; len < udpa_bytes_size(anew) - strlen("now"); len++)
        assert_int_equal(udpai_sealer_find(&both, (udpai_str){udpa_bytes_data(anew), len}, id),
                         UDPAI_SEALED_BY_NONE);
    udpa_bytes_unref(sealed);
    udpa_bytes_unref(anew);
    udpai_sealer_done(&old);
    udpai_sealer_done(&both);
}

static void
ids_are_of_keys_in_their_order(void **state)
{
    (void)state;
    uint8_t one[UDPAI_SECRET_KEY_SIZE] = {0};
    udpai_sealer sealer;
    udpai_strbuf text = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_ok(udpai_sealer_init(&sealer, NULL, NULL));
    udpai_sealer_put_ids(&sealer, &text);
    assert_int_equal(text.len, 0);
    for (uint8_t i = 0; i < UDPAI_SEAL_KEYS_MAX; i++) {
        one[0] = i;
        assert_ok(udpai_sealer_add(&sealer, one, NULL));
        assert_int_equal(udpai_sealer_add(&sealer, one, &error),
                         i + 1 < UDPAI_SEAL_KEYS_MAX ? UDPA_ERR_INVAL : UDPA_ERR_LIMIT);
        udpa_error_unref(error);
        error = NULL;
    }
    udpai_sealer_put_ids(&sealer, &text);
    assert_int_equal(text.len, UDPAI_SEAL_KEYS_MAX * UDPAI_SEAL_KEY_ID_HEX - 1);
    /* of 32 zeroes: HMAC-SHA256, not a digest of the key */
    assert_null(memmem(text.data, text.len, "66687aadf862bd77", 16));
    udpai_strbuf_done(&text);
    udpai_sealer_done(&sealer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_comes_back),
        cmocka_unit_test(equal_texts_are_sealed_differently),
        cmocka_unit_test(any_changed_bit_is_seen),
        cmocka_unit_test(a_value_is_of_its_place_only),
        cmocka_unit_test(another_key_is_told_from_damage),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
        cmocka_unit_test(the_first_key_seals_and_all_open),
        cmocka_unit_test(ids_are_of_keys_in_their_order),
    };
    return cmocka_run_group_tests_name("storage seal", tests, NULL, NULL);
}
