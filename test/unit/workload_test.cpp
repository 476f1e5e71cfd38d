#include "tessera/workload/workload.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <optional>

#include "base/reading_stop.hpp"
#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/expression.hpp"
#include "workload/with_bounds.hpp"

using namespace tessera;
using namespace tessera::workload;

namespace {

Workload read(const std::string& text, const spec::Defines& defines = {}) {
    return read_workload(spec::expand_document(spec::read_text(text, "w.yaml"), defines));
}

std::string error_of(const std::string& text) {
    try {
        read(text);
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

bool has(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
}

std::int64_t bound(const Workload& workload, const std::string& variable) {
    return workload.rank_variables
        .at(static_cast<std::size_t>(workload.find_rank_variable(variable)))
        .bound;
}

const Tensor& tensor(const Workload& workload, const std::string& name) {
    return workload.tensors.at(static_cast<std::size_t>(workload.find_tensor(name)));
}

const char* const matmul =
    "workload:\n"
    "  rank_sizes: {M: 4, K: 8, N: 16}\n"
    "  bits_per_value: {All: 8}\n"
    "  einsums: ['Z[m, n] = A[m, k] * W[k, n]']\n";

}  // namespace

BOOST_AUTO_TEST_CASE(text_form_and_list_form_agree) {
    const Workload text = read(matmul);
    const Workload list = read(
        "workload:\n"
        "  iteration_space_shape: {m: 0 <= m < 4, k: 0 <= k < 8, n: 0 <= n < 16}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - name: Z\n"
        "    tensor_accesses:\n"
        "    - {name: A, projection: [m, k]}\n"
        "    - {name: W, projection: {K: k, N: n}}\n"
        "    - {name: Z, projection: [m, n], output: True}\n");
    for (const Workload& workload : {text, list}) {
        BOOST_TEST(workload.einsums[0].name == "Z");
        BOOST_TEST(bound(workload, "k") == 8);
        BOOST_TEST(tensor(workload, "W").size_values == 128);
        BOOST_TEST(tensor(workload, "Z").producers.size() == 1);
        BOOST_TEST(tensor(workload, "A").consumers.size() == 1);
        const EinsumView einsum = view(workload, 0);
        BOOST_TEST(einsum.tensors[0].name == "A");
        BOOST_TEST(einsum.tensors[2].output);
        BOOST_TEST(einsum.outputs() == 4);
        BOOST_TEST(einsum.rank_variables[0].name == "k");
    }
}

BOOST_AUTO_TEST_CASE(text_form_takes_options_by_key) {
    const Workload workload = read(
        "workload:\n"
        "  rank_sizes: {M: 4}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - - einsum: I[m] = I_in[m]\n"
        "      is_copy_operation: True\n"
        "      n_instances: 3\n"
        "      tensor_accesses: [{name: I_in, bits_per_value: 16, persistent: True}]\n"
        "  - - S[m] = I[m] * I[m] + 2\n");
    BOOST_TEST(workload.einsums[0].is_copy_operation);
    BOOST_TEST(view(workload, 0).n_instances == 3);
    BOOST_TEST(tensor(workload, "I_in").bits_per_value == 16);
    BOOST_TEST(tensor(workload, "I_in").persistent);
    BOOST_TEST(tensor(workload, "I").intermediate());
    BOOST_TEST(workload.einsums[1].accesses.size() == 2);
}

BOOST_AUTO_TEST_CASE(a_convolution_keeps_the_box_of_the_output) {
    // Inputs of 28 and an output of 28 with a 3-wide filter: the box counts the edge as well.
    const Workload workload = read(
        "workload:\n"
        "  rank_sizes: {H: 28, P: 28}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - name: Conv\n"
        "    iteration_space_shape: [0 <= r < 3]\n"
        "    tensor_accesses:\n"
        "    - {name: I, projection: {H: p + r}}\n"
        "    - {name: F, projection: [r]}\n"
        "    - {name: O, projection: [p], output: True}\n");
    BOOST_TEST(bound(workload, "p") == 28);
    BOOST_TEST(bound(workload, "r") == 3);
    // The tensor itself is not larger than its rank.
    BOOST_TEST(tensor(workload, "I").size_values == 28);
    const EinsumView einsum = view(workload, 0);
    const LocalTensor& input = einsum.tensors[1];
    BOOST_TEST(input.name == "I");
    BOOST_TEST(input.partially_relevant == 0b11);
    BOOST_TEST(input.expression_indexing == 0b11);
    BOOST_TEST(!einsum.rank_variables[0].simple);
}

// Einsums are compared rank by rank: an index stands for one rank in all of them.
BOOST_AUTO_TEST_CASE(the_order_of_ranks_in_a_projection_means_nothing) {
    const Workload workload = read(
        "workload:\n"
        "  rank_sizes: {M: 12, N: 16, K: 4, L: 2}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - name: E0\n"
        "    tensor_accesses:\n"
        "    - {name: X, projection: [m, k]}\n"
        "    - {name: Y, projection: {N: n, M: m}, output: True}\n"
        "  - name: E1\n"
        "    tensor_accesses:\n"
        "    - {name: Y, projection: {M: a, N: b}}\n"
        "    - {name: Z, projection: {L: l, M: a}, output: True}\n"
        "  - Q[m] = Y[m, n] * Y[n, m]\n");
    for (const auto& [einsum, m, n] : {std::tuple(0, "m", "n"), {1, "a", "b"}, {2, "m", "n"}}) {
        const EinsumView local = view(workload, einsum);
        const LocalTensor& y = local.tensors[static_cast<std::size_t>(local.find_tensor("Y"))];
        BOOST_TEST(
            (std::vector{y.ranks[0].rank, y.ranks[1].rank} == std::vector<std::string>{"N", "M"}));
        const auto rank = [&](const char* variable) {
            return y.rank_of_variable[static_cast<std::size_t>(local.find_rank_variable(variable))];
        };
        BOOST_TEST(rank(n) == 0);
        BOOST_TEST(rank(m) == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_variable_in_two_ranks_indexes_neither_by_itself) {
    for (const char* projection :
         {"{M: m, N: m, P: p + r, Q: p}", "{Q: p, P: p + r, N: m, M: m}"}) {
        const Workload workload = read(
            "workload:\n"
            "  rank_sizes: {M: 4, N: 4, P: 5, Q: 3, R: 3}\n"
            "  bits_per_value: {All: 8}\n"
            "  einsums:\n"
            "  - name: E\n"
            "    tensor_accesses:\n"
            "    - {name: X, projection: " +
            std::string(projection) +
            "}\n"
            "    - {name: Z, projection: {R: r}, output: True}\n");
        const EinsumView einsum = view(workload, 0);
        const LocalTensor& x = einsum.tensors[0];
        const auto v = [&](const char* name) {
            return static_cast<std::size_t>(einsum.find_rank_variable(name));
        };
        BOOST_TEST((x.relevancy[v("m")] == Relevancy::relevant));
        BOOST_TEST((x.relevancy[v("p")] == Relevancy::relevant));
        BOOST_TEST((x.relevancy[v("r")] == Relevancy::partially_relevant));
        BOOST_TEST(x.directly_indexing == 0u);
        BOOST_TEST(x.rank_of_variable[v("m")] == -1);
    }
}

BOOST_AUTO_TEST_CASE(bounds_follow_from_strides_and_constants) {
    const Workload workload = read(
        "variables: {STRIDE: 2}\n"
        "workload:\n"
        "  rank_sizes: {H: 13, R: 3, G: 2 * R + 1, S: G - 2}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - name: E\n"
        "    tensor_accesses:\n"
        "    - {name: I, projection: {H: STRIDE * p + r}}\n"
        "    - {name: F, projection: {R: r, G: s * 3 + 1, S: 4 - t}}\n"
        "    - {name: O, projection: {Q: 0}, output: True}\n"
        "    iteration_space_shape: '-2 <= t and 0 <= p and s >= 0'\n");
    BOOST_TEST(bound(workload, "r") == 3);
    BOOST_TEST(bound(workload, "p") == 7);  // 2p + r <= 12 with r = 0
    BOOST_TEST(bound(workload, "s") == 2);  // 3s + 1 <= 6
    BOOST_TEST(bound(workload, "t") == 5);  // 0 <= 4 - t < 5
    const EinsumView einsum = view(workload, 0);
    // A lone multiple is relevant to the model, but does not index directly.
    const LocalTensor& filter = einsum.tensors[0];
    const auto s = static_cast<std::size_t>(einsum.find_rank_variable("s"));
    BOOST_TEST((filter.relevancy[s] == Relevancy::relevant));
    BOOST_TEST(filter.rank_of_variable[s] == -1);
    BOOST_TEST(((filter.expression_indexing >> s) & 1) == 1);
    BOOST_TEST(!einsum.rank_variables[s].simple);
}

BOOST_AUTO_TEST_CASE(a_rank_of_a_billion_is_legal) {
    const Workload workload = read(
        "workload:\n"
        "  rank_sizes: {M: 1e9, K: 1000000000, N: 1}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums: ['Z[m, n] = A[m, k] * W[k, n]']\n");
    BOOST_TEST(bound(workload, "m") == 1000000000);
    BOOST_TEST(tensor(workload, "A").size_values == 1e18);
}

BOOST_AUTO_TEST_CASE(renames_use_defaults_for_what_the_einsum_leaves_open) {
    const std::string text =
        "workload:\n"
        "  rank_sizes: {M: 4, K: 8, N: 16}\n"
        "  bits_per_value: {weight: 4, Other: 16}\n"
        "  persistent_tensors: weight - Intermediates\n"
        "  einsums:\n"
        "  - einsum: Z[m, n] = A[m, k] * W[k, n]\n"
        "    renames: {input: A, reduced: k}\n"
        "  - Y[m, n] = Z[m, n]\n"
        "renames:\n"
        "  einsums:\n"
        "  - name: default\n"
        "    tensor_accesses:\n"
        "    - {name: weight, source: ~(input | output), expected_count: 1 if len(All) == 3 else "
        "0}\n"
        "    - {name: output, source: Outputs}\n"
        "    - {name: input, source: Inputs}\n";
    const Workload workload = read(text);
    const EinsumView first = view(workload, 0);
    const spec::Symbols symbols = einsum_symbols(workload, first);
    const auto tensors = [&](const std::string& expression) {
        return spec::Expression::parse_text(expression, {}).tensors(symbols);
    };
    BOOST_TEST(tensors("weight") == 0b010);
    BOOST_TEST(tensors("input") == 0b001);
    BOOST_TEST(tensors("Intermediates") == 0b100);
    BOOST_TEST(tensors("Shared") == 0b100);
    BOOST_TEST(tensors("Persistent") == 0b010);
    BOOST_TEST(tensors("Y") == 0);
    BOOST_TEST(spec::Expression::parse_text("reduced", {}).rank_variables(symbols) == 1);
    BOOST_TEST(spec::Expression::parse_text("weight.bits_per_value", {}).number(symbols) == 4);
    BOOST_TEST(tensor(workload, "W").bits_per_value == 4);
    BOOST_TEST(tensor(workload, "Y").bits_per_value == 16);
    BOOST_TEST(tensor(workload, "W").persistent);
    BOOST_TEST(!tensor(workload, "Z").persistent);
}

BOOST_AUTO_TEST_CASE(chains_are_written_with_repeat) {
    const std::string text =
        "variables: {N_EINSUMS: 2, KN: 128}\n"
        "workload:\n"
        "  rank_sizes:\n"
        "    M: KN\n"
        "    repeat: {variable: i, to: N_EINSUMS, body: {'N{i}': KN}}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - repeat:\n"
        "      variable: i\n"
        "      to: N_EINSUMS - 1\n"
        "      body:\n"
        "      - einsum: T{i+1}[m, n{i+1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i+1}]\n"
        "        name: Matmul{i}\n"
        "        renames: {input: 'T{i}', weight: 'W{i}', output: 'T{i+1}'}\n";
    const Workload workload = read(text, {{"N_EINSUMS", "64"}, {"KN", "1024"}});
    BOOST_TEST(workload.einsums.size() == 64);
    BOOST_TEST(workload.einsums[63].name == "Matmul63");
    BOOST_TEST(bound(workload, "n64") == 1024);
    BOOST_TEST(tensor(workload, "T64").producers[0] == 63);
}

BOOST_AUTO_TEST_CASE(inconsistent_workloads_are_refused) {
    const auto two = [](const std::string& extra, const std::string& first,
                        const std::string& second) {
        return "workload:\n  rank_sizes: {M: 4, K: 8, N: 16, X: 2}\n" + extra +
               "  bits_per_value: {All: 8}\n  einsums:\n  - " + first + "\n  - " + second + "\n";
    };
    const auto check = [](const std::string& text, const std::string& part) {
        const std::string message = error_of(text);
        BOOST_TEST(has(message, part), message);
    };
    check(two("", "B[m] = A[m]", "C[x] = B[x]"), "has the ranks X in Einsum 'C' but M");
    check(two("", "B[m] = A[m]", "'C[m] = A[M: k, X: x]'"), "has the ranks");
    check(two("", "B[m] = A[m]", "'C[m] = B[M: x +]'"), "not an expression");
    check(two("", "B[m] = A[m]", "{einsum: 'C[m] = B[m]', rank_sizes: {M: 3}}"),
          "runs over 3 values in Einsum 'C' but over 4 in Einsum 'B'");
    check(two("", "B[m] = A[m]",
              "{einsum: 'C[m] = B[m]', tensor_accesses: [{name: B, "
              "bits_per_value: 4}]}"),
          "has a width in Einsum 'C' otherwise than in an Einsum before it: 4 against 8");
    check(two("", "B[m] = A[m]",
              "{einsum: 'C[m] = B[m]', tensor_accesses: [{name: B, persistent: True}]}"),
          "is marked in Einsum 'C' otherwise");
    check(two("", "B[m] = A[m]", "{name: B, einsum: 'C[m] = B[m]'}"), "two Einsums have this name");
    check(two("", "B[m] = A[m]", "B[m] = C[m]"), "two Einsums have this name");
    check(two("", "B[m] = A[m]", "{name: Q, einsum: 'B[m] = C[m]'}"), "already");
    check(two("", "B[m] = A[m]", "C[m] = A[M: k]"), "must stand in quotes");
    check(two("", "C[m] = B[m]", "B[m] = A[m]"), "move 'B' before 'C'");
    check(two("", "B[m] = A[m]", "C[m] = B[m] * B[k]"), "occurs twice");
    check(two("", "Total[m] = A[m]", "C[m] = B[m]"), "cannot have this name");
    check(two("", "B[m] = A[m]", "{einsum: 'C[m] = B[m] * A[m]', is_copy_operation: True}"),
          "exactly one input");
}

BOOST_AUTO_TEST_CASE(expected_counts_are_checked) {
    const std::string message = error_of(
        "workload:\n"
        "  rank_sizes: {M: 4}\n"
        "  bits_per_value: {All: 8}\n"
        "  einsums:\n"
        "  - einsum: Z[m] = A[m] * B[m]\n"
        "    renames: [{name: input, source: Inputs, expected_count: 1}]\n");
    BOOST_TEST(has(message, "rename 'input' of Einsum 'Z' stands for 2 of {A, B}"), message);
}

BOOST_AUTO_TEST_CASE(all_reference_workloads_are_read) {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             tessera::test::test_folder() + "/reference/accelforge/workload")) {
        BOOST_TEST_CONTEXT(entry.path()) {
            const Workload workload = load_workload(entry.path().string(), {});
            BOOST_TEST(!workload.einsums.empty());
            BOOST_TEST(workload.name == entry.path().stem().string());
            ++n;
        }
    }
    BOOST_TEST(n == 63);
}

// Of another size it is what is loaded at that size.
BOOST_AUTO_TEST_CASE(other_bounds_give_the_workload_of_that_size) {
    const std::string shapes = tessera::test::test_folder() + "/../problem-shapes/";
    const std::vector<std::pair<std::string, std::map<std::string, std::string>>> others = {
        {"cnn-layer.yaml", {{"C", "32"}, {"R", "5"}, {"P", "56"}}},
        {"matmuls.yaml", {{"M", "96"}, {"KN", "7"}}},
        {"mobilenet-28.yaml", {{"SIZE", "14"}, {"EXPANDED", "96"}}},
        {"attention-one-pass.yaml", {{"HEADS", "3"}, {"TOKENS", "512"}}}};
    for (const auto& [shape, defines] : others) {
        BOOST_TEST_CONTEXT(shape) {
            const Workload from = load_workload(shapes + shape, {});
            const Workload loaded = load_workload(shapes + shape, defines);
            std::vector<std::int64_t> bounds;
            for (const RankVariable& v : loaded.rank_variables) {
                bounds.push_back(v.bound);
            }
            const std::optional<Workload> made = with_bounds(from, bounds);
            BOOST_TEST_REQUIRE(made.has_value());
            for (std::size_t v = 0; v < bounds.size(); ++v) {
                BOOST_TEST(made->rank_variables[v].bound == bounds[v]);
            }
            for (std::size_t t = 0; t < loaded.tensors.size(); ++t) {
                BOOST_TEST(made->tensors[t].size_values == loaded.tensors[t].size_values,
                           loaded.tensors[t].name);
            }
            for (int e = 0; e < static_cast<int>(loaded.einsums.size()); ++e) {
                const EinsumView a = view(*made, e), b = view(loaded, e);
                BOOST_TEST(a.n_instances == b.n_instances);
                for (std::size_t t = 0; t < a.tensors.size(); ++t) {
                    BOOST_TEST((a.tensors[t].windows == b.tensors[t].windows));
                }
                for (std::size_t v = 0; v < a.rank_variables.size(); ++v) {
                    BOOST_TEST((a.rank_variables[v].prologues == b.rank_variables[v].prologues));
                }
            }
        }
    }
}

// What an Einsum reads of another one's output is what that one writes.
BOOST_AUTO_TEST_CASE(bounds_at_which_readers_find_other_sizes_than_writers_make_are_none) {
    const std::string shapes = tessera::test::test_folder() + "/../problem-shapes/";
    for (const auto& [shape, define] :
         {std::pair("gpt3-6.7b.yaml", "TOKENS"), std::pair("mobilenet-28.yaml", "SIZE")}) {
        BOOST_TEST_CONTEXT(shape) {
            const Workload from = load_workload(shapes + shape, {{define, "32"}});
            const Workload twice = load_workload(shapes + shape, {{define, "64"}});
            std::vector<std::int64_t> all, own;
            for (std::size_t v = 0; v < from.rank_variables.size(); ++v) {
                own.push_back(from.rank_variables[v].bound);
                all.push_back(twice.rank_variables[v].bound);
            }
            BOOST_TEST(with_bounds(from, all).has_value());
            int changed = 0;
            for (std::size_t v = 0; v < own.size(); ++v) {
                if (own[v] != all[v]) {
                    ++changed;
                    std::vector<std::int64_t> one = own;
                    one[v] = all[v];
                    BOOST_TEST(!with_bounds(from, one).has_value(), from.rank_variables[v].name);
                }
            }
            BOOST_TEST(changed >= 2);
        }
    }
}

// The file limits Y, so that its size does not follow from the bounds alone.
BOOST_AUTO_TEST_CASE(a_workload_whose_ranks_are_limited_has_one_size) {
    const Workload w = read(
        "workload:\n  iteration_space_shape: {p: 0 <= p < 8, r: 0 <= r < 3}\n"
        "  rank_sizes: {Y: 8}\n  bits_per_value: {All: 8}\n  einsums:\n  - name: conv\n"
        "    einsum: \"O[p] = I[Y: p + r] * W[r]\"\n");
    BOOST_TEST(w.tensors.at(static_cast<std::size_t>(w.find_tensor("I"))).size_values == 8);
    BOOST_TEST(!with_bounds(w, std::vector<std::int64_t>{4, 3}).has_value());
}

BOOST_AUTO_TEST_CASE(each_part_of_reading_hears_a_stop) {
    const std::string text = R"(
workload:
  rank_sizes: {M: 4, N: 4}
  bits_per_value: {All: 8}
  einsums: ["T1[m, n] = T0[m, n]"]
)";
    const std::atomic<bool> asked{true};
    spec::Node tree = spec::read_text(text, "w.yaml");
    const spec::Document document = spec::expand_document(tree, {});
    const base::ReadingScope scope({&asked});
    BOOST_CHECK_THROW(spec::read_text(text, "w.yaml"), base::Stopped);
    BOOST_CHECK_THROW(spec::expand_document(tree, {}), base::Stopped);
    BOOST_CHECK_THROW(read_workload(document), base::Stopped);
}

// The expansion is ahead of the sum, which reads the same image: neither keeps step with the other.
BOOST_AUTO_TEST_CASE(prologues_pass_between_einsums_that_keep_step) {
    const auto block = [](const std::string& last) {
        return read(
            "workload:\n  rank_sizes: {H: 14, P: 14, R: 3}\n  bits_per_value: {All: 8}\n"
            "  einsums:\n"
            "  - E[h] = X[h]\n"
            "  - 'D[p] = E[H: p + r] * W[r]'\n"
            "  - F[p] = D[p]\n"
            "  - 'Y[p] = F[p] + X[H: p]'\n" +
            last);
    };
    using List = std::vector<std::pair<std::int64_t, std::int64_t>>;
    const auto prologues = [](const Workload& workload, int einsum) {
        List result;
        const EinsumView seen = view(workload, einsum);
        for (const Prologue& one : seen.rank_variables.at(0).prologues) {
            result.emplace_back(one.base, one.prologue);
        }
        return result;
    };
    const Workload residual = block("");
    BOOST_TEST((prologues(residual, 0) == List{{14, 2}}));
    for (const int einsum : {1, 2, 3}) {
        BOOST_TEST(prologues(residual, einsum).empty());
    }
    // What reads the sum's image with overlap makes the sum run ahead, and with it the projection
    // and the convolution; the expansion is ahead of that.
    const Workload next = block(
        "  - {einsum: 'Z[q] = Y[P: q + s] * V[s]', "
        "iteration_space_shape: [0 <= q < 14, 0 <= s < 3]}\n");
    BOOST_TEST((prologues(next, 0) == List{{14, 2}, {14, 4}}));
    for (const int einsum : {1, 2, 3}) {
        BOOST_TEST((prologues(next, einsum) == List{{14, 2}}));
    }
    BOOST_TEST(prologues(next, 4).empty());
}
