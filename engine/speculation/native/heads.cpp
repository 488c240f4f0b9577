// The heads that models bring, run by llama.cpp: MTP layers, EAGLE-3, DFlash and DSpark. What a head needs of its target
// (rows of states or of layers' inputs) is read through functions that llama.cpp has for its own programs only, with C++
// names; this file gives them C names and keeps the rows. `heads.py` calls it and decides, token by token, what is drafted.
//
// The steps are those of llama.cpp's common/speculative.cpp, but for three things: a head reads a row when it is asked to
// draft, together with its first guess, so rejected tokens cost nothing; every guess is a row of logits; and what a file can
// have wrong is an error text, not the end of the process. Like a context, a head is used by one thread at a time.

#include "heads.h"

#if defined(_WIN32)
#define EXPORTED extern "C" __declspec(dllexport)
#else
#define EXPORTED extern "C" __attribute__((visibility("default")))
#endif

namespace {

using heads::Heads;
using heads::Method;

constexpr int32_t kFailed = -1;

thread_local std::string trouble;

template <typename Result, typename Action> Result guarded(Result failed, Action action) noexcept {
    try {
        return action();
    } catch (const std::exception &error) {
        trouble = error.what();
    } catch (...) {
        trouble = "it failed";
    }
    return failed;
}

Heads &opened(void *one) {
    if (one == nullptr)
        heads::fail("it is closed");
    return *static_cast<Heads *>(one);
}

template <typename Action> int32_t done(Action action) noexcept {
    return guarded<int32_t>(kFailed, [&] {
        action();
        return 0;
    });
}

} // namespace

// Raised with every change of what the functions are given or return.
EXPORTED int32_t slipstream_heads_version() { return 1; }

// By which the caller sees that both were compiled for the same llama.cpp: sizes of what is passed by value, and its name.
EXPORTED uint64_t slipstream_heads_layout() {
    return sizeof(llama_context_params) << 32 | sizeof(llama_model_params) << 16 | sizeof(llama_embd);
}

EXPORTED const char *slipstream_heads_build() { return SLIPSTREAM_LLAMA; }

// What went wrong in the last call on this thread that failed.
EXPORTED const char *slipstream_heads_trouble() { return trouble.c_str(); }

// Both contexts must outlive it. Null if it failed.
EXPORTED void *slipstream_heads_make(llama_context *target, llama_context *head, int32_t method) {
    return guarded<void *>(nullptr, [&] { return new Heads(target, head, static_cast<Method>(method)); });
}

EXPORTED void slipstream_heads_free(void *one) { delete static_cast<Heads *>(one); }

EXPORTED int32_t slipstream_heads_follow(void *one, int32_t wanted) {
    return done([&] { opened(one).follow(wanted != 0); });
}

EXPORTED int32_t slipstream_heads_take(void *one, const int32_t *tokens, int32_t count, int32_t place) {
    return done([&] { opened(one).take(tokens, count, place); });
}

EXPORTED int32_t slipstream_heads_pick(void *one, const int32_t *places, int32_t num_places, int32_t count) {
    return done([&] { opened(one).pick(places, num_places, count); });
}

EXPORTED int32_t slipstream_heads_keep(void *one, int32_t num_kept) {
    return done([&] { opened(one).keep(num_kept); });
}

EXPORTED const float *slipstream_heads_start(void *one, int32_t pending, int32_t count) {
    return guarded<const float *>(nullptr, [&] { return opened(one).start(pending, count); });
}

EXPORTED const float *slipstream_heads_next(void *one, int32_t guess) {
    return guarded<const float *>(nullptr, [&] { return opened(one).next(guess); });
}

// The place after the last that it knows; the guesses of a draft at most, 0: any number; the logits of a row.
EXPORTED int32_t slipstream_heads_end(void *one) {
    return guarded<int32_t>(kFailed, [&] { return opened(one).end(); });
}
EXPORTED int32_t slipstream_heads_most(void *one) {
    return guarded<int32_t>(kFailed, [&] { return opened(one).most_guesses(); });
}
EXPORTED int32_t slipstream_heads_vocabulary(void *one) {
    return guarded<int32_t>(kFailed, [&] { return opened(one).vocabulary(); });
}
