/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file macros.h
 * Compiler attributes and the helpers that every public header uses.
 */
#ifndef UDPA_MACROS_H
#define UDPA_MACROS_H

#ifdef __cplusplus
#define UDPA_BEGIN_DECLS extern "C" {
#define UDPA_END_DECLS }
#else
#define UDPA_BEGIN_DECLS
#define UDPA_END_DECLS
#endif

#if defined(__GNUC__)
/** Marks a symbol that libudpa exports. */
#define UDPA_API __attribute__((visibility("default")))
/** The caller must look at the result. */
#define UDPA_MUST_USE __attribute__((warn_unused_result))
/** printf-like: @p f is the format's position, @p a the first argument's. */
#define UDPA_PRINTF(f, a) __attribute__((format(printf, f, a)))
/** Releases a variable when its scope ends; see UDPA_DEFINE_CLEANUP. */
#define UDPA_AUTO(unref) __attribute__((cleanup(unref##_p)))
#else
#define UDPA_API
#define UDPA_MUST_USE
#define UDPA_PRINTF(f, a)
#endif

/**
 * Defines `<unref>_p(type **)`, which UDPA_AUTO needs. Each public type has one already, so that
 * `UDPA_AUTO(udpa_bytes_unref) udpa_bytes *b = NULL;` works in C with GCC and Clang.
 */
#define UDPA_DEFINE_CLEANUP(type, unref)                                                           \
    static inline void unref##_p(type **object)                                                    \
    {                                                                                              \
        (void)unref(*object);                                                                      \
    }

#endif
