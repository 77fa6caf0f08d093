#![no_main]
//! Any text is refused, or is a specification that survives the way through JSON.

use libfuzzer_sys::fuzz_target;
use tlslab_fuzz::spec::RunSpec;

fuzz_target!(|bytes: &[u8]| {
    let Ok(spec) = serde_json::from_slice::<RunSpec>(bytes) else { return };
    let again = serde_json::to_string(&spec).expect("a specification can be written");
    assert_eq!(serde_json::from_str::<RunSpec>(&again).expect("and read"), spec);
    if let Ok(checked) = spec.clone().checked() {
        assert_eq!(checked.spec(), &spec);
    }
});
