import type { FaultIssue } from '@millrace/platform/fault';

/** Deeper than any hand-written body, and shallow enough for engines that recurse. */
const maxDepth = 64;

const halfCharacter = {
  message: 'contains an unpaired surrogate, which is not valid text',
  code: 'invalid_text',
} as const;
const tooDeep = { message: `is nested more than ${maxDepth} levels deep`, code: 'too_deep' } as const;

/** Engines would report such content as their own failure, so a client could make healthy engines look broken. */
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

/** Length in UTF-8, an upper bound for the tokens of any tokenizer. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
