// The files in problem-shapes/: all load; those that the reference has, too, equal its own; their
// unfused traffic is the figure known for them.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/data_path.hpp"
#include "support/paths.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using workload::Workload;

namespace {

using Defines = std::map<std::string, std::string>;

Workload load(const std::string& name, const Defines& defines = {}) {
    return workload::load_workload(name, defines);
}

Workload reference(const std::string& name) {
    return load(tessera::test::test_folder() + "/reference/accelforge/workload/" + name + ".yaml");
}

/// "M=1*m+0": how one rank is indexed, independent of the order of addends.
std::string text(const Workload& workload, const workload::RankAccess& rank) {
    std::map<std::string, std::int64_t> terms;
    for (const workload::AffineTerm& term : rank.terms) {
        terms[workload.rank_variables[static_cast<std::size_t>(term.rank_variable)].name] +=
            term.coefficient;
    }
    std::ostringstream out;
    out << rank.rank << "=";
    for (const auto& [variable, coefficient] : terms) {
        out << coefficient << "*" << variable << "+";
    }
    out << rank.constant;
    return out.str();
}

/// Everything the mapper sees of one access, as text: tensor, role, width, size, projection.
std::string text(const Workload& workload, const workload::TensorAccess& access) {
    const workload::Tensor& tensor = workload.tensors[static_cast<std::size_t>(access.tensor)];
    std::set<std::string> ranks;
    for (const workload::RankAccess& rank : access.ranks) {
        ranks.insert(text(workload, rank));
    }
    std::ostringstream out;
    out << tensor.name << (access.output ? " output" : " input") << " " << tensor.bits_per_value
        << " bit " << tensor.size_values << " values" << (tensor.persistent ? " persistent" : "");
    for (const std::string& rank : ranks) {
        out << " " << rank;
    }
    return out.str();
}

/// One line per fact of an Einsum, independent of the order of accesses.
std::set<std::string> facts(const Workload& workload, const workload::Einsum& einsum) {
    std::set<std::string> lines;
    for (const workload::TensorAccess& access : einsum.accesses) {
        lines.insert(text(workload, access));
    }
    for (const int v : einsum.rank_variables) {
        const workload::RankVariable& variable =
            workload.rank_variables[static_cast<std::size_t>(v)];
        lines.insert(variable.name + " < " + std::to_string(variable.bound));
    }
    lines.insert(std::string("copy ") + (einsum.is_copy_operation ? "yes" : "no"));
    lines.insert("instances " + std::to_string(einsum.n_instances * workload.n_instances));
    return lines;
}

/// The sets named by the renames, which architectures use in their constraints.
std::map<std::string, std::set<std::string>> renames(const Workload& workload,
                                                     const workload::Einsum& einsum) {
    std::map<std::string, std::set<std::string>> result;
    for (const workload::Rename& rename : einsum.renames) {
        std::set<std::string>& names = result[rename.name];
        for (const int t : rename.tensors) {
            names.insert(workload.tensors[static_cast<std::size_t>(t)].name);
        }
    }
    return result;
}

void check_equal(const Workload& ours, const Workload& theirs) {
    BOOST_REQUIRE_EQUAL(ours.einsums.size(), theirs.einsums.size());
    for (std::size_t e = 0; e < ours.einsums.size(); ++e) {
        const workload::Einsum& our = ours.einsums[e];
        const workload::Einsum& their = theirs.einsums[e];
        BOOST_TEST_CONTEXT("Einsum " << their.name) {
            BOOST_TEST(our.name == their.name);
            BOOST_TEST(facts(ours, our) == facts(theirs, their), boost::test_tools::per_element());
            const auto our_sets = renames(ours, our);
            for (const auto& [name, tensors] : renames(theirs, their)) {
                BOOST_TEST_CONTEXT("rename " << name) {
                    BOOST_REQUIRE(our_sets.count(name) == 1);
                    BOOST_TEST(our_sets.at(name) == tensors, boost::test_tools::per_element());
                }
            }
        }
    }
}

/// Values an access touches when all rank variables run over their bounds, halo included.
double touched_values(const Workload& workload, const workload::TensorAccess& access) {
    double values = 1;
    for (const workload::RankAccess& rank : access.ranks) {
        double extent = 1;
        for (const workload::AffineTerm& term : rank.terms) {
            const auto v = static_cast<std::size_t>(term.rank_variable);
            extent += static_cast<double>(std::abs(term.coefficient)) *
                      static_cast<double>(workload.rank_variables[v].bound - 1);
        }
        values *= extent;
    }
    return values;
}

/// Bits moved when every Einsum reads its inputs from main memory once and writes its outputs there
/// once. Copies inside main memory are free.
double unfused_bits(const Workload& workload) {
    double bits = 0;
    for (const workload::Einsum& einsum : workload.einsums) {
        for (const workload::TensorAccess& access : einsum.accesses) {
            const auto t = static_cast<std::size_t>(access.tensor);
            bits += einsum.is_copy_operation
                        ? 0
                        : touched_values(workload, access) * workload.tensors[t].bits_per_value;
        }
    }
    return bits;
}

double multiplications(const Workload& workload) {
    double sum = 0;
    for (const workload::Einsum& einsum : workload.einsums) {
        double points = einsum.n_instances;
        for (const int v : einsum.rank_variables) {
            points *=
                static_cast<double>(workload.rank_variables[static_cast<std::size_t>(v)].bound);
        }
        sum += points;
    }
    return sum;
}

bool has_tensor(const Workload& workload, const std::string& name) {
    return workload.find_tensor(name) >= 0;
}

/// Files that take the parameters of blocks/transformer.yml.
std::vector<std::string> transformers() {
    return {"gpt3-6.7b",    "gpt3-175b",        "llama3-8b",
            "qwen3-8b",     "qwen3-30b-a3b",    "mixtral-8x22b",
            "llama4-scout", "llama4-maverick",  "llama4-maverick-dense",
            "deepseek-v3",  "deepseek-v3-dense"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(data_workload)

BOOST_AUTO_TEST_CASE(every_file_loads_with_its_defaults) {
    const std::vector<std::string> names = list_data("problem-shapes");
    BOOST_TEST(names.size() >= 18);
    for (const std::string& name : names) {
        BOOST_TEST_CONTEXT(name) {
            BOOST_CHECK_NO_THROW(BOOST_TEST(!load(name).einsums.empty()));
        }
    }
}

/// Architectures refer to the tensors of an Einsum as input, output and weight.
BOOST_AUTO_TEST_CASE(every_einsum_has_input_output_and_weight) {
    for (const std::string& name : list_data("problem-shapes")) {
        const Workload workload = load(name);
        for (const workload::Einsum& einsum : workload.einsums) {
            if (!einsum.operations.empty()) {
                continue;  // for architectures that go by operations
            }
            BOOST_TEST_CONTEXT(name << " " << einsum.name) {
                const auto sets = renames(workload, einsum);
                BOOST_REQUIRE(sets.count("input") + sets.count("output") + sets.count("weight") ==
                              3);
                BOOST_TEST(sets.at("input").size() == 1);
                BOOST_TEST(sets.at("output").size() == 1);
                // Of two weights one is called so: units that hold one have no place for both.
                BOOST_TEST(sets.at("weight").size() ==
                           std::min<std::size_t>(1, einsum.accesses.size() - 2));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(transformers_take_batch_tokens_and_bits) {
    for (const std::string& name : transformers()) {
        BOOST_TEST_CONTEXT(name) {
            const Workload workload =
                load(name, {{"BATCH", "3"}, {"TOKENS", "100"}, {"BITS", "4"}});
            const auto bound = [&](const char* variable) {
                const auto v = static_cast<std::size_t>(workload.find_rank_variable(variable));
                return workload.rank_variables.at(v).bound;
            };
            BOOST_TEST(bound("b") == 3);
            BOOST_TEST(bound("m") == 100);
            BOOST_TEST(bound("p") == 100);
            BOOST_TEST(workload.tensors[static_cast<std::size_t>(workload.find_tensor("WZ"))]
                           .bits_per_value == 4);
        }
    }
}

// FULL=1 adds norms, residuals, softmax in three passes and activations; what multiplies by weights
// stays as it is.
BOOST_AUTO_TEST_CASE(full_layers_have_all_their_operations) {
    const auto products = [](const Workload& workload) {
        std::map<std::string, double> all;
        for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
            const workload::EinsumView view = workload::view(workload, static_cast<int>(e));
            double points = 1;
            for (const workload::LocalRankVariable& v : view.rank_variables) {
                points *= static_cast<double>(v.bound);
            }
            const bool element_wise = view.name == "FFH" || view.name == "SFH" ||
                                      (view.name == "FFB" && has_tensor(workload, "RFFB"));
            if (view.tensors.size() == 3 && view.operations.empty() && !element_wise) {
                all[view.name == "ZA" ? "Z" : view.name] = points;
            }
        }
        return all;
    };
    for (const std::string& name : transformers()) {
        BOOST_TEST_CONTEXT(name) {
            const Workload core = load(name), full = load(name, {{"FULL", "1"}});
            const bool gpt = name.rfind("gpt3", 0) == 0;
            BOOST_TEST((products(full) == products(core)));
            BOOST_TEST(full.einsums.size() == core.einsums.size() + (gpt ? 16 : 11));
            for (const char* einsum :
                 {"IV", "I", "QK_max", "QK_exp", "QK_sum", "QK_softmax", "ZR", "ZV", "Z", "Y"}) {
                const int e = full.find_einsum(einsum);
                BOOST_TEST_REQUIRE(e >= 0, einsum);
                BOOST_TEST(!full.einsums[static_cast<std::size_t>(e)].operations.empty(), einsum);
            }
            BOOST_TEST((full.find_einsum("IM") >= 0) == gpt);
            BOOST_TEST(load(name, {{"FULL", "1"}, {"RMS_NORM", "1"}}).find_einsum("IM") < 0);
            load(name, {{"FULL", "1"}, {"DECODE", "1"}});
        }
    }
}

BOOST_AUTO_TEST_CASE(decoding_reads_a_cache_and_makes_one_token) {
    for (const std::string& name : transformers()) {
        BOOST_TEST_CONTEXT(name) {
            const Workload prefill = load(name);
            const Workload decode = load(name, {{"DECODE", "1"}, {"CACHED", "77"}});
            BOOST_TEST((has_tensor(decode, "K_cache") || has_tensor(decode, "CKV_cache")));
            BOOST_TEST((!has_tensor(prefill, "K_cache") && !has_tensor(prefill, "CKV_cache")));
            const auto bound = [&](const char* variable) {
                const auto v = static_cast<std::size_t>(decode.find_rank_variable(variable));
                return decode.rank_variables.at(v).bound;
            };
            BOOST_TEST(bound("m") == 1);
            BOOST_TEST(bound("p") == 77);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_cache_is_as_wide_as_what_it_caches) {
    const Workload decode = load("deepseek-v3", {{"DECODE", "1"}});
    const auto bits = [&](const char* name) {
        return decode.tensors[static_cast<std::size_t>(decode.find_tensor(name))].bits_per_value;
    };
    BOOST_TEST(bits("CKV") == 16);
    BOOST_TEST(bits("CKV_cache") == bits("CKV"));
}

BOOST_AUTO_TEST_CASE(experts_in_use_follow_the_number_of_tokens) {
    const auto bounds = [](const char* tokens) {
        const Workload workload = load("mixtral-8x22b", {{"TOKENS", tokens}});
        const auto bound = [&](const char* variable) {
            const auto v = static_cast<std::size_t>(workload.find_rank_variable(variable));
            return workload.rank_variables[v].bound;
        };
        return std::pair{bound("x"), bound("xt")};
    };
    BOOST_TEST((bounds("1") == std::pair<std::int64_t, std::int64_t>{2, 1}));
    BOOST_TEST((bounds("5") == std::pair<std::int64_t, std::int64_t>{8, 2}));
}

BOOST_AUTO_TEST_CASE(matmuls_equals_the_reference) {
    check_equal(load("matmuls", {{"M", "48"}, {"KN", "16"}}), reference("ex_matmuls"));
    check_equal(load("matmuls", {{"N_EINSUMS", "4"}, {"M", "32"}, {"KN", "16"}}),
                reference("ex_matmuls4"));
    check_equal(load("matmuls", {{"N_EINSUMS", "3"}, {"M", "64"}, {"KN", "48"}}),
                reference("opt_ex_matmuls3"));
}

BOOST_AUTO_TEST_CASE(matmuls_makes_long_chains_of_growing_width) {
    const Workload workload =
        load("matmuls", {{"N_EINSUMS", "1000"}, {"KN", "16"}, {"KN_STEP", "3"}});
    BOOST_TEST(workload.einsums.size() == 1000U);
    const auto last = static_cast<std::size_t>(workload.find_rank_variable("n1000"));
    BOOST_TEST(workload.rank_variables[last].bound == 16 + 3000);
}

BOOST_AUTO_TEST_CASE(matvecs_equals_the_reference) {
    check_equal(load("matvecs"), reference("ex_matvecs"));
}

BOOST_AUTO_TEST_CASE(three_matmuls_equals_the_reference) {
    check_equal(load("three-matmuls"), reference("ex_three_matmuls"));
}

BOOST_AUTO_TEST_CASE(mobilenet_28_equals_the_reference) {
    check_equal(load("mobilenet-28"), reference("ex_mobilenet_28"));
}

BOOST_AUTO_TEST_CASE(gpt3_prefill_equals_the_reference) {
    check_equal(load("gpt3-6.7b", {{"TOKENS", "64"}}), reference("ex_gpt3_6.7B_prefill"));
}

BOOST_AUTO_TEST_CASE(gpt3_decode_equals_the_reference) {
    check_equal(load("gpt3-6.7b", {{"DECODE", "1"}, {"CACHED", "511"}}),
                reference("ex_gpt3_6.7B_decode"));
}

BOOST_AUTO_TEST_CASE(llama3_equals_the_reference) {
    check_equal(load("llama3-8b", {{"TOKENS", "128"}}), reference("ex_llama3_8B"));
}

/// What AccelForge's regression tests have for its architecture snowcat, unfused, with one unit of
/// energy per bit of main memory traffic.
BOOST_AUTO_TEST_CASE(unfused_traffic_is_the_known_figure) {
    const Defines tokens = {{"TOKENS", "256"}};
    struct Known {
        const char* name;
        Defines defines;
        double bits;
    };
    const std::vector<Known> figures = {
        {"matmuls", {{"N_EINSUMS", "2"}, {"M", "64"}, {"KN", "64"}}, 196608},
        {"matvecs", {}, 304},
        {"three-matmuls", {}, 1179648},
        {"mobilenet-28", {}, 10767360},
        {"mamba", {}, 63378432},
        {"gpt3-6.7b", tokens, 3724541952},
        {"gpt3-175b", tokens, 30500978688},
        {"llama3-8b", tokens, 4177526784},
        {"mixtral-8x22b", tokens, 41439723520},
        {"qwen3-8b", tokens, 3724541952},
        {"qwen3-30b-a3b", tokens, 10561257472},
        {"deepseek-v3", tokens, 94466211840},
        {"llama4-scout", tokens, 36175872000},
        {"llama4-maverick", tokens, 261661655040},
    };
    for (const Known& known : figures) {
        BOOST_TEST_CONTEXT(known.name) {
            BOOST_TEST(unfused_bits(load(known.name, known.defines)) == known.bits);
        }
    }
}

/// The multiplications of AccelForge's GPT-3 175B in prefill and decode: the latency it has for
/// its architecture simple, where each takes one unit of time.
BOOST_AUTO_TEST_CASE(gpt3_175b_has_the_known_number_of_multiplications) {
    const auto without_copies = [](Workload workload) {
        std::erase_if(workload.einsums,
                      [](const workload::Einsum& einsum) { return einsum.is_copy_operation; });
        return multiplications(workload);
    };
    BOOST_TEST(without_copies(load("gpt3-175b", {{"TOKENS", "2048"}})) == 3814333612032.0);
    BOOST_TEST(without_copies(load("gpt3-175b", {{"DECODE", "1"}, {"CACHED", "2047"}})) ==
               1862442912.0);
}

/// 3.86e9 and 569e6 multiplications, as the papers on these networks have it.
BOOST_AUTO_TEST_CASE(layers_add_up_to_the_multiplications_of_their_networks) {
    BOOST_TEST(multiplications(load("resnet-50")) == 3857973248.0);
    BOOST_TEST(multiplications(load("mobilenet-v1")) == 568740352.0);
}

/// Values of all tensors that stay in memory.
double weights(const Workload& workload) {
    double values = 0;
    for (const workload::Tensor& tensor : workload.tensors) {
        values += tensor.persistent ? tensor.size_values : 0;
    }
    return values;
}

/// Multiplications with weights: of Einsums that have some.
double products(const Workload& workload) {
    double sum = 0;
    for (const workload::Einsum& einsum : workload.einsums) {
        Workload one;
        one.rank_variables = workload.rank_variables;
        one.einsums = {einsum};
        const bool weighted =
            std::any_of(einsum.accesses.begin(), einsum.accesses.end(), [&](const auto& access) {
                return workload.tensors[static_cast<std::size_t>(access.tensor)].persistent;
            });
        sum += weighted ? multiplications(one) : 0;
    }
    return sum;
}

/// Tensors that some Einsum makes and none reads.
std::vector<std::string> results(const Workload& workload) {
    std::vector<std::string> names;
    for (const workload::Tensor& tensor : workload.tensors) {
        if (!tensor.producers.empty() && tensor.consumers.empty()) {
            names.push_back(tensor.name);
        }
    }
    return names;
}

// What is published of them, as far as it is what they have: weights without biases, norms and
// embeddings; multiplications with weights.
BOOST_AUTO_TEST_CASE(networks_have_the_weights_and_products_of_the_published_ones) {
    struct Network {
        const char* name;
        std::size_t einsums;
        double weights, products;
        const char* result;
    };
    const double gpt2 = 12 * 12 * 768. * 768, bert = 24 * 12 * 1024. * 1024;
    const double llama = 32 * 4096. * (2 * 4096 + 2 * 1024 + 3 * 14336);
    for (const Network& network : {
             Network{"gpt2", 132, gpt2, 1024 * gpt2, "X12"},
             Network{"bert-large", 264, bert, 512 * bert, "X24"},
             Network{"llama3-8b-network", 416, llama, 2048 * llama, "X32"},
             Network{"resnet-18", 31, 11.68e6, 1.81e9, "SCORES"},
             Network{"resnet-50-network", 72, 25.50e6, 3.86e9, "SCORES"},
             Network{"mobilenet-v2", 64, 3.47e6, 301e6, "SCORES"},
             Network{"u-net", 35, 31.03e6, 48.1e9, "SCORES"},
         }) {
        BOOST_TEST_CONTEXT(network.name) {
            const Workload workload = load(network.name);
            BOOST_TEST(workload.einsums.size() == network.einsums);
            BOOST_TEST(weights(workload) == network.weights, boost::test_tools::tolerance(2e-3));
            BOOST_TEST(products(workload) == network.products, boost::test_tools::tolerance(4e-3));
            BOOST_TEST(results(workload) == std::vector<std::string>{network.result});
        }
    }
    BOOST_TEST(results(load("mamba-130m")) == std::vector<std::string>{"X24"});
}

// A network of n layers has n times the Einsums of one, and each layer reads what the last one
// made.
BOOST_AUTO_TEST_CASE(networks_have_as_many_layers_as_asked_for) {
    for (const char* name : {"gpt2", "bert-large", "llama3-8b-network", "mamba-130m"}) {
        const Workload one = load(name, {{"LAYERS", "1"}});
        for (const int n : {2, 7}) {
            const Workload many = load(name, {{"LAYERS", std::to_string(n)}});
            BOOST_TEST(many.einsums.size() == static_cast<std::size_t>(n) * one.einsums.size());
            BOOST_TEST(results(many) == std::vector<std::string>{"X" + std::to_string(n)});
            BOOST_TEST(multiplications(many) == n * multiplications(one));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
