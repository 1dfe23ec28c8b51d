// Records every allocation and free that torch's allocators report, and keeps the ledger of live blocks.
//
// torch reports to whatever sits in the PROFILER_STATE slot of the calling thread, and that slot travels
// with autograd to its own threads. A Recorder is pushed there in the training thread, so it sees the CPU
// and the CUDA caching allocator alike. The interface is C, called through ctypes.
//
// Producers append events under a mutex, which is little beside the mutex and the hash map that torch's own
// CPU reporter takes for each block. The consumer, tsr_finish_step in the training thread, plays the events
// against the ledger: blocks by address, one category a lifetime. A full buffer is folded into the ledger
// by whoever fills it: its rows are lost and counted, the totals stay exact.
//
// The rules are those of agent/capture/ledger.py; a property test holds the two against each other.

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <dlfcn.h>
#include <pthread.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr uint8_t kInput = 4, kActivation = 5, kTemporary = 6, kUnknown = 7;  // schema.CATEGORIES
constexpr uint8_t kForward = 1;                                               // schema.PHASES
constexpr int kDevices = 65;                                                  // the CPU and 64 others
constexpr int64_t kNoRow = -1;
constexpr uint64_t kOwned = 1;  // in place of a storage: torch will report the free, no need to ask

enum class Kind : uint8_t { kMemory, kForwardBegin, kForwardEnd, kInput, kBackward };

struct Event {
  int64_t t_ns;
  uint64_t address;
  int64_t delta_bytes;
  uint64_t scope;  // module << 8 | phase
  int16_t device;
  Kind kind;
};

struct Block {
  int64_t size_bytes = 0;
  int64_t row = kNoRow;     // of its allocation among this step's rows
  uint64_t named_step = 0;  // last step at whose end a named tensor lay in it
  int16_t device = -1;
  uint8_t category = kUnknown;
  bool fresh = false;    // allocated in this step, category still open
  bool forward = false;  // made in the forward phase, which holds the loss function
  bool inside = false;   // made while a root module's forward ran
  bool input = false;    // an argument of a root module reached it
  bool saved = false;    // made in forward, and alive when a backward began
  bool assumed = false;  // only its tensor is known: neither allocation nor free is reported
};

struct Rows {
  std::vector<int64_t> t_ns;
  std::vector<uint64_t> address;
  std::vector<int64_t> delta_bytes, total_bytes;
  std::vector<uint8_t> phase, category;
  std::vector<int16_t> device;
  std::vector<uint32_t> module;

  int64_t size() const { return static_cast<int64_t>(t_ns.size()); }

  void clear() {
    t_ns.clear(), address.clear(), delta_bytes.clear(), total_bytes.clear();
    phase.clear(), category.clear(), device.clear(), module.clear();
  }

  void swap(Rows& other) { std::swap(*this, other); }
};

struct Labels {
  int64_t count;
  const uint64_t* address;
  const int64_t* size_bytes;
  const uint8_t* category;
  const int16_t* device;

  bool has_memory(int64_t i) const { return address[i] != 0 && size_bytes[i] > 0; }
};

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

thread_local bool seeding = false;

namespace profiler = torch::profiler::impl;

// Whoever asks torch whether a profiler runs has the slot's content cast to a ProfilerStateBase, unchecked:
// so the recorder is one, and answers that none does.
class Recorder final : public profiler::ProfilerStateBase {
 public:
  Recorder(const volatile uint64_t* scope, int64_t capacity)
      : ProfilerStateBase(profiler::ProfilerConfig(profiler::ProfilerState::Disabled)),
        scope_(scope),
        capacity_(static_cast<size_t>(capacity)) {
    events_.reserve(capacity_);
  }

  profiler::ActiveProfilerType profilerType() override { return profiler::ActiveProfilerType::NONE; }

  // Producers: any thread.

  bool memoryProfilingEnabled() const override { return enabled_; }

  void reportMemoryUsage(void* ptr, int64_t size, size_t, size_t, c10::Device device) override {
    if (ptr == nullptr || size == 0 || seeding) return;
    const int index = device.is_cpu() ? -1 : device.index();
    append(reinterpret_cast<uint64_t>(ptr), size, static_cast<int16_t>(index), Kind::kMemory);
  }

  void reportOutOfMemory(int64_t size, size_t, size_t, c10::Device device) override {
    std::lock_guard<std::mutex> guard(mutex_);
    oom_count_ += 1;
    oom_bytes_ = size;
    oom_device_ = device.is_cpu() ? -1 : device.index();
  }

  void append(uint64_t address, int64_t delta, int16_t device, Kind kind) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (!enabled_) return;
    if (events_.size() == capacity_) fold();
    events_.push_back({now_ns(), address, delta, *scope_, device, kind});
  }

  // Consumer: the training thread.

  void enable(bool on) {
    std::lock_guard<std::mutex> guard(mutex_);
    enabled_ = on;
  }

  // Nothing of Python's is read after this, even where another thread still holds this object.
  void retire() {
    std::lock_guard<std::mutex> guard(mutex_);
    enabled_ = false;
    scope_ = &no_scope_;
  }

  // Called in the child of a fork, where another thread may hold the mutex for ever.
  void abandon() { enabled_ = false; }

  void reset(const Labels& labels, const uint64_t* storages) {
    std::lock_guard<std::mutex> guard(mutex_);
    blocks_.clear(), fresh_.clear(), assumed_.clear(), events_.clear(), rows_.clear();
    live_.fill(0);
    live_total_ = peak_ = 0;
    lost_step_ = inside_ = false;
    step_ += 1;
    for (int64_t i = 0; i < labels.count; ++i) {
      const bool owned =
          storages[i] == kOwned || is_owned(reinterpret_cast<const c10::StorageImpl*>(storages[i]));
      adopt(labels, i, !owned);
    }
    peak_ = live_total_;
  }

  // Ends a step. Returns its rows, or -1 if some were lost and a new baseline must be sent instead.
  // A negative count says that the names are not known this time: only totals are asked for.
  int64_t finish_step(const Labels& labels, uint32_t inferred) {
    std::lock_guard<std::mutex> guard(mutex_);
    inferred_ = inferred;
    play();
    for (int64_t i = 0; i < labels.count; ++i) name(labels, i);
    settle();
    if (labels.count >= 0) infer_frees();
    step_peak_ = peak_;
    peak_ = live_total_;
    step_ += 1;
    const int64_t count = lost_step_ ? -1 : rows_.size();
    if (lost_step_) lost_rows_ += rows_.size();
    lost_step_ = false;
    told_.swap(rows_);
    rows_.clear();
    return count;
  }

  int64_t list_blocks(const Labels& labels) {
    std::lock_guard<std::mutex> guard(mutex_);
    for (int64_t i = labels.count - 1; i >= 0; --i) {  // backwards: the first label wins
      const auto found = blocks_.find(labels.address[i]);
      if (labels.has_memory(i) && found != blocks_.end()) found->second.category = labels.category[i];
    }
    told_.clear();
    for (const auto& [address, block] : blocks_) {
      told_.address.push_back(address);
      told_.delta_bytes.push_back(block.size_bytes);
      told_.category.push_back(block.category);
      told_.device.push_back(block.device);
    }
    return static_cast<int64_t>(blocks_.size());
  }

  // A column of what was returned last.
  const void* column(int index) const {
    switch (index) {
      case 0: return told_.t_ns.data();
      case 1: return told_.address.data();
      case 2: return told_.delta_bytes.data();
      case 3: return told_.total_bytes.data();
      case 4: return told_.phase.data();
      case 5: return told_.category.data();
      case 6: return told_.device.data();
      case 7: return told_.module.data();
      default: return nullptr;
    }
  }

  // live, peak of the step that ended, rows lost, out-of-memory reports, bytes and device of the last.
  void totals(int64_t* out) {
    std::lock_guard<std::mutex> guard(mutex_);
    out[0] = live_total_, out[1] = step_peak_, out[2] = lost_rows_;
    out[3] = oom_count_, out[4] = oom_bytes_, out[5] = oom_device_;
  }

 private:
  static bool is_owned(const c10::StorageImpl* storage) {
    if (storage == nullptr) return false;
    const auto type = storage->device_type();
    if (type != c10::kCPU && type != c10::kCUDA) return false;
    c10::Allocator* allocator = c10::GetAllocator(type);
    const auto deleter = allocator == nullptr ? nullptr : allocator->raw_deleter();
    return deleter != nullptr && storage->data_ptr().get_deleter() == deleter;
  }

  void fold() {
    play();
    lost_rows_ += rows_.size();
    rows_.clear();
    for (const uint64_t address : fresh_) {
      const auto found = blocks_.find(address);
      if (found != blocks_.end()) found->second.row = kNoRow;
    }
    lost_step_ = true;
  }

  void play() {
    for (const Event& event : events_) {
      switch (event.kind) {
        case Kind::kMemory: event.delta_bytes > 0 ? allocated(event) : freed(event); break;
        case Kind::kForwardBegin: inside_ = true; break;
        case Kind::kForwardEnd: inside_ = false; break;
        case Kind::kInput: mark_input(event.address); break;
        case Kind::kBackward: mark_saved(); break;
      }
    }
    events_.clear();
  }

  void allocated(const Event& event) {
    const auto old = blocks_.find(event.address);
    if (old != blocks_.end()) {  // its free was not reported; it must have happened before this
      end(old, event.t_ns, static_cast<uint64_t>(inferred_) << 8 | (event.scope & 0xff));
    }
    Block block;
    block.size_bytes = event.delta_bytes;
    block.device = event.device;
    block.fresh = true;
    block.forward = static_cast<uint8_t>(event.scope) == kForward;
    block.inside = inside_;
    block.row = rows_.size();
    emit(event.t_ns, event.address, block, event.delta_bytes, event.scope);
    blocks_.emplace(event.address, block);
    fresh_.push_back(event.address);
  }

  void freed(const Event& event) {
    const auto found = blocks_.find(event.address);
    if (found != blocks_.end()) end(found, event.t_ns, event.scope);
  }

  using Blocks = std::unordered_map<uint64_t, Block>;

  void end(Blocks::iterator found, int64_t t_ns, uint64_t scope) {
    Block& block = found->second;
    if (block.fresh) decide(block, block.input ? kInput : block.saved ? kActivation : kTemporary);
    emit(t_ns, found->first, block, -block.size_bytes, scope);
    blocks_.erase(found);
  }

  void decide(Block& block, uint8_t category) {
    block.category = category;
    block.fresh = false;
    if (block.row != kNoRow) rows_.category[static_cast<size_t>(block.row)] = category;
    block.row = kNoRow;
  }

  void emit(int64_t t_ns, uint64_t address, const Block& block, int64_t delta, uint64_t scope) {
    const int slot = block.device + 1;
    int64_t& live = live_[static_cast<size_t>(slot >= 0 && slot < kDevices ? slot : 0)];
    live += delta;
    live_total_ += delta;
    if (live_total_ > peak_) peak_ = live_total_;
    rows_.t_ns.push_back(t_ns);
    rows_.address.push_back(address);
    rows_.delta_bytes.push_back(delta);
    rows_.total_bytes.push_back(live);
    rows_.phase.push_back(static_cast<uint8_t>(scope));
    rows_.category.push_back(block.category);
    rows_.device.push_back(block.device);
    rows_.module.push_back(static_cast<uint32_t>(scope >> 8));
  }

  void mark_input(uint64_t address) {
    const auto found = blocks_.find(address);
    if (found != blocks_.end() && !found->second.inside) found->second.input = true;
  }

  void mark_saved() {
    for (const uint64_t address : fresh_) {
      const auto found = blocks_.find(address);
      if (found != blocks_.end() && found->second.forward) found->second.saved = true;
    }
  }

  void adopt(const Labels& labels, int64_t i, bool assumed) {
    if (!labels.has_memory(i)) return;
    Block block;
    block.size_bytes = labels.size_bytes[i];
    block.device = labels.device[i];
    block.category = labels.category[i];
    block.assumed = assumed;
    if (!blocks_.emplace(labels.address[i], block).second) return;
    if (assumed) assumed_.push_back(labels.address[i]);
    const int slot = block.device + 1;
    live_[static_cast<size_t>(slot >= 0 && slot < kDevices ? slot : 0)] += block.size_bytes;
    live_total_ += block.size_bytes;
    if (assumed || block.device != -1) return;
    // torch reports the free of a CPU block only if it saw the block: show it.
    seeding = true;
    c10::profiledCPUMemoryReporter().New(
        reinterpret_cast<void*>(labels.address[i]), static_cast<size_t>(block.size_bytes));
    seeding = false;
  }

  // A named tensor lies at this address at the end of the step.
  void name(const Labels& labels, int64_t i) {
    if (!labels.has_memory(i)) return;
    auto found = blocks_.find(labels.address[i]);
    if (found != blocks_.end() && found->second.named_step == step_) return;
    if (found != blocks_.end() && found->second.assumed && found->second.size_bytes != labels.size_bytes[i]) {
      end(found, now_ns(), static_cast<uint64_t>(inferred_) << 8);  // replaced where we do not look
      found = blocks_.end();
    }
    if (found != blocks_.end()) {
      found->second.named_step = step_;
      if (found->second.fresh) decide(found->second, labels.category[i]);
      return;
    }
    Block block;  // made where we do not look: another thread, another allocator
    block.size_bytes = labels.size_bytes[i];
    block.device = labels.device[i];
    block.category = labels.category[i];
    block.named_step = step_;
    block.assumed = true;
    assumed_.push_back(labels.address[i]);
    emit(now_ns(), labels.address[i], block, block.size_bytes, static_cast<uint64_t>(inferred_) << 8);
    blocks_.emplace(labels.address[i], block);
  }

  // Blocks that outlive the step get the category that they keep.
  void settle() {
    for (const uint64_t address : fresh_) {
      const auto found = blocks_.find(address);
      if (found == blocks_.end() || !found->second.fresh) continue;
      Block& block = found->second;
      decide(block, block.input ? kInput : block.forward ? kActivation : kUnknown);
    }
    fresh_.clear();
    inside_ = false;
  }

  void infer_frees() {
    size_t kept = 0;
    for (const uint64_t address : assumed_) {
      const auto found = blocks_.find(address);
      if (found == blocks_.end() || !found->second.assumed) continue;
      if (found->second.named_step == step_) {
        assumed_[kept++] = address;
      } else {
        end(found, now_ns(), static_cast<uint64_t>(inferred_) << 8);
      }
    }
    assumed_.resize(kept);
  }

  std::mutex mutex_;
  std::atomic<bool> enabled_{false};
  const volatile uint64_t* scope_;
  const uint64_t no_scope_ = 0;
  const size_t capacity_;
  std::vector<Event> events_;
  Blocks blocks_;
  std::vector<uint64_t> fresh_;    // addresses allocated in this step
  std::vector<uint64_t> assumed_;  // addresses of assumed blocks
  Rows rows_;  // of the running step
  Rows told_;  // what the last finish_step or list_blocks returned
  std::array<int64_t, kDevices> live_{};
  int64_t live_total_ = 0, peak_ = 0, step_peak_ = 0;
  int64_t lost_rows_ = 0;
  int64_t oom_count_ = 0, oom_bytes_ = 0, oom_device_ = -1;
  uint64_t step_ = 1;
  uint32_t inferred_ = 0;
  bool lost_step_ = false;
  bool inside_ = false;  // a root module's forward runs
};

using Handle = std::shared_ptr<Recorder>;
using Slot = c10::ThreadLocalDebugInfo;

std::atomic<Recorder*> newest{nullptr};

void disable_in_child() {
  if (Recorder* recorder = newest.load()) recorder->abandon();
}

bool is_pushed(const Handle& handle) {
  return Slot::get(c10::DebugInfoKind::PROFILER_STATE) == handle.get();
}

// torch warns on stderr at the first, the 1001st, ... free of a CPU block that it does not know. Such frees
// are the rule for a recorder that starts late, so the first one is spent here, unheard.
void spend_first_warning() {
  static std::once_flag once;
  std::call_once(once, [] {
    int* level = static_cast<int*>(dlsym(RTLD_DEFAULT, "FLAGS_caffe2_log_level"));
    if (level == nullptr) return;
    const int before = *level;
    *level = 3;
    c10::profiledCPUMemoryReporter().Delete(&once);
    *level = before;
  });
}

Labels labels_of(int64_t count, const uint64_t* address, const int64_t* size_bytes,
                 const uint8_t* category, const int16_t* device) {
  return {count, address, size_bytes, category, device};
}

}  // namespace

extern "C" {

void* tsr_create(const volatile uint64_t* scope, int64_t capacity) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, disable_in_child); });
  auto* handle = new Handle(std::make_shared<Recorder>(scope, capacity));
  newest = handle->get();
  return handle;
}

// The recorder itself lives on while any thread's slot holds it.
void tsr_destroy(void* self) {
  auto* handle = static_cast<Handle*>(self);
  Recorder* mine = handle->get();
  newest.compare_exchange_strong(mine, nullptr);
  (*handle)->retire();
  delete handle;
}

// 1: this thread reports to us; 0: a profiler of the program has the slot.
int tsr_push(void* self) {
  const Handle& handle = *static_cast<Handle*>(self);
  if (is_pushed(handle)) return 1;
  if (Slot::get(c10::DebugInfoKind::PROFILER_STATE) != nullptr) return 0;
  Slot::_push(c10::DebugInfoKind::PROFILER_STATE, handle);
  handle->enable(true);
  spend_first_warning();
  return 1;
}

// 1: this thread reports to us no more; 0: something else lies above us and holds us there.
int tsr_pop(void* self) {
  const Handle& handle = *static_cast<Handle*>(self);
  if (!is_pushed(handle)) return 1;
  try {
    if (Slot::_peek(c10::DebugInfoKind::PROFILER_STATE).get() != handle.get()) return 0;
    Slot::_pop(c10::DebugInfoKind::PROFILER_STATE);
    return 1;
  } catch (const std::exception&) {
    return 0;
  }
}

int tsr_is_pushed(void* self) { return is_pushed(*static_cast<Handle*>(self)); }

void tsr_enable(void* self, int on) { (*static_cast<Handle*>(self))->enable(on != 0); }

void tsr_reset(void* self, int64_t count, const uint64_t* address, const int64_t* size_bytes,
               const uint8_t* category, const int16_t* device, const uint64_t* storages) {
  (*static_cast<Handle*>(self))->reset(labels_of(count, address, size_bytes, category, device), storages);
}

// Marks take their place among the events, so they mean the block that is at the address now.
void tsr_mark_input(void* self, uint64_t address) {
  (*static_cast<Handle*>(self))->append(address, 0, 0, Kind::kInput);
}

void tsr_mark_forward(void* self, int begins) {
  (*static_cast<Handle*>(self))->append(0, 0, 0, begins ? Kind::kForwardBegin : Kind::kForwardEnd);
}

void tsr_mark_backward(void* self) { (*static_cast<Handle*>(self))->append(0, 0, 0, Kind::kBackward); }

// For tests: what torch would report.
void tsr_report(void* self, uint64_t address, int64_t delta_bytes, int16_t device) {
  (*static_cast<Handle*>(self))->append(address, delta_bytes, device, Kind::kMemory);
}

int64_t tsr_finish_step(void* self, int64_t count, const uint64_t* address, const int64_t* size_bytes,
                        const uint8_t* category, const int16_t* device, uint32_t inferred) {
  return (*static_cast<Handle*>(self))
      ->finish_step(labels_of(count, address, size_bytes, category, device), inferred);
}

int64_t tsr_list_blocks(void* self, int64_t count, const uint64_t* address, const int64_t* size_bytes,
                        const uint8_t* category, const int16_t* device) {
  return (*static_cast<Handle*>(self))
      ->list_blocks(labels_of(count, address, size_bytes, category, device));
}

const void* tsr_column(void* self, int index) { return (*static_cast<Handle*>(self))->column(index); }

void tsr_totals(void* self, int64_t* out) { (*static_cast<Handle*>(self))->totals(out); }

}  // extern "C"
