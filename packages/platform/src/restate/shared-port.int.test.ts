import { object, type ObjectContext } from '@restatedev/restate-sdk';
import { readEndpoints } from '@millrace/services';
import { eventually, freePort, testNames, unregisterDeploymentsAt } from '@millrace/testing';
import { expect, test } from 'vitest';
import { createLogger } from '../log/index.ts';
import {
  createRestateEndpoint,
  createRestateIngress,
  registerDeployment,
  releaseAddress,
  step,
} from './index.ts';

const { restate } = readEndpoints();
const names = testNames();
const limits = { maxAttempts: 1_000, timeoutMs: 60_000, firstRetryMs: 10 };
const [older, newer] = ['1.0.0-aaa', '1.1.0-bbb'] as const;

/** Executed steps, with the release of the worker that executed them. */
const executed: string[] = [];

/** A worker at a port that all share. Its handler executes the first step, and `hangs` decides whether it ends the second. */
async function startWorker(
  port: number,
  {
    service,
    release,
    steps,
    hangs,
  }: {
    readonly service: string;
    readonly release: string;
    readonly steps: readonly [string, string];
    readonly hangs: boolean;
  },
) {
  const started = Promise.withResolvers<void>();
  const run = async (ctx: ObjectContext): Promise<void> => {
    const [first, second] = steps;
    await step(ctx, first, limits, async () => void executed.push(`${release} ${first}`));
    await step(ctx, second, limits, async () => {
      started.resolve();
      if (hangs) await new Promise<never>(() => undefined);
      executed.push(`${release} ${second}`);
    });
  };
  const endpoint = await createRestateEndpoint({
    services: [object({ name: service, handlers: { run } })],
    identityKeys: [restate.identityPublicKey],
    port,
    sharePort: true,
    release,
    drainMs: 50,
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  return { ...endpoint, started: started.promise };
}

/** The last failure of the call that has not ended; empty without one. */
async function readFailure(service: string): Promise<string> {
  const query = `select last_failure from sys_invocation where target_service_name = '${service}' and status <> 'completed'`;
  const response = await fetch(`${restate.adminUrl}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await response.json()) as { rows: { last_failure?: string }[] };
  return rows[0]?.last_failure ?? '';
}

test('releases that share a port continue the calls of each other, and wait for their own release if the steps differ', async () => {
  const service = names.restateService('Shared');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const steps = ['first', 'second'] as const;
  const ingress = createRestateIngress({ url: restate.ingressUrl });
  const send = (key: string) =>
    ingress.send({
      ...{ service, key, handler: 'run', payload: null, idempotencyKey: `${names.id}-${key}` },
      envelope: {
        cell: 1,
        mode: 'live',
        actor: { kind: 'system', id: 'test' },
        schemaVersion: 1,
        traceparent: null,
      },
    });
  const first = await startWorker(port, { service, release: older, steps, hangs: true });
  await registerDeployment(restate.adminUrl, releaseAddress(url, older));
  await send('one');
  await first.started;
  await first.close();

  // The steps are the same, so the newer release continues the call of the older one.
  const second = await startWorker(port, { service, release: newer, steps, hangs: false });
  await eventually({ what: 'the call to end', timeoutMs: 60_000 }, () => executed.length === 2);
  expect(executed.splice(0)).toEqual([`${older} first`, `${newer} second`]);
  await second.close();

  const third = await startWorker(port, { service, release: older, steps, hangs: true });
  await send('two');
  await third.started;
  await third.close();
  // The steps differ: the newer release executes none of them.
  const fourth = await startWorker(port, {
    service,
    release: newer,
    steps: ['other', 'second'],
    hangs: false,
  });
  await eventually({ what: 'a refused repetition', timeoutMs: 60_000 }, async () =>
    /mismatch/i.test(await readFailure(service)),
  );
  const fifth = await startWorker(port, { service, release: older, steps, hangs: false });
  await fourth.close();
  await eventually({ what: 'the second call to end', timeoutMs: 60_000 }, () => executed.length === 2);
  expect(executed).toEqual([`${older} first`, `${older} second`]);
  await fifth.close();
  await unregisterDeploymentsAt(url);
});
