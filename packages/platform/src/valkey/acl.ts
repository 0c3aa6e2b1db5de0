import type { ValkeyScript } from './script.ts';

/** Commands that a user may run, and the keys on which. Commands of scripts are checked like commands of the client. */
export interface ValkeyGrant {
  /** In lowercase, a subcommand as `script|load`. */
  readonly commands: readonly string[];
  /** Patterns of keys. Empty for commands without keys. */
  readonly keys: readonly string[];
}

/** The commands in the text of the scripts. A script names each command literally. */
export function commandsOf(scripts: readonly Pick<ValkeyScript, 'source'>[]): readonly string[] {
  const calls = scripts.flatMap(({ source }) => [...source.matchAll(/redis\.call\('([A-Za-z]+)'/g)]);
  return [...new Set(calls.map(([, command = '']) => command.toLowerCase()))].toSorted();
}

/** The connection of each client: its library reports itself, and checks that the server responds. */
const connectionGrant: ValkeyGrant = { commands: ['client|setinfo', 'ping'], keys: [] };

/**
 * The rules of a user with these grants and nothing else. Each grant is a selector of its own: a command on some keys is
 * allowed if one selector allows the command and all of these keys.
 */
export function renderAclRules(grants: readonly ValkeyGrant[]): string {
  const selectors = grants.map((grant) => `(${renderGrant(grant)})`);
  return ['resetchannels', renderGrant(connectionGrant), ...selectors].join(' ');
}

function renderGrant({ commands, keys }: ValkeyGrant): string {
  return ['-@all', ...commands.map((name) => `+${name}`), ...keys.map((pattern) => `~${pattern}`)].join(' ');
}

export interface ValkeyUser {
  readonly name: string;
  /** SHA-256 of each password in hexadecimal, several while passwords are being replaced. */
  readonly passwordHashes: readonly string[];
  /** Null: everything. */
  readonly grants: readonly ValkeyGrant[] | null;
}

/** Renders an ACL file: these users, and no default user. */
export function renderValkeyUsers(users: readonly ValkeyUser[]): string {
  const lines = users.map(({ name, passwordHashes, grants }) => {
    const passwords = passwordHashes.map((hash) => `#${hash}`);
    const rules = grants === null ? '~* &* +@all' : renderAclRules(grants);
    return ['user', name, 'on', ...passwords, rules].join(' ');
  });
  return ['user default off resetchannels -@all', ...lines, ''].join('\n');
}
