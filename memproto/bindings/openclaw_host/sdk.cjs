// The stand-in of OpenClaw's SDK for `require`, and for what jiti makes of an import.
module.exports = globalThis[Symbol.for("memproto.openclaw.sdk")]("openclaw/plugin-sdk");
