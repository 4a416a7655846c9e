//! The core passes everything.

use ratelimit_conformance::core_subject::Core;

ratelimit_conformance::suite!(Core);
