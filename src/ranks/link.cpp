#include "link.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/pause.hpp"
#include "base/printable.hpp"
#include "ranks/launch.hpp"
#include "tessera/base/error.hpp"

namespace tessera::ranks {

namespace {

namespace fs = std::filesystem;

constexpr auto longest_goodbye = std::chrono::seconds(5);

/// Beside the program, or where it is installed.
fs::path file() {
    std::error_code failed;
    const fs::path place = fs::read_symlink("/proc/self/exe", failed).parent_path();
    const fs::path built = place / "optional" / "mpi.so";
    return fs::exists(built, failed)
               ? built
               : place.parent_path() / "lib" / "tessera" / "optional" / "mpi.so";
}

[[noreturn]] void refuse(const std::string& why) {
    throw UserError("this process is one of " + std::to_string(launch().size) +
                    " ranks, which need MPI: " + why + "; --mpi off leaves MPI alone");
}

const TesseraMpi* load() {
    const fs::path path = file();
    std::error_code failed;
    if (!fs::exists(path, failed)) {
        refuse(
            "it was left out when this program was built, as there were no headers of it "
            "(libopenmpi-dev; make deps)");
    }
    // Open MPI finds its own parts by the symbols of its library.
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const entry = library == nullptr ? nullptr : ::dlsym(library, "tessera_mpi");
    if (entry == nullptr) {
        refuse(base::one_line(::dlerror()));
    }
    const auto* const table = reinterpret_cast<const TesseraMpi* (*)()>(entry)();
    if (table->abi != TESSERA_MPI_ABI) {
        refuse(path.string() + " belongs to another version of this program");
    }
    return table;
}

}  // namespace

Link::Link() : mpi_(load()) {
    if (mpi_->begin(&rank_, &size_) != 0) {
        refuse("it cannot begin");
    }
    const Launch told = launch();
    if (told.size != size_ || told.rank != rank_) {
        orderly_ = false;
        refuse("the launcher belongs to another MPI than the library, " +
               base::one_line(mpi_->library) + ", which sees " + std::to_string(size_) +
               (size_ == 1 ? " rank" : " ranks"));
    }
}

Link::~Link() {
    const auto begin = std::chrono::steady_clock::now();
    base::Pause pause(std::chrono::microseconds(100), std::chrono::milliseconds(5));
    while (sends() && std::chrono::steady_clock::now() - begin < longest_goodbye) {
        receive();
        pause.sleep();
    }
    if (orderly_) {
        mpi_->end();
    }
}

void Link::send(int rank, Kind kind, const std::string& text) const {
    mpi_->send(rank, kind, text.data(), text.size());
}

std::optional<Message> Link::receive() const {
    Message message;
    const char* data = nullptr;
    std::size_t size = 0;
    if (mpi_->receive(&message.rank, &message.kind, &data, &size) == 0) {
        return std::nullopt;
    }
    message.text.assign(data, size);
    return message;
}

Launcher::Launcher() : parent_(::getppid()) {}

bool Launcher::is_gone() const {
    return ::getppid() != parent_;
}

}  // namespace tessera::ranks
