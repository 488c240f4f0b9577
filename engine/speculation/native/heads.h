// Heads that follow a target, for `heads.cpp`, which says what they are.

#pragma once

#include "llama-ext.h"
#include "llama.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace heads {

enum Method { kMtp = 0, kEagle3 = 1, kDFlash = 2, kDSpark = 3 };

constexpr int32_t kMostHeads = 16, kMostBlock = 64;
constexpr int32_t kTogether = 8; // rows that pass the head with the first guess; llama.cpp wants a result of each then
constexpr llama_seq_id kSequence = 0;

[[noreturn]] inline void fail(const std::string &text) { throw std::runtime_error(text); }

inline int32_t number_in(const llama_model *model, const char *key, int32_t otherwise) {
    char text[32] = {};
    return llama_model_meta_val_str(model, key, text, sizeof text) < 0 ? otherwise : std::atoi(text);
}

inline bool is_in(const llama_model *model, const char *key, bool otherwise) {
    char text[32] = {};
    return llama_model_meta_val_str(model, key, text, sizeof text) < 0 ? otherwise : std::strcmp(text, "true") == 0;
}

struct FreeBatch {
    void operator()(llama_batch_ext *batch) const { llama_batch_ext_free(batch); }
};

class Heads {
  public:
    Heads(llama_context *target, llama_context *head, Method method)
        : target_(target), head_(head), memory_(llama_get_memory(head)), method_(method), batch_(llama_batch_ext_init(head)) {
        const llama_model *model = llama_get_model(head), *its = llama_get_model(target);
        vocabulary_ = llama_vocab_n_tokens(llama_model_get_vocab(model));
        most_ = static_cast<int32_t>(std::min(llama_n_batch(head), llama_n_ubatch(head)));
        inner_ = llama_model_n_embd_out(model);
        if (!memory_)
            fail("it keeps nothing of what it reads");
        if (method == kMtp)
            begin_mtp(model, its);
        else
            begin_layers(model, its);
        before_.assign(method == kDFlash || method == kDSpark ? 0 : inner_, 0.0f);
    }

    // Has the target's passes return what the head needs, or no more.
    void follow(bool wanted) {
        const int32_t last = llama_model_n_layer(llama_get_model(target_));
        for (const int32_t layer : layers_)
            if (layer < last)
                llama_set_embeddings_layer_inp(target_, layer, wanted);
        if (reads_states_)
            llama_set_embeddings_nextn(target_, wanted, false);
    }

    // Takes the rows of the target's last pass, over these tokens from that place on.
    void take(const llama_token *tokens, int32_t count, int32_t place) {
        if (place < end())
            keep(place);
        else if (place > end())
            restart(place);
        if (num_unread() + count >= most_)
            read();
        const size_t size = rows_.size();
        rows_.resize(size + count * width_);
        const int64_t part = layers_.empty() ? width_ : width_ / static_cast<int64_t>(layers_.size());
        for (size_t number = 0; number < std::max<size_t>(layers_.size(), 1); ++number) {
            const bool is_state = layers_.empty() || layers_[number] == llama_model_n_layer(llama_get_model(target_));
            const float *from =
                is_state ? llama_get_embeddings_nextn(target_) : llama_get_embeddings_layer_inp(target_, layers_[number]);
            if (from == nullptr)
                fail("the model's pass left no states");
            for (int32_t row = 0; row < count; ++row)
                std::copy_n(from + row * part, part, rows_.data() + size + row * width_ + number * part);
        }
        tokens_.insert(tokens_.end(), tokens, tokens + count);
    }

    // Of the rows that the last `count` tokens left, keeps those in these places, in order: a branch of a tree.
    void pick(const int32_t *places, int32_t num_places, int32_t count) {
        const int32_t start = num_unread() - count;
        if (start < 0)
            fail("these rows were read already");
        for (int32_t number = 0; number < num_places; ++number) {
            const int32_t from = start + places[number], to = start + number;
            if (from < to || from >= num_unread())
                fail("there is no such row");
            tokens_[to] = tokens_[from];
            std::copy_n(rows_.data() + from * width_, width_, rows_.data() + to * width_);
        }
        cut(start + num_places);
    }

    // Forgets all but the first `num_kept` places of the text.
    void keep(int32_t num_kept) {
        if (num_kept >= end())
            return;
        if (num_kept >= num_read_)
            return cut(num_kept - num_read_);
        if (num_kept <= first_)
            return restart(num_kept);
        cut(0);
        num_read_ = num_kept;
        std::fill(before_.begin(), before_.end(), 0.0f); // the row before is gone: one guess in the dark
    }

    // The logits of the first guess, after a token that the target has not evaluated. `count`: guesses that may follow.
    const float *start(llama_token pending, int32_t count) {
        drafted_ = 0;
        if (end() + std::max(count, 2) >= static_cast<int32_t>(llama_n_ctx(head_)))
            fail("the context is full");
        switch (method_) {
        case kMtp:
            return start_mtp(pending);
        case kEagle3:
            return start_eagle3(pending);
        default:
            return start_block(pending, count);
        }
    }

    // The logits of the next guess, after this one was made.
    const float *next(llama_token guess) {
        ++drafted_;
        if (method_ == kDFlash || method_ == kDSpark)
            return block_row(guess);
        if (heads_ > 1)
            return next_of_chain(guess);
        const std::vector<float> state = own_state();
        clear();
        add(guess, place_of_first_ + (reads_its_memory_ ? 0 : drafted_), state.data(), true);
        run();
        return row(0);
    }

    int32_t end() const { return num_read_ + num_unread(); }
    int32_t most_guesses() const { return heads_ > 1 ? heads_ : block_ ? block_ - (from_anchor_ ? 0 : 1) : 0; }
    int32_t vocabulary() const { return vocabulary_; }

  private:
    void begin_mtp(const llama_model *model, const llama_model *its) {
        reads_states_ = true;
        width_ = llama_model_n_embd_out(its);
        reads_its_memory_ = llama_get_ctx_other(head_) == target_;
        heads_ = reads_its_memory_ ? 1 : std::max(1, llama_model_n_layer_nextn(model));
        if (width_ != inner_)
            fail("its states have another size than the model's");
        if (heads_ > kMostHeads)
            fail("it has too many layers");
        llama_set_embeddings_nextn(head_, true, true);
    }

    void begin_layers(const llama_model *model, const llama_model *its) {
        const int32_t *ids = llama_model_target_layer_ids(model);
        const uint32_t count = llama_model_target_layer_ids_n(model);
        const int32_t last = llama_model_n_layer(its), width = llama_model_n_embd(its);
        if (ids == nullptr || count == 0 || count > 64 || (method_ == kEagle3 && count != 3))
            fail("it does not say which layers it reads");
        layers_.assign(ids, ids + count);
        for (const int32_t layer : layers_) {
            if (layer < 0 || layer > last || (layer == last && method_ != kEagle3))
                fail("it reads a layer that the model does not have");
            reads_states_ = reads_states_ || layer == last;
        }
        width_ = static_cast<int64_t>(count) * width;
        inner_ = llama_model_n_embd(model);
        if (method_ == kEagle3) {
            if (number_in(model, "eagle3.target_hidden_size", 0) != width)
                fail("it was made for a model with states of another size");
            llama_set_embeddings_nextn(head_, true, true);
            return;
        }
        if (inner_ != width)
            fail("it was made for a model with states of another size");
        block_ = std::min({number_in(model, "dflash.block_size", 16), kMostBlock, most_});
        from_anchor_ = method_ == kDSpark && is_in(model, "dflash.sample_from_anchor", true);
        candidates_ = llama_model_dflash_selector_top_k(model);
        mask_ = llama_vocab_mask(llama_model_get_vocab(model));
        if (block_ < 2)
            fail("its blocks have no length");
        if (mask_ < 0 || mask_ >= vocabulary_)
            fail("it names no token for what is to be guessed");
        if (candidates_ > 0) // written sparsely
            sparse_.assign(vocabulary_, -std::numeric_limits<float>::infinity());
        llama_set_embeddings_nextn(head_, true, candidates_ <= 0);
        llama_set_causal_attn(head_, is_in(model, "dflash.attention.causal", false));
    }

    int32_t num_unread() const { return static_cast<int32_t>(tokens_.size()); }

    void cut(int32_t count) {
        tokens_.resize(count);
        rows_.resize(count * width_);
    }

    void restart(int32_t place) {
        cut(0);
        first_ = num_read_ = place;
        std::fill(before_.begin(), before_.end(), 0.0f);
        trim(place);
    }

    // Has the head's own memory end before that place. Numbers stay where they are: they may be those of another layer.
    void trim(int32_t place) {
        if (reads_its_memory_ || (place > first_ && llama_memory_seq_rm(memory_, kSequence, place, -1)))
            return;
        llama_memory_clear(memory_, false);
        first_ = std::max(first_, place);
    }

    void clear() { llama_batch_ext_clear(batch_.get()); }

    int32_t add(llama_token token, int32_t place, const float *state, bool wanted) {
        const int32_t row = llama_batch_ext_add_token(batch_.get(), kSequence, token);
        return finish(row, place, wanted, state == nullptr || row < 0 ||
                          llama_batch_ext_set_embd_token(batch_.get(), row, {state, 1, static_cast<size_t>(inner_)}));
    }

    int32_t add_features(const float *features, int32_t place, bool wanted) {
        return finish(llama_batch_ext_add_embd(batch_.get(), kSequence, {features, 1, static_cast<size_t>(width_)}), place,
                      wanted, true);
    }

    int32_t finish(int32_t row, int32_t place, bool wanted, bool is_whole) {
        const llama_pos places[4] = {place, place, place, 0};
        if (row < 0 || !is_whole || !llama_batch_ext_set_pos(batch_.get(), row, places) ||
            !llama_batch_ext_set_output_logits(batch_.get(), row, wanted))
            fail("its input was refused");
        return row;
    }

    void run(llama_process_type type = LLAMA_PROCESS_TYPE_DECODE, int32_t layer = 0) {
        if (heads_ > 1)
            llama_set_nextn_layer_offset(head_, layer);
        if (const int32_t result = llama_process(head_, type, batch_.get()))
            fail("its pass failed with " + std::to_string(result));
    }

    const float *row(int32_t number) {
        const float *logits = llama_get_logits_ith(head_, number);
        if (logits == nullptr)
            fail("its pass left no logits");
        last_row_ = number;
        return logits;
    }

    std::vector<float> own_state() {
        const float *state = llama_get_embeddings_nextn_ith(head_, last_row_);
        if (state == nullptr)
            fail("its pass left no state");
        return {state, state + inner_};
    }

    void note_read() {
        if (!before_.empty() && num_unread())
            std::copy_n(rows_.end() - width_, width_, before_.begin());
        num_read_ = end();
        cut(0);
    }

    // Has the head read all rows: for those of a long prompt, which are too many to wait for a guess.
    void read() {
        if (!num_unread())
            return;
        if (reads_its_memory_)
            return note_read();
        if (method_ == kEagle3)
            return read_eagle3();
        for (int32_t layer = 0; layer < heads_; ++layer) {
            trim(num_read_);
            clear();
            for (int32_t row = 0; row < num_unread(); ++row) {
                if (method_ == kMtp)
                    add(tokens_[row], num_read_ + row, state_before(row), false);
                else
                    add_features(rows_.data() + row * width_, num_read_ + row, false);
            }
            run(LLAMA_PROCESS_TYPE_DECODE, layer);
        }
        note_read();
    }

    const float *state_before(int32_t row) const { return row ? rows_.data() + (row - 1) * width_ : before_.data(); }

    // An MTP layer reads each token with the target's state before it.
    const float *start_mtp(llama_token pending) {
        if (heads_ > 1 || num_unread() > kTogether || reads_its_memory_)
            read();
        trim(num_read_);
        clear();
        for (int32_t row = 0; row < num_unread(); ++row)
            add(tokens_[row], num_read_ + row, state_before(row), true);
        place_of_first_ = end();
        const int32_t last = add(pending, place_of_first_, state_before(num_unread()), true);
        run();
        note_read();
        chain_ = before_;
        guesses_.assign(1, pending);
        return row(last);
    }

    // Each of several layers guesses one token further, and reads all guesses anew: its memory is its own.
    const float *next_of_chain(llama_token guess) {
        if (drafted_ >= heads_)
            fail("it has no further layer");
        const std::vector<float> state = own_state();
        chain_.insert(chain_.end(), state.begin(), state.end());
        guesses_.push_back(guess);
        trim(place_of_first_);
        clear();
        for (int32_t number = 0; number <= drafted_; ++number)
            add(guesses_[number], place_of_first_ + number, chain_.data() + number * inner_, number == drafted_);
        run(LLAMA_PROCESS_TYPE_DECODE, drafted_);
        return row(drafted_);
    }

    // EAGLE-3 reads each state, made of three layers' inputs, with the token after it, at the place of the state.
    const float *start_eagle3(llama_token pending) {
        if (num_unread() > kTogether)
            read();
        const std::vector<float> states = encoded();
        trim(std::max(num_read_ - 1, 0));
        clear();
        add_pairs(states, true);
        place_of_first_ = std::max(end() - 1, 0);
        const int32_t last = add(pending, place_of_first_, num_unread() ? states.data() + states.size() - inner_ : before_.data(), true);
        run();
        note_encoded(states);
        return row(last);
    }

    void read_eagle3() {
        const std::vector<float> states = encoded();
        trim(std::max(num_read_ - 1, 0));
        clear();
        add_pairs(states, false);
        if (num_unread() > 1 || num_read_ > first_)
            run();
        note_encoded(states);
    }

    void add_pairs(const std::vector<float> &states, bool wanted) {
        for (int32_t row = 0; row < num_unread(); ++row)
            if (row || num_read_ > first_)
                add(tokens_[row], num_read_ + row - 1, row ? states.data() + (row - 1) * inner_ : before_.data(), wanted);
    }

    std::vector<float> encoded() {
        std::vector<float> states;
        if (num_unread()) {
            clear();
            const int32_t place = llama_memory_seq_pos_max(memory_, kSequence) + 1; // it depends on none, but one is wanted
            for (int32_t row = 0; row < num_unread(); ++row)
                add_features(rows_.data() + row * width_, place + row, true);
            run(LLAMA_PROCESS_TYPE_ENCODE);
            const float *made = llama_get_embeddings_nextn(head_);
            if (made == nullptr)
                fail("its pass left no states");
            states.assign(made, made + num_unread() * inner_);
        }
        return states;
    }

    void note_encoded(const std::vector<float> &states) {
        if (!states.empty())
            before_.assign(states.end() - inner_, states.end());
        num_read_ = end();
        cut(0);
    }

    // DFlash guesses a block at once, from the token before it and masks; DSpark counts that token's row as the first.
    const float *start_block(llama_token pending, int32_t count) {
        read();
        trim(num_read_);
        clear();
        num_rows_ = std::min(std::max(count, 1), most_guesses()) + (from_anchor_ ? 0 : 1);
        for (int32_t number = 0; number < num_rows_; ++number)
            add(number ? mask_ : pending, num_read_ + number, nullptr, candidates_ <= 0);
        run();
        return block_row(pending);
    }

    const float *block_row(llama_token guess) {
        const int32_t number = drafted_ + (from_anchor_ ? 0 : 1);
        if (number >= num_rows_)
            fail("its block has no further row");
        if (candidates_ <= 0)
            return row(number);
        const float *lattice = llama_get_embeddings_nextn(head_);
        if (lattice == nullptr)
            fail("its pass left no candidates");
        const int32_t before = taken(guess);
        const float *found = lattice + number * inner_, *scores = found + candidates_ * (1 + before);
        written_.clear();
        for (int32_t each = 0; each < candidates_; ++each) {
            if (!(found[each] >= 0 && found[each] < static_cast<float>(vocabulary_)))
                fail("its candidates are no tokens");
            written_.push_back(static_cast<llama_token>(found[each]));
            sparse_[written_.back()] = scores[each];
        }
        return sparse_.data();
    }

    // Clears the sparse row; returns the place of the guess among the candidates that stood there.
    int32_t taken(llama_token guess) {
        int32_t place = 0;
        for (size_t each = 0; each < written_.size(); ++each) {
            sparse_[written_[each]] = -std::numeric_limits<float>::infinity();
            if (drafted_ && written_[each] == guess)
                place = static_cast<int32_t>(each);
        }
        return place;
    }

    llama_context *target_, *head_;
    llama_memory_t memory_;
    Method method_;
    std::unique_ptr<llama_batch_ext, FreeBatch> batch_;
    std::vector<int32_t> layers_; // whose inputs make a row; none: it is the state behind the last layer
    bool reads_states_ = false, reads_its_memory_ = false; // the target's: what it holds of the text is there
    int64_t width_ = 0, inner_ = 0; // numbers of a row, and of the head's own state
    int32_t vocabulary_ = 0, most_ = 0, heads_ = 1;
    int32_t block_ = 0, candidates_ = 0, num_rows_ = 0;
    bool from_anchor_ = false;
    llama_token mask_ = -1;

    int32_t first_ = 0, num_read_ = 0; // places of the text: the first that the head knows, the first it has not read
    std::vector<llama_token> tokens_;  // from there on, with their rows
    std::vector<float> rows_;
    std::vector<float> before_; // the state of the place before; zeros where it is not known

    int32_t drafted_ = 0, place_of_first_ = 0, last_row_ = 0;
    std::vector<float> chain_; // states of `guesses_`, for several layers
    std::vector<llama_token> guesses_;
    std::vector<float> sparse_; // a row of logits of few candidates, which are `written_`
    std::vector<llama_token> written_;
};

} // namespace heads
