import type { FaultIssue } from '@millrace/platform/fault';

/** Deeper than any body that people write, and shallow enough for every engine that walks one by recursion. */
const maxDepth = 64;

const halfCharacter = {
  message: 'holds half a surrogate pair, which is no text',
  code: 'invalid_text',
} as const;
const tooDeep = { message: `is nested more than ${maxDepth} levels deep`, code: 'too_deep' } as const;

/**
 * The first thing in a body that no engine could read, whatever its schema says. It would come back as a failure of the
 * engine, and whoever sent it on purpose could make healthy engines look broken to everyone.
 */
export function findUnreadable(value: unknown, depth = 0): FaultIssue | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : { ...halfCharacter, path: [] };
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= maxDepth) return { ...tooDeep, path: [] };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const below = findUnreadable(value[index], depth + 1);
      if (below !== null) return { ...below, path: [index, ...below.path] };
    }
    return null;
  }
  for (const name in value) {
    if (!name.isWellFormed()) return { ...halfCharacter, path: [] };
    const below = findUnreadable((value as Readonly<Record<string, unknown>>)[name], depth + 1);
    if (below !== null) return { ...below, path: [name, ...below.path] };
  }
  return null;
}

/** The length of a text in UTF-8: no tokenizer makes more tokens than that of it. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
