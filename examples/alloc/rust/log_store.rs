//! Log lines in slow memory, found by an index in ordinary memory.
//!
//!   rustc -O log_store.rs -C link-args="$(tierscope alloc flags --link)" -o log_store
//!   ./log_store [SLOW_NODES [LINES]]          e.g. ./log_store 2 1000000
//!
//! The global allocator is tierscope's: what is allocated within `in_arena` lies in that arena, with
//! all that `Vec` and `String` add to it later; everything else is malloc's.
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::env;
use std::ffi::{c_void, CString};
use std::io;
use std::os::raw::{c_char, c_int};

#[repr(C)]
struct Arena {
    _private: [u8; 0],
}
const FAIL: c_int = 0;
const TEXT: c_int = 0;

#[link(name = "tierscope-alloc")]
extern "C" {
    fn ts_arena_create(name: *const c_char, nodes: *const c_char, capacity: usize, when_full: c_int)
        -> *mut Arena;
    fn ts_set_thread_arena(arena: *mut Arena) -> *mut Arena;
    fn ts_calloc(arena: *mut Arena, count: usize, size: usize) -> *mut c_void;
    fn ts_aligned_alloc(arena: *mut Arena, alignment: usize, size: usize) -> *mut c_void;
    fn ts_realloc(arena: *mut Arena, pointer: *mut c_void, size: usize) -> *mut c_void;
    fn ts_free(pointer: *mut c_void);
    fn ts_tier_of(pointer: *const c_void) -> c_int;
    fn ts_print_statistics(file: c_int, format: c_int) -> c_int;
}

struct Tiered;
const ALWAYS_ALIGNED: usize = 8;

// A null arena is the calling thread's, or malloc; a block that grows stays in its arena.
unsafe impl GlobalAlloc for Tiered {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ts_aligned_alloc(std::ptr::null_mut(), layout.align(), layout.size()).cast()
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALWAYS_ALIGNED {
            return ts_calloc(std::ptr::null_mut(), 1, layout.size()).cast();
        }
        let memory = self.alloc(layout);
        if !memory.is_null() {
            memory.write_bytes(0, layout.size());
        }
        memory
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALWAYS_ALIGNED {
            return ts_realloc(std::ptr::null_mut(), old.cast(), size).cast();
        }
        let memory = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !memory.is_null() {
            memory.copy_from_nonoverlapping(old, layout.size().min(size));
            self.dealloc(old, layout);
        }
        memory
    }
    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        ts_free(memory.cast())
    }
}

#[global_allocator]
static ALLOCATOR: Tiered = Tiered;

fn create(name: &str, nodes: &str, capacity: usize) -> io::Result<*mut Arena> {
    let (name, nodes) = (CString::new(name)?, CString::new(nodes)?);
    let arena = unsafe { ts_arena_create(name.as_ptr(), nodes.as_ptr(), capacity, FAIL) };
    if arena.is_null() {
        return Err(io::Error::last_os_error());
    }
    Ok(arena)
}

/// Runs `work`; what it allocates lies in the arena. The arena before is back even after a panic.
fn in_arena<T>(arena: *mut Arena, work: impl FnOnce() -> T) -> T {
    struct Back(*mut Arena);
    impl Drop for Back {
        fn drop(&mut self) {
            unsafe { ts_set_thread_arena(self.0) };
        }
    }
    let _back = Back(unsafe { ts_set_thread_arena(arena) });
    work()
}

fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().collect();
    let nodes = words.get(1).map_or("0", String::as_str);
    let lines: u64 = words.get(2).map_or(100_000, |text| text.parse().expect("LINES: a number"));
    let slow = create("lines", nodes, 0)?;

    let mut store: Vec<String> = in_arena(slow, Vec::new);
    let mut index: HashMap<u64, usize> = HashMap::new();
    for number in 0..lines {
        let line = in_arena(slow, || format!("request {} took {} ms", number, number % 1000));
        index.insert(number, store.len());
        // `store` is empty at first, so that its first memory is allocated here.
        in_arena(slow, || store.push(line));
    }

    let found = &store[index[&(lines / 2)]];
    assert_eq!(*found, format!("request {} took {} ms", lines / 2, lines / 2 % 1000));
    println!("{} lines; line {} on node {}", store.len(), lines / 2, unsafe {
        ts_tier_of(found.as_ptr().cast())
    });
    unsafe { ts_print_statistics(1, TEXT) };
    Ok(())
}
