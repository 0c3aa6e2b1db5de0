import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestInstallation } from '../doctor/doctor.fixture.ts';
import type { ProcessRole } from './layout.ts';

/** The steps of docs/runbooks/secrets.md: delete the files, run `init`, load the new users, restart the processes. */

let installation: TestInstallation;
beforeAll(async () => {
  installation = await TestInstallation.open();
  await installation.untilHealthy();
});
afterAll(() => installation?.[Symbol.asyncDispose]());

const reloadNats = (): Promise<void> => installation.restartEngine('nats');
const loadValkeyUsers = (): Promise<unknown> => installation.valkey('ACL', 'LOAD');
const roles: readonly ProcessRole[] = ['worker', 'api', 'gateway'];
const none = async (): Promise<void> => undefined;

interface Secret {
  readonly files: readonly string[];
  readonly load: () => Promise<unknown>;
  readonly restart: readonly ProcessRole[];
}

const secrets: readonly Secret[] = [
  { files: ['api/postgres.url'], load: none, restart: ['api'] },
  { files: ['worker/postgres.url'], load: none, restart: ['worker'] },
  { files: ['admin/postgres.url', 'admin/postgres-owner.url'], load: none, restart: [] },
  { files: ['api/valkey.url'], load: loadValkeyUsers, restart: ['api'] },
  { files: ['worker/valkey.url'], load: loadValkeyUsers, restart: ['worker'] },
  { files: ['gateway/valkey.url'], load: loadValkeyUsers, restart: ['gateway'] },
  { files: ['api/nats.seed'], load: reloadNats, restart: ['api'] },
  { files: ['worker/nats.seed'], load: reloadNats, restart: ['worker'] },
  { files: ['gateway/nats.seed'], load: reloadNats, restart: ['gateway'] },
  { files: roles.map((role) => `${role}/health.token`), load: none, restart: roles },
  // Last, because the connection of the test has its password.
  { files: ['admin/valkey.url'], load: () => installation.restartEngine('valkey'), restart: [] },
];

test.each(secrets)(
  'init replaces $files, and the installation is healthy after a restart',
  async (secret) => {
    const before = secret.files.map((file) => installation.read(file));
    for (const file of secret.files) rmSync(installation.path(file));
    await installation.init();
    await secret.load();
    for (const role of secret.restart) await installation.restartProcess(role);
    for (const [index, file] of secret.files.entries())
      expect(installation.read(file)).not.toBe(before[index]);
    await installation.untilHealthy();
  },
);
