// Surrogates: their files, and which problems they are refused for; the algorithmic minimum.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "learning/container.hpp"
#include "learning/samples.hpp"
#include "tessera/base/error.hpp"
#include "tessera/learning/minimum.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using learning::Samples;
using learning::Surrogate;

namespace {

using Defines = std::map<std::string, std::string>;

struct Loaded {
    Loaded(const std::string& arch, const Defines& arch_defines, const std::string& name,
           const Defines& defines)
        : architecture(arch::load_architecture(arch, arch_defines)),
          workload(workload::load_workload(name, defines)),
          model(plugin::Registry<model::CostModel>::instance().create("looptree")) {}

    model::Problem problem() const {
        return {&workload, &architecture, arch::Compat::none};
    }
    Samples samples(std::size_t n) const {
        return learning::draw_samples(problem(), *model, {}, n, 1);
    }
    search::OpenSpace space() const {
        return search::OpenSpace(problem(), *model, {});
    }

    arch::Architecture architecture;
    workload::Workload workload;
    plugin::Owned<model::CostModel> model;
};

Loaded small(const Defines& arch = {}, const std::string& m = "8") {
    return {"mind-mappings", arch, "matmul", {{"M", m}, {"K", "8"}, {"L", "4"}}};
}

/// A file that is removed at the end.
struct File {
    File() : path("/tmp/tessera-surrogate-" + std::to_string(::getpid())) {}
    ~File() {
        std::filesystem::remove(path);
    }
    void write(const std::string& bytes) const {
        std::ofstream(path, std::ios::binary) << bytes;
    }
    const std::string path;
};

template <class Work>
std::string refusal(const Work& work) {
    try {
        work();
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(minimum_is_that_of_mind_mappings_table_1) {
    struct Row {
        std::string workload;
        Defines defines;
        double edp_js;
    };
    const auto layer = [](const char* n, const char* c, const char* k, const char* r,
                          const char* p) {
        return Defines{{"N", n}, {"C", c}, {"K", k}, {"R", r}, {"P", p}};
    };
    const std::vector<Row> rows = {
        {"cnn-layer", layer("16", "128", "128", "3", "28"), 1.83e-5},
        {"cnn-layer", layer("16", "256", "256", "3", "14"), 1.659e-5},
        {"cnn-layer", layer("32", "64", "192", "3", "56"), 7.085e-4},
        {"cnn-layer", layer("32", "192", "192", "3", "56"), 5.358e-3},
        {"cnn-layer", layer("16", "64", "128", "3", "112"), 1.309e-3},
        {"cnn-layer", layer("8", "96", "256", "5", "27"), 5.774e-5},
        {"cnn-layer", layer("8", "384", "384", "3", "13"), 1.595e-5},
        {"mttkrp", {}, 5.666},
        {"mttkrp", {{"I", "2048"}, {"J", "4096"}, {"K", "1024"}, {"L", "128"}}, 4.968},
    };
    for (const Row& row : rows) {
        const Loaded loaded("mind-mappings", {}, row.workload, row.defines);
        const double edp = learning::algorithmic_minimum(loaded.problem()).edp_js();
        BOOST_TEST(edp == row.edp_js, boost::test_tools::tolerance(5e-4));
    }
}

BOOST_AUTO_TEST_CASE(samples_are_what_the_model_says) {
    const Loaded loaded = small();
    const Samples samples = loaded.samples(50);
    BOOST_TEST_REQUIRE(samples.raw.size() == 50u);
    const std::size_t n = samples.outputs.size();
    const double minimum_j = learning::algorithmic_minimum(loaded.problem()).energy_j;
    const auto by_tensor_j = learning::algorithmic_minimum(loaded.problem()).by_tensor_j;
    for (std::size_t i = 0; i < 50; ++i) {
        // Energies of memories and tensors and of the 256 products are the whole energy.
        double sum = 256 * 1e-12;
        for (std::size_t k = 0; k < n; ++k) {
            const std::string& name = samples.outputs[k].name;
            if (name.starts_with("energy ")) {
                sum += std::exp2(samples.raw.outputs[i * n + k]) * by_tensor_j.at(name.substr(7));
            }
        }
        const double whole = std::exp2(samples.raw.outputs[i * n + n - 2]) * minimum_j;
        BOOST_TEST(samples.outputs[n - 2].name == "energy");
        BOOST_TEST(sum == whole, boost::test_tools::tolerance(1e-5));
    }
    const Samples back = Samples::read(samples.bytes(), "here");
    BOOST_TEST((back.raw.inputs == samples.raw.inputs && back.raw.outputs == samples.raw.outputs));
    BOOST_TEST(back.family.facts == samples.family.facts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(joined_samples_have_the_layout_of_both) {
    Samples both = small({}, "1").samples(20);
    const Samples other = small({}, "64").samples(20);
    const std::size_t before = both.family.layout.size();
    const std::vector<float> first(both.raw.inputs.begin(),
                                   both.raw.inputs.begin() + static_cast<std::ptrdiff_t>(before));
    both.append(other);
    BOOST_TEST(both.raw.size() == 40u);
    BOOST_TEST(both.raw.inputs.size() == 40 * both.family.layout.size());
    BOOST_TEST(std::equal(first.begin(), first.end(), both.raw.inputs.begin()));
    BOOST_TEST(both.family.lowest[0] == 0);
    BOOST_TEST(both.family.highest[0] == 6);
    // The same number by the same name.
    for (std::size_t k = 0; k < other.family.layout.size(); ++k) {
        const auto& layout = both.family.layout;
        const auto at = std::find(layout.begin(), layout.end(), other.family.layout[k]);
        BOOST_TEST_REQUIRE((at != layout.end()));
        BOOST_TEST(other.raw.inputs[k] ==
                   both.raw.inputs[20 * layout.size() +
                                   static_cast<std::size_t>(at - layout.begin())]);
    }
}

BOOST_AUTO_TEST_CASE(gradients_of_a_surrogate_are_finite_differences) {
    const Samples samples = small().samples(200);
    Surrogate surrogate(samples.family, samples.outputs, {16, 16}, 3);
    surrogate.fit_scales(samples.raw);
    const std::size_t width = samples.raw.n_inputs;
    const std::vector<float> at(samples.raw.inputs.begin(),
                                samples.raw.inputs.begin() + static_cast<std::ptrdiff_t>(width));
    Surrogate::Scratch scratch;
    std::vector<double> cost(1), up(1), down(1);
    std::vector<float> gradient(width);
    surrogate.gradients(learning::Objective::log_edp, 0, at, scratch, cost, gradient);
    std::size_t moved = 0;
    for (std::size_t k = 0; k < width; ++k) {
        const float step = 1e-2F * surrogate.deviation(k);
        if (step == 0 || k < 3) {
            BOOST_TEST(gradient[k] == 0);
            continue;
        }
        std::vector<float> other = at;
        other[k] = at[k] + step;
        surrogate.costs(other, scratch, up);
        other[k] = at[k] - step;
        surrogate.costs(other, scratch, down);
        const double expected = (up[0] - down[0]) / 2e-2;
        // A kink within the step may be in the way of a few.
        moved += std::abs(gradient[k] - expected) <= 1e-2 + 0.02 * std::abs(expected) ? 1 : 0;
    }
    BOOST_TEST(moved >= 20u);
}

BOOST_AUTO_TEST_CASE(damaged_later_and_foreign_files_are_refused) {
    const Samples samples = small().samples(20);
    Surrogate surrogate(samples.family, samples.outputs, {3}, 3);
    surrogate.fit_scales(samples.raw);
    const File file;
    const std::string bytes = surrogate.bytes();
    const auto answer = [&](const std::string& content) {
        file.write(content);
        return refusal([&] { Surrogate::load(file.path); });
    };
    BOOST_TEST(answer(bytes) == "");
    const Surrogate back = Surrogate::load(file.path);
    BOOST_TEST((back.network().weights() == surrogate.network().weights()));
    BOOST_TEST(back.bytes() == bytes);
    for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 40) {
        BOOST_TEST(has(answer(bytes.substr(0, n)), file.path), n << " bytes");
        std::string changed = bytes;
        changed[n] = static_cast<char>(changed[n] ^ 4);
        BOOST_TEST(has(answer(changed), file.path), "byte " << n);
    }
    BOOST_TEST(has(answer(bytes.substr(0, bytes.size() - 20)), "cut short"));
    std::string changed = bytes;
    changed[bytes.size() - 30] ^= 1;
    BOOST_TEST(has(answer(changed), "checksum"));
    std::string later = bytes;
    later.replace(0, later.find('\n'), "tessera surrogate 2");
    BOOST_TEST(has(answer(later), "format 2, this program reads up to format 1"));
    BOOST_TEST(has(answer(samples.bytes()), "holds 'samples', expected 'surrogate'"));
    BOOST_TEST(has(answer("hello"), "no file of 'tessera train'"));
    std::filesystem::remove(file.path);
    BOOST_TEST(has(refusal([&] { Surrogate::load(file.path); }), "no such file"));
}

BOOST_AUTO_TEST_CASE(what_a_header_says_is_not_believed) {
    using base::ParsedJson;
    const Samples samples = small().samples(20);
    const Surrogate surrogate(samples.family, samples.outputs, {3}, 3);
    const File file;
    const std::vector<ParsedJson> others = {
        nullptr, 7, "text", ParsedJson::array(), {1e300}, {-1}, {65536, 65536}, {"text"},
        {"edp"}, {nullptr}, {ParsedJson::array()}};
    std::size_t refused = 0;
    const auto try_all = [&](const std::string& kind, const std::string& bytes,
                             const auto& read) {
        const learning::Container known = learning::read_container(bytes, kind, "here");
        for (const auto& [key, value] : known.header.items()) {
            for (const ParsedJson& other : others) {
                ParsedJson header = known.header;
                header[key] = other;
                const std::string changed =
                    learning::container_bytes(kind, base::written(header), known.numbers);
                refused += refusal([&] { read(changed); }).empty() ? 0 : 1;  // nothing else
            }
            ParsedJson header = known.header;
            header.erase(key);
            const std::string changed =
                learning::container_bytes(kind, base::written(header), known.numbers);
            BOOST_TEST(has(refusal([&] { read(changed); }), "'" + key + "'"));
        }
    };
    try_all("surrogate", surrogate.bytes(), [&](const std::string& bytes) {
        file.write(bytes);
        Surrogate::load(file.path);
    });
    try_all("samples", samples.bytes(),
            [&](const std::string& bytes) { Samples::read(bytes, "here"); });
    BOOST_TEST(refused >= 150u);
}

BOOST_AUTO_TEST_CASE(a_surrogate_of_another_family_is_refused_by_what_differs) {
    learning::Family family = small().samples(1).family;
    family.join(small({}, "32").samples(1).family);
    const auto answer = [&](const Loaded& other) {
        return refusal([&] { family.require(other.space(), "model.bin"); });
    };
    BOOST_TEST(answer(small()) == "");
    BOOST_TEST(answer(small({}, "16")) == "");
    BOOST_TEST(has(answer(small({{"SHARED_BUFFER_SIZE", "1048576"}})),
                   "trained for 'Einsum Matmul on level SharedBuffer of 4194304 bits"));
    BOOST_TEST(has(answer(small({}, "64")), "'m' has 64 values; this surrogate is trained for 8 "
                                            "to 32"));
    const Loaded conv("mind-mappings", {}, "cnn-layer", {{"C", "4"}, {"K", "4"}, {"P", "4"}});
    BOOST_TEST(has(answer(conv), "another family"));
    BOOST_TEST(has(answer(conv), "Einsum Conv"));
}
