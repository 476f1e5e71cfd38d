// docs/formats.md tells the truth: its examples are read, and it names every parameter of the files
// in problem-shapes/ and arch-specs/.

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/data_path.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

std::string page() {
    std::ifstream file(fs::path(tessera::test::test_folder()).parent_path() / "docs" /
                       "formats.md");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Example {
    std::string section;  ///< workload, arch or mapping
    std::string text;
};

/// The fenced blocks "```yaml SECTION".
std::vector<Example> examples() {
    std::vector<Example> result;
    std::istringstream lines(page());
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const std::string fence = "```yaml ";
        if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            result.back().text += line + "\n";
        } else if (line.rfind(fence, 0) == 0) {
            inside = true;
            result.push_back({line.substr(fence.size()), ""});
        }
    }
    return result;
}

/// A file that is removed at the end.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& text)
        : path_(fs::temp_directory_path() /
                ("tessera-docs-" + std::to_string(::getpid()) + ".yaml")) {
        std::ofstream(path_) << text;
    }
    ~TemporaryFile() {
        fs::remove(path_);
    }
    std::string path() const {
        return path_.string();
    }

private:
    fs::path path_;
};

std::vector<Example> examples_of(const std::string& section) {
    std::vector<Example> result = examples();
    std::erase_if(result, [&](const Example& example) { return example.section != section; });
    return result;
}

void check_parameters_are_named(const std::string& kind) {
    const std::string text = page();
    for (const std::string& name : list_data(kind)) {
        const spec::Node tree = spec::load_tree(find_data(kind, name).string());
        BOOST_TEST(text.find("`" + name + "`") != std::string::npos, name << " is not mentioned");
        for (const std::string& variable : spec::declared_variables(tree)) {
            const bool table = variable == "LAYERS" || variable == "DEPTHWISE";
            BOOST_TEST((table || text.find("`" + variable) != std::string::npos),
                       name << " has the parameter " << variable << ", which is not mentioned");
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(data_docs)

BOOST_AUTO_TEST_CASE(workload_examples_are_read) {
    const std::vector<Example> found = examples_of("workload");
    BOOST_TEST(found.size() >= 4);
    for (const Example& example : found) {
        BOOST_TEST_CONTEXT(example.text) {
            const TemporaryFile file(example.text);
            BOOST_CHECK_NO_THROW(workload::load_workload(file.path(), {}));
        }
    }
}

BOOST_AUTO_TEST_CASE(mapping_examples_are_read) {
    const std::vector<Example> found = examples_of("mapping");
    BOOST_TEST(found.size() >= 1);
    for (const Example& example : found) {
        BOOST_TEST_CONTEXT(example.text) {
            const TemporaryFile file(example.text);
            BOOST_CHECK_NO_THROW(mapping::check_structure(mapping::load_mapping(file.path())));
        }
    }
}

BOOST_AUTO_TEST_CASE(architecture_examples_are_read_and_fit_the_first_workload) {
    const TemporaryFile workload_file(examples_of("workload").at(0).text);
    const workload::Workload workload = workload::load_workload(workload_file.path(), {});
    const std::vector<Example> found = examples_of("arch");
    BOOST_TEST(found.size() >= 2);
    for (const Example& example : found) {
        BOOST_TEST_CONTEXT(example.text) {
            const TemporaryFile file(example.text);
            const arch::Architecture hardware = arch::load_architecture(file.path(), {});
            const arch::Path path =
                hardware.path(workload, 0, hardware.compute_names().at(0), arch::Compat::none);
            BOOST_TEST(path.compute().cumulative_fanout > 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(other_kinds_of_example_do_not_exist) {
    for (const Example& example : examples()) {
        BOOST_TEST((example.section == "workload" || example.section == "arch" ||
                    example.section == "mapping"));
    }
}

BOOST_AUTO_TEST_CASE(parameters_of_workloads_are_named) {
    check_parameters_are_named("problem-shapes");
}

BOOST_AUTO_TEST_CASE(parameters_of_architectures_are_named) {
    check_parameters_are_named("arch-specs");
}

BOOST_AUTO_TEST_SUITE_END()
