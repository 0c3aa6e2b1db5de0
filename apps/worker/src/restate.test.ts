import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { createLifecycle } from '@millrace/platform/lifecycle';
import { createLogger } from '@millrace/platform/log';
import { createRestateConnection } from '@millrace/platform/restate';
import { expect, test } from 'vitest';
import type { WorkerConfig } from './config.ts';
import { maintainRegistration } from './restate.ts';

test('a worker that stops ends its call of a Restate that does not answer, so that its drain is clean', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const adminUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const log = createLogger({ name: 'test', level: 'silent' });
  const lifecycle = createLifecycle({ clock: systemClock, log, drainDeadlineMs: 5_000 });
  const connection = createRestateConnection({ ca: null, client: null, log });
  const config = {
    worker: { registerMs: 1_000, replaceDeployment: false },
    restate: { adminUrl, endpointUrl: null },
  } as WorkerConfig;
  const worker = { ownUrl: 'http://127.0.0.1:9', release: '1.0.0', connection };
  const received = once(silent, 'request');
  // The database is read only after Restate has answered.
  maintainRegistration(config, worker, { db: null as unknown as Db, lifecycle, log });
  await received;
  expect(await lifecycle.shutdown('test')).toBe(true);
  silent.closeAllConnections();
  silent.close();
});
