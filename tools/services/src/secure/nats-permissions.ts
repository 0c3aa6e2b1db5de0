import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { Failure } from '../failure.ts';
import { repositoryRoot } from '../site.ts';
import type { NatsUserPermissions } from './nats-tokens.ts';

/** Stands for the prefix of a test in the permissions, also in uppercase. */
export const natsPrefixPlaceholder = 'prefixplaceholder';

export type NatsRolePermissions = Readonly<Record<'api' | 'worker' | 'gateway', NatsUserPermissions>>;

let derived: NatsRolePermissions | undefined;

/** Reads them once, because the command takes a second. */
export function natsRolePermissions(): NatsRolePermissions {
  derived ??= readNatsPermissions();
  return derived;
}

/** The permissions as the product derives them. The command runs separately, so that this tool does not load the product. */
function readNatsPermissions(): NatsRolePermissions {
  const command = [path.join(repositoryRoot, 'apps/admin/src/main.ts'), 'nats', 'users', '--json'];
  const env = { ...process.env, MILLRACE_NATS_PREFIX: natsPrefixPlaceholder, MILLRACE_CELL: '1' };
  const finished = spawnSync(process.execPath, command, { encoding: 'utf8', env });
  if (finished.status !== 0) {
    throw new Failure(
      `The permissions of NATS users could not be read: ${finished.stderr}`,
      'Run `npm ci` and try again.',
    );
  }
  // The command of this checkout wrote it, so its shape is known.
  return JSON.parse(finished.stdout) as NatsRolePermissions;
}

/** The permissions for the subjects, streams and buckets of one prefix. */
export function natsPermissionsFor(permissions: NatsUserPermissions, prefix: string): NatsUserPermissions {
  const named = (subject: string): string =>
    subject
      .replaceAll(natsPrefixPlaceholder, prefix)
      .replaceAll(natsPrefixPlaceholder.toUpperCase(), prefix.toUpperCase());
  const { publish, subscribe, mayRespond } = permissions;
  return { publish: publish.map(named), subscribe: subscribe.map(named), mayRespond };
}
