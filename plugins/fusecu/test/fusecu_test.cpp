// Mapper `fusecu`: its tile shapes against the library's and brute force, its mappings against its
// formulas, what it refuses.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <sstream>

#include "../plan.hpp"
#include "one_buffer.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using namespace tessera::fusecu_mapper;
using tessera::fusecu::Capacity;
using namespace fusecu_test;

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

Group group(std::vector<std::int64_t> sizes) {
    Group result;
    for (const std::int64_t size : sizes) {
        if (size > 1) {
            result.variables.push_back(static_cast<int>(result.variables.size()));
            result.sizes.push_back(size);
        }
    }
    return result;
}

Product product(const Group& m, const Group& k, const Group& l) {
    Product result;
    result.a = 0;
    result.b = 1;
    result.c = 2;
    result.ranks = {m, k, l};
    return result;
}

std::int64_t ceil_of(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// All ways to tile a group, written down one by one.
std::vector<std::array<std::int64_t, 2>> all_tiles(const Group& g, bool partial) {
    std::vector<std::array<std::int64_t, 2>> all{{1, 1}};
    for (const std::int64_t size : g.sizes) {
        std::vector<std::array<std::int64_t, 2>> longer;
        for (const auto& [words, passes] : all) {
            for (std::int64_t t = 1; t <= size; ++t) {
                if (partial || size % t == 0) {
                    longer.push_back({words * t, passes * ceil_of(size, t)});
                }
            }
        }
        all = longer;
    }
    return all;
}

std::int64_t brute_force(const Product& p, std::int64_t buffer, bool partial) {
    std::int64_t best = kNever;
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3, b = (c + 2) % 3;
        for (const auto& x : all_tiles(p.ranks[a], partial)) {
            for (const auto& y : all_tiles(p.ranks[b], partial)) {
                if (x[0] * y[0] + x[0] + y[0] <= buffer) {
                    best = std::min(best, p.words(c) + p.words(a) * x[1] + p.words(b) * y[1]);
                }
            }
        }
    }
    return best;
}

std::string message(const std::string& architecture, const std::string& workload) {
    Options options;
    options.mapper = "fusecu";
    try {
        tessera::map(Problem::load(architecture, workload), options);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fusecu_tilings_are_those_of_the_library_and_of_brute_force) {
    std::mt19937 random(1);
    std::uniform_int_distribution<std::int64_t> size(2, 24), buffer(3, 400);
    for (int i = 0; i < 400; ++i) {
        const fusecu::Sizes d = {size(random), size(random), size(random)};
        const std::int64_t limit = buffer(random);
        const Product p = product(group({d[0]}), group({d[1]}), group({d[2]}));
        BOOST_TEST_CONTEXT(d[0] << " " << d[1] << " " << d[2] << " in " << limit) {
            const auto found = best_tiling(p, limit, Rule::exact, true);
            BOOST_REQUIRE(found.has_value());
            BOOST_TEST(found->traffic_words == fusecu::exact_matmul(d, limit)->traffic_words);
            BOOST_TEST(found->used_words <= limit);
            const auto divisors = best_tiling(p, limit, Rule::exact, false);
            BOOST_TEST(divisors->traffic_words == brute_force(p, limit, false));
            for (const Rule rule : {Rule::principles, Rule::polish}) {
                const auto near = best_tiling(p, limit, rule, true);
                BOOST_TEST(near->traffic_words >= found->traffic_words);
                BOOST_TEST(near->used_words <= limit);
            }
        }
    }
    BOOST_TEST(!best_tiling(product(group({4}), group({4}), group({4})), 2, Rule::exact, true));
}

BOOST_AUTO_TEST_CASE(fusecu_tilings_of_ranks_of_several_variables_are_those_of_brute_force) {
    std::mt19937 random(2);
    std::uniform_int_distribution<std::int64_t> size(1, 7), buffer(3, 150);
    for (int i = 0; i < 200; ++i) {
        const auto two = [&] { return group({size(random), size(random)}); };
        const Product p = product(two(), two(), two());
        const std::int64_t limit = buffer(random);
        const bool partial = i % 2 == 0;
        BOOST_TEST(best_tiling(p, limit, Rule::exact, partial)->traffic_words ==
                   brute_force(p, limit, partial));
    }
}

BOOST_AUTO_TEST_CASE(fusecu_pairs_are_those_of_the_library) {
    std::mt19937 random(3);
    std::uniform_int_distribution<std::int64_t> size(2, 40), buffer(3, 900);
    for (int i = 0; i < 400; ++i) {
        const fusecu::PairSizes d = {size(random), size(random), size(random), size(random)};
        const std::int64_t limit = buffer(random);
        for (const Capacity capacity : {Capacity::shared, Capacity::coresident}) {
            const auto library = fusecu::exact_pair(d, limit, capacity);
            const auto found =
                best_pair({group({d[0]}), d[1], group({d[2]}), d[3]}, limit, capacity, true);
            BOOST_REQUIRE(library.has_value() == found.has_value());
            if (found) {
                BOOST_TEST(found->traffic_words == library->traffic_words);
                BOOST_TEST(found->used_words <= limit);
            }
        }
    }
}

// The mapping that is written moves the words of the formula, in the model, and fits.
BOOST_AUTO_TEST_CASE(fusecu_mappings_of_chains_move_the_words_of_the_formula) {
    std::mt19937 random(4);
    std::uniform_int_distribution<std::int64_t> size(2, 30), buffer(12, 700);
    std::uniform_int_distribution<std::size_t> length(2, 6);
    int fused = 0;
    for (int i = 0; i < 150; ++i) {
        std::vector<std::int64_t> d(length(random));
        std::generate(d.begin(), d.end(), [&] { return size(random); });
        const std::int64_t m = size(random), limit = buffer(random);
        const std::string text = chain_text(m, d);
        const char* const names[] = {"none", "p4", "exact"};
        const fusecu::FuseRule rules[] = {fusecu::FuseRule::never, fusecu::FuseRule::principle_4,
                                          fusecu::FuseRule::exact};
        BOOST_TEST_CONTEXT(text << " in " << limit) {
            for (const int r : {0, 2}) {
                const auto expected = fusecu::best_chain(m, d, limit, Capacity::shared, rules[r]);
                const tessera::Result result = mapped(text, limit, "fusecu", {{"fuse", names[r]}});
                BOOST_TEST(words(result) == expected->traffic_words);
                BOOST_TEST(result.reasons.size() == d.size() - 1);
                fused += r == 2 && std::any_of(expected->steps.begin(), expected->steps.end(),
                                               [](const auto& s) { return s.pair.has_value(); });
            }
            const std::int64_t p4 = words(mapped(text, limit, "fusecu", {{"fuse", names[1]}}));
            BOOST_TEST(p4 >= words(mapped(text, limit, "fusecu")));
            BOOST_TEST(p4 <= words(mapped(text, limit, "fusecu", {{"fuse", "none"}})));
        }
    }
    BOOST_TEST(fused > 20);
}

// FFM searches these tilings and more: tensors kept at other loops, ranks tiled twice. Single
// products are in least_words_test.cpp.
BOOST_AUTO_TEST_CASE(fusecu_is_never_below_the_proven_optimum_of_traffic) {
    std::mt19937 random(5);
    std::uniform_int_distribution<std::int64_t> size(2, 18), buffer(6, 200);
    int equal = 0;
    constexpr int n = 250;
    for (int i = 0; i < n; ++i) {
        std::vector<std::int64_t> d(3);
        std::generate(d.begin(), d.end(), [&] { return size(random); });
        const std::string text = chain_text(size(random), d);
        const std::int64_t limit = buffer(random);
        BOOST_TEST_CONTEXT(text << " in " << limit) {
            const tessera::Result optimum = mapped(text, limit, "ffm");
            BOOST_TEST((optimum.status == mapper::Status::optimal));
            BOOST_TEST(optimum.bound.value() == static_cast<double>(words(optimum)),
                       boost::test_tools::tolerance(1e-9));
            const std::int64_t found = words(mapped(text, limit, "fusecu"));
            BOOST_TEST(found >= words(optimum));
            equal += found == words(optimum);
        }
    }
    BOOST_TEST(equal > n / 2);
}

BOOST_AUTO_TEST_CASE(fusecu_maps_attention_with_heads_and_says_why) {
    const char* const text = R"(
workload:
  iteration_space_shape: {b: 0 <= b < 2, h: 0 <= h < 3, m: 0 <= m < 24, e: 0 <= e < 4,
                          p: 0 <= p < 24, f: 0 <= f < 4, d: 0 <= d < 12}
  bits_per_value: {All: 8}
  einsums:
  - {name: Q, einsum: "Q[b, m, h, e] = I[b, m, d] * WQ[d, h, e]"}
  - {name: QK, einsum: "QK[b, h, m, p] = Q[b, M: m, h, e] * K[b, M: p, h, e]"}
  - {name: AV, einsum: "AV[b, h, m, f] = QK[b, h, m, p] * V[b, h, p, f]"}
)";
    for (const std::int64_t buffer : {40, 150, 1000}) {
        const tessera::Result apart = mapped(text, buffer, "fusecu", {{"fuse", "none"}});
        const tessera::Result fused = mapped(text, buffer, "fusecu");
        BOOST_TEST(words(fused) < words(apart));
        BOOST_TEST(contains(fused.reasons.at(1), "QK: "));
        BOOST_TEST(contains(fused.reasons.at(1), "fused with AV"));
        BOOST_TEST(contains(fused.reasons.at(1), "NRA"));
        BOOST_TEST(words(mapped(text, buffer, "ffm")) <= words(fused));
    }
}

// Megawords hold all that belongs together, but the first mappings that FFM finds move ten times
// the optimum: cutoffs approach it step by step, and a join of ties ends where a mapping meets the
// bound.
BOOST_AUTO_TEST_CASE(ffm_proves_attention_in_large_buffers) {
    const std::int64_t tokens = 1024, width = 768, sequences = 16;
    const std::int64_t in_and_out = 2 * sequences * tokens * width, weights = 3 * width * width;
    const std::pair<const char*, std::int64_t> cases[] = {
        {"1048576", in_and_out + sequences * weights},  // weights again for each sequence
        {"4194304", in_and_out + weights},              // everything once
        {"16777216", in_and_out + weights}};
    for (const auto& [buffer, expected] : cases) {
        Options options;
        options.model = "traffic";
        options.metrics = {mapper::Metric::traffic};
        options.threads = 2;
        options.limits.max_evals = 20000000;
        const tessera::Result result = tessera::map(
            Problem::load("one-buffer", "attention", {{"BUFFER", buffer}, {"BATCH", "16"}}),
            options);
        BOOST_TEST((result.status == mapper::Status::optimal), buffer);
        BOOST_TEST(words(result) == expected);
    }
}

BOOST_AUTO_TEST_CASE(fusecu_refuses_what_is_no_matrix_product_and_other_memories) {
    BOOST_TEST(contains(message("tpu-v4i", "matmul"), "one buffer below one memory"));
    const Problem banked = Problem::parse(one_buffer, chain_text(4, {4, 4}), {{"BANKS", "4"}});
    Options options;
    options.mapper = "fusecu";
    BOOST_CHECK_EXCEPTION(tessera::map(banked, options), UserError, [](const UserError& error) {
        return contains(error.what(), "'Buffer' of") && contains(error.what(), "has banks");
    });
    const std::string conv = message("one-buffer", "mobilenet-28");
    BOOST_TEST(contains(conv, "matrix products only"));
    BOOST_TEST(contains(conv, "Einsum '"));
    const tessera::Result none = mapped(chain_text(4, {4, 4}), 2, "fusecu");
    BOOST_TEST((none.status == mapper::Status::infeasible));
    std::string why;
    for (const std::string& reason : none.reasons) {
        why += reason + "\n";
    }
    BOOST_TEST(contains(why, "size of 'Buffer'"), why);
}
