// What is asked of a row of logits, in one sweep over it: a pass has just filled the processor's caches with weights, so
// the row comes from memory. `rows.py` calls it, `numpy_rows.py` says the same in numpy, and tests hold both together.
//
// Everywhere the largest comes first and of equal ones the lowest id, 0 and -0 are equal, and a NaN is larger than any
// number, as numpy's argmax has it. Sweeps compare bits as integers: so every compiler vectorises them, without leave to
// forget about NaN.
//
// Arrays come as Python objects with buffers: asking numpy for an address takes longer than many a sweep. Of Python
// nothing is linked; `slipstream_begin` is given the two functions that are needed. Callers hold its lock.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#if defined(_WIN32)
#define EXPORTED extern "C" __declspec(dllexport)
#else
#define EXPORTED extern "C" __attribute__((visibility("default")))
#endif

// A bundle runs on any CPU: there the sweeps are compiled several times, and the loader chooses.
#if defined(__x86_64__) && defined(__GLIBC__) && ((defined(__GNUC__) && !defined(__clang__)) || __clang_major__ >= 14)
#define FOR_EVERY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EVERY_CPU
#endif

#if defined(_MSC_VER)
#define INLINED static __forceinline
#else
#define INLINED static inline __attribute__((always_inline))
#endif

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kGroup = 64;   // logits that one maximum stands for
constexpr int64_t kChunk = 4096; // logits that stay in the first cache between two looks
constexpr int64_t kHeap = 8;     // groups of a heap, at least
constexpr int32_t kInfinite = 0x7f800000;
constexpr int32_t kLeast = 0x42ae0000; // the bits of 87
constexpr int64_t kRefused = -1;

INLINED int32_t bits_of(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINED float float_of(int32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Sorts as the number does; of a NaN only that it is none matters.
INLINED int32_t key_of(int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

INLINED float of_key(int32_t key) { return float_of(key_of(key)); }

// Sorts as value and id do: the largest value first, then the lowest id.
INLINED uint64_t packed(float value, int64_t id) {
    const auto key = static_cast<uint32_t>(key_of(bits_of(value + 0.0f))) ^ 0x80000000u; // -0 becomes 0
    return (static_cast<uint64_t>(key) << 32) | (0xffffffffu - static_cast<uint32_t>(id));
}

INLINED int64_t id_of(uint64_t pack) { return 0xffffffffu - static_cast<uint32_t>(pack); }

// e^x for x at most 0, good to the last digits of a float: 2^n times a polynomial of what is left. Below -87 it does not
// count beside the largest one's 1. That bound is put with bits: g++ turns a comparison into a jump around the polynomial,
// and then vectorises nothing, unless for AVX-512.
INLINED float exp_of(float x) {
    const int32_t beyond = (bits_of(x) & 0x7fffffff) - kLeast;
    x = -float_of(kLeast + (beyond & (beyond >> 31)));
    const float shifted = x * 1.44269504f + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return float_of(bits_of(p) + (bits_of(shifted) << 23));
}

// The keys of the maxima of groups, the last of which may be smaller; returns whether all are numbers.
FOR_EVERY_CPU bool sweep(const float *row, int64_t size, int32_t *maxima) {
    int32_t largest_bits = 0;
    int64_t start = 0;
    for (; start + kGroup <= size; start += kGroup) {
        int32_t most = std::numeric_limits<int32_t>::min(), most_bits = 0;
        for (int64_t place = 0; place < kGroup; ++place) {
            const int32_t bits = bits_of(row[start + place]), magnitude = bits & 0x7fffffff, key = key_of(bits);
            most = key > most ? key : most;
            most_bits = magnitude > most_bits ? magnitude : most_bits;
        }
        maxima[start / kGroup] = most;
        largest_bits = most_bits > largest_bits ? most_bits : largest_bits;
    }
    if (start < size) {
        int32_t most = std::numeric_limits<int32_t>::min();
        for (int64_t place = start; place < size; ++place) {
            const int32_t bits = bits_of(row[place]);
            most = std::max(most, key_of(bits));
            largest_bits = std::max(largest_bits, bits & 0x7fffffff);
        }
        maxima[start / kGroup] = most;
    }
    return largest_bits <= kInfinite;
}

FOR_EVERY_CPU int32_t largest_of(const int32_t *keys, int64_t count) {
    int32_t most = std::numeric_limits<int32_t>::min();
    for (int64_t place = 0; place < count; ++place)
        most = keys[place] > most ? keys[place] : most;
    return most;
}

// Σ e^(x − maximum), over numbers.
FOR_EVERY_CPU double sum_of_exponentials(const float *row, int64_t size, float maximum) {
    constexpr int64_t kLanes = 64;
    float sums[kLanes] = {};
    int64_t start = 0;
    for (; start + kLanes <= size; start += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane)
            sums[lane] += exp_of(row[start + lane] - maximum);
    double total = 0.0;
    for (; start < size; ++start)
        total += exp_of(row[start] - maximum);
    for (const float sum : sums)
        total += sum;
    return total;
}

// Whether any of a whole group reaches a bound.
FOR_EVERY_CPU bool has_reached(const float *group, float bound) {
    int32_t count = 0;
    for (int64_t place = 0; place < kGroup; ++place)
        count += group[place] >= bound;
    return count > 0;
}

// The first place that holds one; there is one.
int64_t first_nan(const float *row) {
    int64_t place = 0;
    while (!std::isnan(row[place]))
        ++place;
    return place;
}

// The first place that holds the largest of all maxima.
int64_t first_equal(const float *row, const std::vector<int32_t> &maxima, float largest) {
    int64_t place = 0;
    while (of_key(maxima[place]) != largest)
        ++place;
    place *= kGroup;
    while (row[place] != largest)
        ++place;
    return place;
}

// Working memory of the calling thread.
struct Scratch {
    std::vector<int32_t> maxima, heaps;
    std::vector<uint64_t> packs;
};

thread_local Scratch scratch;

// A value that at least `count` of the row reach, and not many more: the smallest of the `count` largest maxima, or
// where these are few of all, what each of so many heaps of groups has to offer.
float reached(const std::vector<int32_t> &maxima, int64_t count) {
    const auto num_groups = static_cast<int64_t>(maxima.size());
    if (count > num_groups)
        return -kInfinity;
    auto &heaps = scratch.heaps;
    if (count * kHeap > num_groups) {
        heaps = maxima;
        std::nth_element(heaps.begin(), heaps.begin() + count - 1, heaps.end(), std::greater<int32_t>());
        return of_key(heaps[count - 1]);
    }
    heaps.assign(maxima.begin(), maxima.begin() + count);
    for (int64_t start = count; start + count <= num_groups; start += count)
        for (int64_t heap = 0; heap < count; ++heap)
            heaps[heap] = std::max(heaps[heap], maxima[start + heap]);
    return of_key(*std::min_element(heaps.begin(), heaps.end()));
}

// The places that reach `bound`, packed and in order of ids. Of those that only equal it no more than `most_equal`.
void collect(const float *row, int64_t size, const int32_t *maxima, float bound, int64_t most_equal) {
    auto &packs = scratch.packs;
    packs.clear();
    int64_t num_equal = 0;
    for (int64_t start = 0; start < size; start += kGroup) {
        if (of_key(maxima[start / kGroup]) < bound)
            continue;
        const int64_t end = std::min(start + kGroup, size);
        for (int64_t place = start; place < end; ++place)
            if (row[place] > bound || (row[place] == bound && num_equal++ < most_equal))
                packs.push_back(packed(row[place], place));
    }
}

void tell(const float *row, int64_t count, int64_t *ids, float *values) {
    for (int64_t place = 0; place < count; ++place) {
        ids[place] = id_of(scratch.packs[place]);
        values[place] = row[ids[place]];
    }
}

// Python's Py_buffer (its stable ABI since 3.11).
struct Buffer {
    void *data, *object;
    intptr_t size, item_size;
    int is_read_only, num_dimensions;
    char *format;
    intptr_t *shape, *strides, *suboffsets;
    void *internal;
};

using GetBuffer = int (*)(void *object, Buffer *buffer, int flags);
using ReleaseBuffer = void (*)(Buffer *buffer);

GetBuffer get_buffer;
ReleaseBuffer release_buffer;

// The numbers of an array. Where the object has none side by side, or of another size, there are none.
template <typename Number> class Numbers {
  public:
    explicit Numbers(void *object) {
        constexpr bool is_output = !std::is_const<Number>::value;
        if (get_buffer(object, &buffer_, is_output) != 0) // PyBUF_WRITABLE is 1; a Python exception is set
            return;
        if (buffer_.item_size == sizeof(Number)) {
            data = static_cast<Number *>(buffer_.data);
            size = buffer_.size / buffer_.item_size;
        }
    }
    ~Numbers() {
        if (buffer_.object != nullptr)
            release_buffer(&buffer_);
    }
    Numbers(const Numbers &) = delete;
    Numbers &operator=(const Numbers &) = delete;

    Number *data = nullptr;
    int64_t size = 0;

  private:
    Buffer buffer_ = {};
};

using Row = Numbers<const float>;

std::vector<int32_t> &room_for_maxima(int64_t size) {
    scratch.maxima.resize((size + kGroup - 1) / kGroup);
    return scratch.maxima;
}

} // namespace

// Raised with every change of what the functions are given or return. All of them return kRefused for arrays of numbers
// of another size, or of none.
EXPORTED int32_t slipstream_version() { return 1; }

EXPORTED void slipstream_begin(void *get, void *release) {
    get_buffer = reinterpret_cast<GetBuffer>(get);
    release_buffer = reinterpret_cast<ReleaseBuffer>(release);
}

// The id of the largest logit, and it.
EXPORTED int64_t slipstream_best(void *logits, double *value) {
    const Row row(logits);
    if (row.size == 0)
        return kRefused;
    auto &maxima = room_for_maxima(row.size);
    const bool are_numbers = sweep(row.data, row.size, maxima.data());
    const int64_t best = are_numbers
                             ? first_equal(row.data, maxima, of_key(largest_of(maxima.data(), maxima.size())))
                             : first_nan(row.data);
    *value = row.data[best];
    return best;
}

// The id of the largest logit, and the logarithm of the sum of all exponentials, which is not finite if that logit is not.
EXPORTED int64_t slipstream_outlook(void *logits, double *total) {
    const Row row(logits);
    if (row.size == 0)
        return kRefused;
    auto &maxima = room_for_maxima(row.size);
    float maximum = -kInfinity;
    double sum = 0.0;
    for (int64_t start = 0; start < row.size; start += kChunk) {
        const int64_t length = std::min(kChunk, row.size - start), num_groups = (length + kGroup - 1) / kGroup;
        int32_t *const here = maxima.data() + start / kGroup;
        if (!sweep(row.data + start, length, here)) {
            *total = std::numeric_limits<double>::quiet_NaN();
            return first_nan(row.data);
        }
        const float most = of_key(largest_of(here, num_groups));
        if (most > maximum) {
            sum *= std::exp(static_cast<double>(maximum) - most);
            maximum = most;
        }
        if (std::isfinite(maximum))
            sum += sum_of_exponentials(row.data + start, length, maximum);
    }
    *total = std::isfinite(maximum) ? maximum + std::log(sum) : maximum;
    return first_equal(row.data, maxima, maximum);
}

// As many of the largest as there is room for, which is no more than the row has; returns how many were found: where one
// is NaN, it alone.
EXPORTED int64_t slipstream_largest(void *logits, void *ids_out, void *values_out) {
    const Row row(logits);
    const Numbers<int64_t> ids(ids_out);
    const Numbers<float> values(values_out);
    const int64_t count = ids.size;
    if (count == 0 || count > row.size || values.size != count)
        return kRefused;
    auto &maxima = room_for_maxima(row.size);
    auto &packs = scratch.packs;
    if (sweep(row.data, row.size, maxima.data())) {
        collect(row.data, row.size, maxima.data(), reached(maxima, count), count);
        if (static_cast<int64_t>(packs.size()) > count) {
            std::nth_element(packs.begin(), packs.begin() + count, packs.end(), std::greater<uint64_t>());
            packs.resize(count);
        }
        std::sort(packs.begin(), packs.end(), std::greater<uint64_t>());
    } else {
        const int64_t place = first_nan(row.data);
        packs.assign(1, packed(row.data[place], place));
    }
    tell(row.data, packs.size(), ids.data, values.data);
    return packs.size();
}

// All that reach a bound, in order; returns how many. Those for which there is no room are counted, but not told.
EXPORTED int64_t slipstream_reaching(void *logits, float bound, void *ids_out, void *values_out) {
    const Row row(logits);
    const Numbers<int64_t> ids(ids_out);
    const Numbers<float> values(values_out);
    if (row.size == 0 || ids.size == 0 || values.size != ids.size)
        return kRefused;
    auto &packs = scratch.packs;
    packs.clear();
    int64_t start = 0;
    for (; start + kGroup <= row.size; start += kGroup)
        if (has_reached(row.data + start, bound))
            for (int64_t place = start; place < start + kGroup; ++place)
                if (row.data[place] >= bound)
                    packs.push_back(packed(row.data[place], place));
    for (; start < row.size; ++start)
        if (row.data[start] >= bound)
            packs.push_back(packed(row.data[start], start));
    std::sort(packs.begin(), packs.end(), std::greater<uint64_t>());
    tell(row.data, std::min<int64_t>(ids.size, packs.size()), ids.data, values.data);
    return packs.size();
}

// Σ e^(x − maximum) over the row, whose largest logit is known; below 1 where the row is refused.
EXPORTED double slipstream_sum(void *logits, float maximum) {
    const Row row(logits);
    double total = 0.0;
    for (int64_t start = 0; start < row.size; start += kChunk)
        total += sum_of_exponentials(row.data + start, std::min(kChunk, row.size - start), maximum);
    return total;
}

// The place where the sum of the first weights exceeds this share of all of them.
EXPORTED int64_t slipstream_place(void *weights_in, double share) {
    const Numbers<const double> weights(weights_in);
    if (weights.size == 0)
        return kRefused;
    double total = 0.0;
    for (int64_t place = 0; place < weights.size; ++place)
        total += weights.data[place];
    const double wanted = share * total;
    int64_t place = 0;
    for (double sum = weights.data[0]; place < weights.size - 1 && sum <= wanted; sum += weights.data[place])
        ++place;
    return place;
}

// The distribution over the likeliest tokens, whose logits come in order, after top-p, min-p (by the logarithm of its
// share) and the temperature; returns how many are left.
EXPORTED int64_t slipstream_chances(void *logits, double temperature, double top_p, double log_min_p, void *chances) {
    const Row values(logits);
    const Numbers<double> probabilities(chances);
    int64_t count = values.size;
    if (count == 0 || probabilities.size != count)
        return kRefused;
    const double first = values.data[0];
    double *const weights = probabilities.data;
    if (top_p < 1.0) {
        double total = 0.0, share = 0.0;
        for (int64_t place = 0; place < count; ++place)
            total += weights[place] = std::exp(values.data[place] - first);
        int64_t left = 0;
        while (left < count && share < top_p)
            share += weights[left++] / total;
        count = std::max<int64_t>(left, 1);
    }
    while (count > 1 && !(values.data[count - 1] >= first + log_min_p))
        --count;
    double total = 0.0;
    for (int64_t place = 0; place < count; ++place)
        total += weights[place] = std::exp((values.data[place] - first) / temperature);
    for (int64_t place = 0; place < count; ++place)
        weights[place] /= total;
    return count;
}
