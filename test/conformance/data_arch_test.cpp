// The files in arch-specs/: every one fits every workload; those that the reference has, too, are
// equal to its own, field by field, as an Einsum sees them.

#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/data_path.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using arch::Architecture;
using arch::Path;
using arch::PathLevel;
using workload::Workload;

namespace {

using Defines = std::map<std::string, std::string>;

Architecture reference(const std::string& name) {
    const std::string folder = tessera::test::test_folder() + "/reference/accelforge/arch/";
    return arch::load_architecture(folder + name + ".yaml", {});
}

template <class T>
std::string list(const std::vector<T>& values) {
    std::ostringstream out;
    out.precision(17);
    for (const T& value : values) {
        out << " " << +value;
    }
    return out.str();
}

/// One line per fact, so that a difference says what it is.
class Facts {
public:
    template <class T>
    void add(const std::string& name, const T& value) {
        std::ostringstream out;
        out.precision(17);
        out << prefix_ << name << " " << value;
        lines_.push_back(out.str());
    }
    void prefix(const std::string& text) {
        prefix_ = text + ".";
    }
    const std::vector<std::string>& lines() const {
        return lines_;
    }

private:
    std::string prefix_;
    std::vector<std::string> lines_;
};

void add_spatial(Facts& facts, const PathLevel& level) {
    for (const arch::PathDim& dim : level.spatial) {
        facts.prefix(level.name + "." + dim.name);
        facts.add("fanout", dim.fanout);
        facts.add("may_reuse", dim.may_reuse);
        facts.add("reuse", dim.reuse);
        facts.add("min_usage", dim.min_usage);
        facts.add("usage_scale", dim.usage_scale);
        facts.add("power_gateable", dim.power_gateable);
        for (const arch::LoopBound& bound : dim.loop_bounds) {
            facts.add("bound variables", bound.variables);
            facts.add("bound product", bound.product);
            facts.add("bound operator", static_cast<int>(bound.op));
            facts.add("bound value", bound.value);
        }
    }
    for (const arch::PhysicalDim& dim : level.physical) {
        facts.add("physical " + dim.name,
                  std::to_string(dim.fanout) + " stride " + std::to_string(dim.stride));
    }
}

void add_actions(Facts& facts, const PathLevel& level) {
    for (const arch::PathAction& action : level.actions) {
        facts.prefix(level.name + "." + action.name);
        facts.add("energy", action.energy_j);
        facts.add("throughput", action.throughput_per_s);
        facts.add("latency", action.latency_s);
        facts.add("values per action", list(action.values_per_action));
    }
    facts.prefix(level.name);
    facts.add("actions_scale", level.actions_scale);
    facts.add("has latency", level.has_latency);
    for (const arch::LatencyProgram::Step& step : level.latency.steps) {
        facts.add("latency step", std::to_string(static_cast<int>(step.op)) + " " +
                                      std::to_string(step.value) + " " +
                                      std::to_string(step.action));
    }
}

/// What the level keeps, for several choices of the memories further out.
void add_tensors(Facts& facts, const PathLevel& level, const Path& path) {
    for (workload::TensorMask outer = 0; outer <= path.einsum.all(); ++outer) {
        spec::Symbols symbols = path.symbols.child();
        symbols.set("Above", spec::TensorSet{outer});
        for (const PathLevel& other : path.levels) {
            if (other.holds_tensors()) {
                symbols.set(other.name, spec::TensorSet{outer});
            }
        }
        facts.add("keep", arch::evaluate_tensors(level.keep, symbols));
        facts.add("may_keep", arch::evaluate_tensors(level.may_keep, symbols));
        facts.add("back", arch::evaluate_tensors(level.back, symbols));
    }
    facts.add("no_refetch_from_above", level.no_refetch_from_above);
    facts.add("no_resend_to_below", level.no_resend_to_below);
    facts.add("orders", level.tensor_order_options.size());
    facts.add("force_memory_hierarchy_order", level.force_memory_hierarchy_order);
}

std::vector<std::string> facts(const Path& path) {
    Facts facts;
    for (const PathLevel& level : path.levels) {
        facts.prefix(level.name);
        facts.add("kind", static_cast<int>(level.kind));
        facts.add("enabled", level.enabled);
        facts.add("cumulative fanout", level.cumulative_fanout);
        facts.add("size", level.size_bits);
        facts.add("skip_initial_output_write", level.skip_initial_output_write);
        facts.add("bits per value", list(level.bits_per_value));
        facts.add("topology", static_cast<int>(level.topology));
        facts.add("actions per value", list(level.actions_per_value));
        add_spatial(facts, level);
        add_actions(facts, level);
        if (level.holds_tensors()) {
            add_tensors(facts, level, path);
        }
    }
    for (const arch::Leak& leak : path.leaks) {
        facts.prefix("leak " + leak.component);
        facts.add("power", leak.leak_power_w);
        facts.add("gates", leak.gates.size());
        facts.add("off", leak.off);
    }
    return facts.lines();
}

/// Compares on every compute for one Einsum.
void check_equal(const Architecture& ours, const Architecture& theirs, const Workload& workload,
                 int einsum) {
    BOOST_REQUIRE(ours.compute_names() == theirs.compute_names());
    BOOST_TEST(ours.component_names() == theirs.component_names(),
               boost::test_tools::per_element());
    for (const std::string& compute : ours.compute_names()) {
        BOOST_TEST_CONTEXT(ours.name() << " on " << compute) {
            const auto our_facts = facts(ours.path(workload, einsum, compute, arch::Compat::none));
            const auto their_facts =
                facts(theirs.path(workload, einsum, compute, arch::Compat::none));
            BOOST_TEST(our_facts.size() > 20U);
            BOOST_TEST(our_facts == their_facts, boost::test_tools::per_element());
        }
    }
}

Path last_path(const std::string& architecture, const Defines& defines) {
    static const Workload workload = workload::load_workload("matmuls", {});
    const Architecture hardware = arch::load_architecture(architecture, defines);
    return hardware.path(workload, 0, hardware.compute_names().back(), arch::Compat::none);
}

const PathLevel& level(const Path& path, const std::string& name) {
    return path.levels.at(static_cast<std::size_t>(path.find_level(name)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(data_arch)

/// The Einsums say what they do, and the computes of the architecture what they can; others tell
/// Einsums apart by the number of tensors.
bool names_operations(const Workload& workload) {
    return !workload.einsums[0].operations.empty();
}

BOOST_AUTO_TEST_CASE(every_file_fits_every_einsum_of_every_workload) {
    for (const std::string& shape : list_data("problem-shapes")) {
        const Workload workload = workload::load_workload(shape, {});
        for (const std::string& name : list_data("arch-specs")) {
            const bool two_arrays = name.rfind("transfusion-", 0) == 0;
            if (names_operations(workload) && !two_arrays) {
                continue;
            }
            // Its constraint names the rank variable m.
            if (name == "fanout-at-mac-with-constraints" && workload.find_rank_variable("m") < 0) {
                continue;
            }
            const Architecture hardware = arch::load_architecture(name, {});
            for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
                BOOST_TEST_CONTEXT(shape << " " << workload.einsums[e].name << " on " << name) {
                    int enabled = 0;
                    for (const std::string& compute : hardware.compute_names()) {
                        const Path path = hardware.path(workload, static_cast<int>(e), compute,
                                                        arch::Compat::none);
                        enabled += path.compute().enabled ? 1 : 0;
                    }
                    // The units of these two take one input or two.
                    const bool too_many = workload.einsums[e].accesses.size() > 3 &&
                                          (name == "tpu-v4i" || name == "edge");
                    BOOST_TEST((enabled == (too_many ? 0 : 1) || (two_arrays && enabled == 2)));
                }
            }
        }
    }
}

// An Einsum without a weight runs beside the array, one with a weight on it.
BOOST_AUTO_TEST_CASE(units_of_full_layers) {
    for (const char* name : {"tpu-v4i", "edge"}) {
        const Architecture hardware = arch::load_architecture(name, {});
        const std::string vector = hardware.compute_names().front();
        for (const char* shape : {"gpt3-6.7b", "llama3-8b", "mixtral-8x22b", "deepseek-v3"}) {
            const Workload workload = workload::load_workload(shape, {{"FULL", "1"}});
            for (std::size_t e = 0; e < workload.einsums.size(); ++e) {
                const workload::Einsum& einsum = workload.einsums[e];
                for (const std::string& compute : hardware.compute_names()) {
                    const bool enabled =
                        hardware.path(workload, static_cast<int>(e), compute, arch::Compat::none)
                            .compute()
                            .enabled;
                    const bool product = einsum.accesses.size() == 3 && einsum.operations.empty();
                    BOOST_TEST(enabled == (product == (compute != vector)),
                               shape << " " << einsum.name << " on " << name << "'s " << compute);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(files_equal_the_reference_on_a_matmul_of_8_bit) {
    const std::map<std::string, std::string> pairs = {
        {"simple", "simple"},
        {"snowcat", "snowcat"},
        {"eyeriss", "eyeriss"},
        {"simba", "simba"},
        {"tpu-v4i", "tpu_v4i"},
        {"nvdla", "nvdla"},
        {"fanout-at-mac", "fanout_at_mac"},
        {"fanout-at-mac-container", "fanout_at_mac_with_fanout_node"},
        {"fanout-at-mac-with-constraints", "fanout_at_mac_with_constraints"},
        {"fanout-at-glb", "fanout_at_glb"},
        {"fanout-at-glb-container", "fanout_at_glb_with_fanout_node"}};
    const Workload workload = workload::load_workload("matmuls", {{"N_EINSUMS", "2"}});
    for (const auto& [ours, theirs] : pairs) {
        check_equal(arch::load_architecture(ours, {}), reference(theirs), workload, 0);
        check_equal(arch::load_architecture(ours, {}), reference(theirs), workload, 1);
    }
}

BOOST_AUTO_TEST_CASE(files_equal_the_reference_on_a_matmul_of_16_bit) {
    const Workload workload = workload::load_workload("gpt3-6.7b", {});
    for (const char* einsum : {"V", "QK", "FFB"}) {
        const int e = workload.find_einsum(einsum);
        check_equal(arch::load_architecture("tpu-v4i", {}), reference("tpu_v4i_w16"), workload, e);
        check_equal(arch::load_architecture("simba", {}), reference("simba_w16"), workload, e);
        check_equal(arch::load_architecture("nvdla", {}), reference("nvdla_w16"), workload, e);
    }
}

BOOST_AUTO_TEST_CASE(a_register_holds_one_weight_and_nothing_without_one) {
    const Workload workload = workload::load_workload("gpt3-6.7b", {{"BITS", "4"}});
    for (const char* name : {"tpu-v4i", "simba", "edge"}) {
        const Architecture hardware = arch::load_architecture(name, {});
        const auto size = [&](const char* einsum) {
            const Path path =
                hardware.path(workload, workload.find_einsum(einsum), "MAC", arch::Compat::none);
            return level(path, "Register").size_bits;
        };
        BOOST_TEST(size("V") == 4);
        BOOST_TEST(size("QK_softmax") == 0);
    }
}

/// FFM paper, table 3.
BOOST_AUTO_TEST_CASE(edge_has_the_numbers_of_its_source) {
    const Path path = last_path("edge", {});
    const PathLevel& memory = level(path, "MainMemory");
    const PathLevel& buffer = level(path, "GlobalBuffer");
    for (const int action : {0, 1}) {
        const auto a = static_cast<std::size_t>(action);
        BOOST_TEST(memory.actions[a].energy_j == 8e-12);
        BOOST_TEST(memory.actions[a].throughput_per_s == 240e9);
        BOOST_TEST(buffer.actions[a].energy_j == 0.2e-12);
        BOOST_TEST(buffer.actions[a].throughput_per_s == 4096e9);
    }
    BOOST_TEST(buffer.size_bits == 41943040);
    BOOST_TEST(path.compute().actions[0].energy_j == 0.08e-12);
    BOOST_TEST(path.compute().actions[0].throughput_per_s == 1e9);
    BOOST_TEST(path.compute().cumulative_fanout == 128 * 128);
    const Workload workload = workload::load_workload("gpt3-6.7b", {});
    const Path vector =
        arch::load_architecture("edge", {})
            .path(workload, workload.find_einsum("QK_softmax"), "VectorUnit", arch::Compat::none);
    BOOST_TEST(vector.compute().enabled);
    BOOST_TEST(vector.compute().actions[0].throughput_per_s == 256e9);
}

BOOST_AUTO_TEST_CASE(only_invented_architectures_have_arbitrary_units) {
    for (const std::string& name : list_data("arch-specs")) {
        const bool invented =
            name == "simple" || name == "snowcat" || name.rfind("fanout-", 0) == 0;
        BOOST_TEST(arch::load_architecture(name, {}).arbitrary_units() == invented, name);
    }
}

BOOST_AUTO_TEST_CASE(buffer_sizes_can_be_set) {
    for (const char* name : {"simple", "snowcat", "eyeriss", "simba", "tpu-v4i", "nvdla", "edge"}) {
        const Path path = last_path(name, {{"GLOBAL_BUFFER_SIZE", "1000 * 1000"}});
        BOOST_TEST(level(path, "GlobalBuffer").size_bits == 1e6, name);
    }
}

BOOST_AUTO_TEST_CASE(arrays_can_be_resized) {
    const auto fanout = [](const char* name, const Defines& defines) {
        return last_path(name, defines).compute().cumulative_fanout;
    };
    BOOST_TEST(fanout("tpu-v4i", {{"CORES", "2"}, {"ARRAY_SIZE", "8"}}) == 2 * 8 * 8);
    BOOST_TEST(fanout("edge", {{"ARRAY_SIZE", "8"}}) == 8 * 8);
    BOOST_TEST(fanout("nvdla", {{"ARRAY_COLUMNS", "2"}, {"ARRAY_ROWS", "3"}}) == 6);
    BOOST_TEST(fanout("eyeriss", {{"ARRAY_COLUMNS", "2"}, {"ARRAY_ROWS", "3"}}) == 6);
    BOOST_TEST(
        fanout("simba",
               {{"PROCESSING_ELEMENTS", "2"}, {"VECTOR_LANES", "3"}, {"VECTOR_WIDTH", "5"}}) == 30);
    for (const char* name : {"fanout-at-mac", "fanout-at-mac-container", "fanout-at-glb",
                             "fanout-at-glb-container", "fanout-at-mac-with-constraints"}) {
        BOOST_TEST(fanout(name, {{"FANOUT", "7"}}) == 7);
    }
}

BOOST_AUTO_TEST_CASE(prices_and_speeds_of_simple_can_be_set) {
    const Path path = last_path("simple", {{"MAIN_MEMORY_ENERGY", "10"},
                                           {"GLOBAL_BUFFER_ENERGY", "2"},
                                           {"GLOBAL_BUFFER_THROUGHPUT", "64"}});
    BOOST_TEST(level(path, "MainMemory").actions[0].energy_j == 10);
    BOOST_TEST(level(path, "GlobalBuffer").actions[1].energy_j == 2);
    BOOST_TEST(level(path, "GlobalBuffer").actions[1].throughput_per_s == 64);
}

BOOST_AUTO_TEST_SUITE_END()
