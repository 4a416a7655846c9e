#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rlsim_fuzz::compressed(data));
