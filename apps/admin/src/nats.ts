import { writeFile } from 'node:fs/promises';
import { natsPermissions, natsRoles, renderNatsUsers, type NatsUser } from '@millrace/core/nats-permissions';
import { createNatsKey, isNatsPublicKey } from '@millrace/platform/nats';
import { errorCode } from './error-code.ts';
import { CommandError, requiredList, requiredText, UsageError } from './command.ts';
import type { Command, FlagValues } from './command.ts';

/** Commands that prepare the users of a NATS server. They need no database. */

const keysOf = (who: string) => ({ describe: `public keys of ${who}, separated by commas`, value: 'KEYS' });

export const natsUsersCommand: Command = {
  name: 'nats users',
  summary: 'print the users of api, worker and gateway for the configuration of a NATS server',
  flags: {
    api: keysOf('the api processes'),
    worker: keysOf('the workers'),
    gateway: keysOf('the gateways'),
    all: keysOf('people who may use all subjects (with the nats command line)'),
    json: { describe: 'print the permissions of each role as one JSON object, without keys' },
  },
  example: 'millrace-admin nats users --api UA… --worker UB… --gateway UC…,UD…',
  run: async (context, flags) => {
    const place = { prefix: context.natsPrefix(), cell: context.cell };
    const roles = natsRoles.map((role) => ({ role, permissions: natsPermissions(role, place) }));
    if (flags['json'] === true) {
      const byRole = Object.fromEntries(roles.map(({ role, permissions }) => [role, permissions]));
      context.out(`${JSON.stringify(byRole)}\n`);
      return;
    }
    const users: NatsUser[] = roles.map(({ role, permissions }) => {
      return { name: role, publicKeys: publicKeysOf(flags, role), permissions };
    });
    if (flags['all'] !== undefined) {
      users.push({ name: 'all subjects', publicKeys: publicKeysOf(flags, 'all'), permissions: null });
    }
    refuseSharedKeys(users);
    context.out(renderNatsUsers(users));
  },
};

const publicKeysOf = (flags: FlagValues, name: string): readonly string[] =>
  requiredList(flags, name, {
    isValid: isNatsPublicKey,
    expected: 'public keys of users (U…), as `millrace-admin nats key` prints them',
  });

/** The server would use the permissions of one of the roles. */
function refuseSharedKeys(users: readonly NatsUser[]): void {
  const keys = users.flatMap(({ publicKeys }) => publicKeys);
  if (new Set(keys).size !== keys.length) {
    throw new UsageError('A key is named twice. Each role needs keys of its own.');
  }
}

export const natsKeyCommand: Command = {
  name: 'nats key',
  summary: 'create a key for a NATS user: write its seed to a new file and print its public key',
  flags: { out: { describe: 'the file for MILLRACE_NATS_CREDENTIALS_FILE', value: 'FILE', required: true } },
  example: 'millrace-admin nats key --out /etc/millrace/nats-gateway.seed',
  run: async ({ out }, flags) => {
    const { seed, publicKey } = createNatsKey();
    const file = requiredText(flags, 'out');
    try {
      await writeFile(file, `${seed}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      const why = errorCode(error);
      throw new CommandError(`The seed could not be written to a new file ${file} (${why}).`);
    }
    out(`${publicKey}\n`);
  },
};
