import { createHash } from 'node:crypto';

/** A Lua script and the digest under which the server caches it. */
export interface ValkeyScript {
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
}

/** Declares a script once, at module level. The protocol requires SHA-1. */
export function defineScript(name: string, source: string): ValkeyScript {
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}
