export { connectValkey, isScriptUnknown, type ValkeyClient, type ValkeyOptions } from './valkey.ts';
export { defineScript, type ValkeyScript } from './script.ts';
export { ValkeyRefusedError } from './connection-problem.ts';
export { commandsOf, renderAclRules, renderValkeyUsers, type ValkeyGrant, type ValkeyUser } from './acl.ts';
