//! How the functions of a SQLite that is linked into a program or library are replaced: their first instructions give
//! way to a jump. contend examines the file and writes such a plan; the library in the process carries it out.
//!
//! Addresses are those of the file; in memory the object's base is added. Numbers are in native byte order.

/// First eight bytes of a plan.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"cntndhk1");

/// Length of the jump that replaces the first instructions.
pub const JUMP: usize = 5;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub magic: u64,
    /// Address range of SQLite's own code: calls from there are SQLite's, all others are the program's.
    pub low: u64,
    pub high: u64,
    /// Place of its first byte in the file.
    pub offset: u64,
    /// Number of functions that follow.
    pub count: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Ends with NUL.
    pub name: [u8; 40],
    pub address: u64,
    /// Place of the jump in the function: after an `endbr64`.
    pub at: u8,
    /// Number of bytes whose instructions move; 0 if the function is only called.
    pub length: u8,
    pub moved_length: u8,
    pub fix_count: u8,
    pub unused: [u8; 4],
    /// The bytes that move, as they are in the file.
    pub original: [u8; 24],
    /// Their instructions for another place.
    pub moved: [u8; 40],
    pub fixes: [Fix; 4],
}

/// A distance of 32 bits in the moved instructions.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Fix {
    /// Where it is, and the end of its instruction, from which it counts.
    pub at: u32,
    pub end: u32,
    pub target: u64,
}

impl Function {
    /// A function that is only called.
    pub fn called(name: &str, address: u64) -> Function {
        let mut function = Function {
            name: [0; 40],
            address,
            at: 0,
            length: 0,
            moved_length: 0,
            fix_count: 0,
            unused: [0; 4],
            original: [0; 24],
            moved: [0; 40],
            fixes: [Fix::default(); 4],
        };
        let length = name.len().min(function.name.len() - 1);
        function.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        function
    }

    /// Address of the first instruction that does not move.
    pub fn rest(&self) -> u64 {
        self.address + u64::from(self.at) + u64::from(self.length)
    }

    /// Functions that its moved instructions call.
    #[cfg(not(interpose))]
    pub fn calls_first(&self) -> impl Iterator<Item = u64> {
        const CALL: u8 = 0xe8;
        let fixes = self.fixes[..usize::from(self.fix_count)].iter();
        // The byte before a distance to data names registers, with other bits.
        fixes.filter(|fix| self.moved[fix.at as usize - 1] == CALL).map(|fix| fix.target)
    }

    pub fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        &self.name[..end]
    }
}

/// The file of a plan.
#[cfg(not(interpose))]
pub fn file((low, high): (u64, u64), offset: u64, functions: &[Function]) -> Vec<u8> {
    fn bytes<T: Copy>(of: &[T]) -> &[u8] {
        // SAFETY: both types have no padding.
        unsafe { core::slice::from_raw_parts(of.as_ptr().cast(), size_of_val(of)) }
    }
    let head = Head { magic: MAGIC, low, high, offset, count: functions.len() as u64 };
    [bytes(&[head]), bytes(functions)].concat()
}
