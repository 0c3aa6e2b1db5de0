import { renderAclRules, renderValkeyUsers, type ValkeyUser } from '@millrace/platform/valkey';
import { requiredList, type Command, type FlagValues } from './command.ts';
import { valkeyGrants, valkeyRoles } from './valkey-grants.ts';

/** The command that prepares the users of a Valkey server. It needs no database. */

const hashesOf = (who: string) => ({
  describe: `SHA-256 of the passwords of ${who}, separated by commas`,
  value: 'HASHES',
});

export const valkeyUsersCommand: Command = {
  name: 'valkey users',
  summary: 'print the users of api, worker and gateway as an ACL file of a Valkey server',
  flags: {
    api: hashesOf('the api processes'),
    worker: hashesOf('the workers'),
    gateway: hashesOf('the gateways'),
    all: hashesOf('the user `all`, who may do everything (with valkey-cli)'),
    json: { describe: 'print the rules of each role as one JSON object, without passwords' },
  },
  example: 'millrace-admin valkey users --api 5e88… --worker 8c69… --gateway 2bb8…,9f86… --all d74f…',
  run: async (context, flags) => {
    const prefix = context.natsPrefix();
    const roles = valkeyRoles.map((role) => ({ role, grants: valkeyGrants(role, prefix) }));
    if (flags['json'] === true) {
      const byRole = roles.map(({ role, grants }) => [role, renderAclRules(grants)]);
      context.out(`${JSON.stringify(Object.fromEntries(byRole))}\n`);
      return;
    }
    const users: ValkeyUser[] = roles.map(({ role, grants }) => {
      return { name: `millrace-${role}`, passwordHashes: passwordHashesOf(flags, role), grants };
    });
    if (flags['all'] !== undefined) {
      users.push({ name: 'all', passwordHashes: passwordHashesOf(flags, 'all'), grants: null });
    }
    context.out(renderValkeyUsers(users));
  },
};

const passwordHashesOf = (flags: FlagValues, name: string): readonly string[] =>
  requiredList(flags, name, {
    isValid: (hash) => /^[0-9a-f]{64}$/i.test(hash),
    expected: 'SHA-256 hashes of passwords, 64 hexadecimal digits each',
  }).map((hash) => hash.toLowerCase());
