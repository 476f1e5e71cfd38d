// What a file says without effect is told by every command that reads it.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"

using namespace tessera;
using namespace tessera::cli_test;

BOOST_AUTO_TEST_CASE(every_command_tells_what_its_files_say_without_effect) {
    const Folder folder;
    std::string text = small_arch;
    text.insert(text.find("  nodes:"), "  extra_attributes_for_component_model: {node: 45nm}\n");
    const std::string arch = folder.file("arch.yaml", text),
                      workload = folder.file("workload.yaml", small_workload),
                      mapping = folder.file("mapping.yaml", unfused_mapping),
                      instances = folder.file("instances.yaml",
                                              "- {arch: " + arch + ", workload: " + workload +
                                                  "}\n- {name: again, arch: " + arch +
                                                  ", workload: " + workload + "}\n");
    const Args files = {"-a", arch, "-w", workload};
    const Args random = {"--mapper", "random", "--max-evals", "20", "--ui", "none"};
    const std::vector<Args> commands = {
        joined(joined({"map"}, files), random),
        joined(joined({"compare"}, files), random),
        joined({"compare", "--instances", instances}, random),
        joined(joined({"sweep", "--set", "arch.Buffer.size=4096", "-o", folder.at("sweep")}, files),
               random),
        joined({"train", "-o", folder.at("train"), "--samples", "50", "--epochs", "1", "-q"},
               files),
        joined({"model", "-m", mapping}, files),
        joined({"explain", "-m", mapping}, files),
        joined({"check"}, files)};
    const std::string warning = "extra_attributes_for_component_model";
    for (const Args& command : commands) {
        const Outcome outcome = invoke(command);
        BOOST_TEST_CONTEXT(command[0] << " " << command[1] << "\n" << outcome.err) {
            BOOST_TEST(outcome.code == 0);
            const std::size_t first = outcome.err.find(warning);
            BOOST_TEST(first != std::string::npos);
            BOOST_TEST(outcome.err.find(warning, first + 1) == std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_follows_from_other_values_is_told) {
    const Folder folder;
    std::string text = small_arch;
    text.insert(text.find("    size: 4096"), "    total_area: 3\n    total_leak_power: 4\n");
    const Outcome outcome = invoke({"check", "-a", folder.file("arch.yaml", text)});
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.says("'total_area' has no effect"), outcome.err);
    BOOST_TEST(outcome.says("'total_leak_power' has no effect"), outcome.err);
}
