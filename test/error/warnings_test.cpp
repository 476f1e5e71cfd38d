// What a native file says without effect is warned about: once, with its place and what to do.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

const std::string arch = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 1, throughput: 10}, {name: write, energy: 1, throughput: inf}]
    tensors: {keep: All}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
)";

const std::string shape = R"(workload:
  rank_sizes: {M: 4, K: 4, N: 4}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "Y[m, n] = X[m, k] * W[k, n]"
    tensor_accesses: [{name: X}]
)";

struct Case {
    const char* name;
    std::string from, to;  ///< replaced once in one of the two
    std::vector<std::string> parts;
};

const std::vector<Case> cases = {
    {"metrics",
     "arch:\n",
     "mapper: {metrics: ENERGY}\narch:\n",
     {":1:10: mapper: 'metrics' has no effect: 'ENERGY'; give --metric energy"}},
    {"both metrics",
     "arch:\n",
     "mapper: {metrics: LATENCY | ENERGY}\narch:\n",
     {"give --metric energy,latency"}},
    {"a product",
     "arch:\n",
     "mapper: {metrics: ENERGY_DELAY_PRODUCT}\narch:\n",
     {"give --metric edp"}},
    {"parts of the energy, and usage",
     "arch:\n",
     "mapper: {metrics: Metrics.DYNAMIC_ENERGY | RESOURCE_USAGE}\narch:\n",
     {"give --metric dynamic_energy,resource_usage:MEMORY"}},
    {"a metric without counterpart",
     "arch:\n",
     "mapper: {metrics: ACTIONS}\narch:\n",
     {"'metrics' has no effect", "give --metric"}},
    {"limits of time in seconds",
     "arch:\n",
     "mapper: {time_limit: 60}\narch:\n",
     {"'time_limit' has no effect: '60'; give --max-time 60s"}},
    {"limits of memory in bytes",
     "arch:\n",
     "mapper: {memory_limit: 1024}\narch:\n",
     {"'memory_limit' has no effect: '1024'; give --max-memory 1024B"}},
    {"fused loops",
     "arch:\n",
     "mapper: {max_fused_loops: 0}\narch:\n",
     {"'max_fused_loops'", "give --max-fused-loops 0"}},
    {"hierarchy",
     "workload:\n",
     "mapper: {force_memory_hierarchy_order: False}\nworkload:\n",
     {"'force_memory_hierarchy_order'", "in 'tensors' of a memory"}},
    {"a setting that is unknown",
     "arch:\n",
     "mapper: {max_fused_lops: 0}\narch:\n",
     {"'max_fused_lops' has no effect", "did you mean 'max_fused_loops'?"}},
    {"a section that is no map",
     "arch:\n",
     "mapper: fast\narch:\n",
     {"mapper: this section has no effect: 'fast'"}},
    {"model", "arch:\n", "model: {metrics: LATENCY}\narch:\n", {"model: 'metrics' has no effect"}},
    {"config",
     "arch:\n",
     "config: {expression_custom_functions: [f.py]}\narch:\n",
     {"config: 'expression_custom_functions' has no effect"}},
    {"latency beside throughput",
     "throughput: 10}",
     "throughput: 10, latency: 100}",
     {":6:", "arch.nodes[0].actions[0]: 'latency' has no effect beside 'throughput': '100'",
      "winds up", "total_latency"}},
    {"latency of a compute",
     "throughput: 1}",
     "throughput: 1, latency: 3}",
     {"arch.nodes[1].actions[0]: 'latency' has no effect beside 'throughput': '3'"}},
    {"tile_shape",
     "{keep: All}",
     "{keep: All, tile_shape: [{expression: m, operator: ==, value: 1}]}",
     {"arch.nodes[0].tensors: 'tile_shape' has no effect", "loop_bounds"}},
    {"attributes",
     "    size: inf\n",
     "    size: inf\n    attributes: {width: 8}\n",
     {"'attributes' has no effect", "give the numbers"}},
    {"backing_storage_size_scale",
     "{name: X}",
     "{name: X, backing_storage_size_scale: 2}",
     {"'backing_storage_size_scale' has no effect: '2'"}},
    {"a rank that no tensor has",
     "N: 4}",
     "N: 4, NN: 4}",
     {"workload.rank_sizes: no Einsum has this rank", "'NN'"}},
    {"a rank variable that no Einsum has",
     "  bits_per",
     "  iteration_space_shape: {mm: 0 <= m < 4}\n  bits_per",
     {"no Einsum has this rank variable", "'mm'"}},
    {"renames of no Einsum",
     "workload:\n",
     "renames: {einsums: [{name: defualt, tensor_accesses: [{name: w, source: W}]}]}\nworkload:\n",
     {"no Einsum has this name", "'defualt'", "did you mean 'default'?"}},
};

/// Says nothing: what has no effect has its standard value, or has one.
const std::vector<Case> silent = {
    {"standard settings",
     "arch:\n",
     "mapper: {max_fused_loops: inf, max_fused_loops_per_rank_variable: 1, "
     "force_memory_hierarchy_order: true}\narch:\n",
     {}},
    {"version", "arch:\n", "version: 0.5\narch:\n", {}},
    {"latency that says the same", "throughput: 10}", "throughput: 10, latency: 0.1}", {}},
    {"latency that total_latency uses",
     "    tensors: {keep",
     "    total_latency: max(a.latency for a in actions)\n    tensors: {keep",
     {}},
    {"scale of one", "{name: X}", "{name: X, backing_storage_size_scale: 1}", {}},
    {"a size that another uses", "K: 4, N: 4}", "K: 4, N: HALF * 2, HALF: 2}", {}},
};

struct Files {
    Folder folder;
    std::string arch_file, shape_file;

    explicit Files(const Case& one) {
        std::string a = arch, w = shape;
        std::string& changed = a.find(one.from) == std::string::npos ? w : a;
        const std::size_t at = changed.find(one.from);
        BOOST_REQUIRE(at != std::string::npos);
        changed.replace(at, one.from.size(), one.to);
        arch_file = folder.file("arch.yaml", a);
        shape_file = folder.file("work.yaml", w);
    }
};

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++n;
    }
    return n;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(warnings)

BOOST_AUTO_TEST_CASE(each_is_said_once_with_its_place) {
    for (const Case& one : cases) {
        BOOST_TEST_CONTEXT(one.name) {
            const Files files(one);
            for (const char* command : {"check", "map"}) {
                const Outcome got =
                    invoke({command, "-a", files.arch_file, "-w", files.shape_file, "--json"});
                BOOST_TEST(got.code == 0, got.err);
                BOOST_TEST(count(got.err, "tessera: warning: ") == 1u, got.err);
                for (const std::string& part : one.parts) {
                    BOOST_TEST(got.says(part), got.err << " lacks " << part);
                }
                if (command == std::string("check")) {
                    BOOST_TEST(got.json()["warnings"].size() == 1u);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(standard_values_are_silent) {
    for (const Case& one : silent) {
        BOOST_TEST_CONTEXT(one.name) {
            const Files files(one);
            const Outcome got = invoke({"check", "-a", files.arch_file, "-w", files.shape_file});
            BOOST_TEST(got.code == 0, got.err);
            BOOST_TEST(got.err == "");
        }
    }
}

// One file with everything, given three times, says a thing once.
BOOST_AUTO_TEST_CASE(a_file_that_is_given_twice_is_heard_once) {
    const Folder folder;
    const std::string all = folder.file("all.yaml", "mapper: {metrics: ENERGY}\n" + arch + shape);
    const Outcome got = invoke({"check", "-a", all, "-w", all});
    BOOST_TEST(count(got.err, "'metrics'") == 1u, got.err);
}

BOOST_AUTO_TEST_CASE(a_template_of_jinja_is_called_one) {
    for (const char* text : {"{% set N = 4 %}\n", "{{add_to_path('.')}}\n", "  {{ include }}\n"}) {
        const Folder folder;
        const std::string file = folder.file("t.yaml", "# a {{comment}} is one\n" + (text + arch));
        const Outcome got = invoke({"check", "-a", file});
        BOOST_TEST(got.code == 2);
        BOOST_TEST(got.says("t.yaml:2:"), got.err);
        BOOST_TEST(got.says("template of Jinja"), got.err);
    }
    const Folder folder;
    const std::string inside =
        folder.file("t.yaml", std::string(arch).replace(arch.find("inf"), 3, "\"{{ SIZE }}\""));
    BOOST_TEST(invoke({"check", "-a", inside}).says("template of Jinja"));
}

BOOST_AUTO_TEST_CASE(sections_of_mapping_files_are_checked) {
    const Folder folder;
    const std::string nodes = "  nodes:\n  - !Compute {einsum: Y, component: MAC}\n";
    const auto check = [&](const std::string& text) {
        return invoke({"check", "-m", folder.file("m.yaml", text)});
    };
    BOOST_TEST(check("mapping:\n" + nodes).err == "");
    BOOST_TEST(check("model: {metrics: ENERGY}\nmapping:\n" + nodes).says("'metrics'"));
    const Outcome wrong = check("varaibles: {N: 1}\nmapping:\n" + nodes);
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("did you mean 'variables'?"), wrong.err);
}

BOOST_AUTO_TEST_SUITE_END()
