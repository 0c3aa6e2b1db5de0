import type { ValkeyGrant } from '@millrace/platform/valkey';

interface Rules {
  readonly commands: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
}

/** A user as `ACL LIST` and ACL files describe it. */
export interface AclUser {
  readonly name: string;
  /** The rules of the user, and those of each selector. */
  readonly rules: readonly Rules[];
}

export function parseAclUsers(lines: readonly string[]): readonly AclUser[] {
  return lines.flatMap((line) => {
    const [first, name, ...words] = line.trim().split(' ');
    if (first !== 'user' || name === undefined) return [];
    // Each selector is in parentheses; the rules before the first one belong to the user itself.
    const groups = words
      .join(' ')
      .split('(')
      .map((group) => group.split(')')[0] ?? '');
    return [{ name, rules: groups.map(parseRules) }];
  });
}

function parseRules(text: string): Rules {
  const words = text.split(' ');
  const commands = new Set<string>();
  for (const word of words) {
    if (word === '-@all') commands.clear();
    else if (word.startsWith('+')) commands.add(word.slice(1).toLowerCase());
    else if (word.startsWith('-')) commands.delete(word.slice(1).toLowerCase());
  }
  const keys = words.filter((word) => word.startsWith('~')).map((word) => word.slice(1));
  return { commands, keys: new Set(keys) };
}

/** The commands and keys of a grant that no rules of the user allow together. */
export function missingRulesOf({ rules }: AclUser, { commands, keys }: ValkeyGrant): readonly string[] {
  const missingIn = ({ commands: own, keys: ownKeys }: Rules): readonly string[] => [
    ...commands.filter((name) => !own.has(name) && !own.has('@all')),
    ...keys.filter((key) => !ownKeys.has(key) && !ownKeys.has('*')).map((key) => `~${key}`),
  ];
  const [closest = []] = rules.map(missingIn).toSorted((one, other) => one.length - other.length);
  return closest;
}
