export { connectValkey, isScriptUnknown, type ValkeyClient, type ValkeyOptions } from './valkey.ts';
export { defineScript, type ValkeyScript } from './script.ts';
