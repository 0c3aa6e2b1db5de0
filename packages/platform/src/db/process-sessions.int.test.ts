import { systemClock } from '../clock/index.ts';
import { createTestDatabase } from '@millrace/testing';
import { afterAll, expect, test } from 'vitest';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { createDb, processRoles, readProcessSessions, sessionNameOf } from './index.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());

const open = (applicationName: string) =>
  createDb({
    url: database.url,
    poolSize: 1,
    applicationName,
    role: processRoles.worker,
    clock: systemClock,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });

test('readProcessSessions returns role and release of running processes, also to a process with few rights', async () => {
  const processes = [
    sessionNameOf('worker', '1.2.3-0123456789ab'),
    sessionNameOf('api', '1.2.3'),
    'millrace-worker',
  ].map(open);
  const [reader] = processes;
  if (reader === undefined) throw new Error('There is no process.');
  for (const each of processes) await each.ping();
  const found = await readProcessSessions(reader);
  expect(found.map(({ role, release }) => `${role} ${release ?? 'without a name'}`).toSorted()).toEqual([
    'api 1.2.3',
    'worker 1.2.3-0123456789ab',
    'worker without a name',
  ]);
  await Promise.all(processes.map((each) => each.close()));
  expect((await readProcessSessions(database.db)).filter(({ role }) => role === 'worker')).toEqual([]);
});
