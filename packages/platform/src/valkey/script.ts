import { createHash } from 'node:crypto';

/** A Lua script and the name that the server caches it under. */
export interface ValkeyScript {
  /** For errors and traces. */
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
}

/** Declares a script once, at module level. Its digest is not a secret; the protocol fixes SHA-1. */
export function defineScript(name: string, source: string): ValkeyScript {
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}
