import { connect, constants } from 'node:http2';
import { object, TerminalError, type ObjectContext } from '@restatedev/restate-sdk';
import { readEndpoints } from '@millrace/services';
import { eventually, unregisterDeployment, testNames } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/index.ts';
import { createLogger } from '../log/index.ts';
import {
  createRestateEndpoint,
  createRestateIngress,
  envelopeOf,
  readDeployments,
  registerDeployment,
  releaseAddress,
  removeDeployment,
  RestateIngressError,
  step,
  type RestateEndpoint,
  type RestateSend,
} from './index.ts';

const { restate } = readEndpoints();
const names = testNames();
const service = names.restateService('Probe');
const log = createLogger({ name: 'test', level: 'silent' });
const envelope: Envelope = {
  cell: 2,
  mode: 'live',
  actor: { kind: 'system', id: 'test' },
  schemaVersion: 1,
  traceparent: null,
};

const calls: { key: string; payload: unknown; envelope: Envelope | null }[] = [];
const attempts = new Map<string, number>();
const outcomes = new Map<string, string>();

const probe = object({
  name: service,
  handlers: {
    record: async (ctx: ObjectContext, payload: unknown) => {
      await step(ctx, 'note', { maxAttempts: 3, timeoutMs: 1_000 }, async () => {
        calls.push({ key: ctx.key, payload, envelope: envelopeOf(ctx) });
      });
    },
    failForGood: async (ctx: ObjectContext) => {
      try {
        await step(ctx, 'fail', { maxAttempts: 3, timeoutMs: 1_000, firstRetryMs: 1 }, async () => {
          attempts.set(ctx.key, (attempts.get(ctx.key) ?? 0) + 1);
          throw new Error('never works');
        });
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error;
        outcomes.set(ctx.key, 'compensated');
      }
    },
    hang: async (ctx: ObjectContext) => {
      try {
        await step(ctx, 'hang', { maxAttempts: 2, timeoutMs: 20, firstRetryMs: 1 }, (signal) => {
          signal.addEventListener('abort', () => attempts.set(ctx.key, (attempts.get(ctx.key) ?? 0) + 1));
          return new Promise<void>(() => undefined);
        });
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error;
        outcomes.set(ctx.key, 'compensated');
      }
    },
  },
});

const ingress = createRestateIngress({ url: restate.ingressUrl });
const call = (key: string, handler: string, more: Partial<RestateSend> = {}): RestateSend => ({
  service,
  key,
  handler,
  payload: { hello: 'world' },
  idempotencyKey: `${names.id}-${key}`,
  envelope,
  ...more,
});

let endpoint: RestateEndpoint;
beforeAll(async () => {
  endpoint = await createRestateEndpoint({
    services: [probe],
    identityKeys: [restate.identityPublicKey],
    port: 0,
    log,
  });
  // Restate may still know another process that used this port before.
  const registered = await registerDeployment(restate.adminUrl, endpoint.url, { replace: true });
  deployments.add(registered.deploymentId);
});
// The server outlives the test and would retry pending calls forever at an address that no longer exists.
const scheduled: string[] = [];
const deployments = new Set<string>();
afterAll(async () => {
  for (const id of scheduled) await fetch(`${restate.adminUrl}/invocations/${id}/kill`, { method: 'PATCH' });
  for (const id of deployments) {
    await fetch(`${restate.adminUrl}/deployments/${id}?force=true`, { method: 'DELETE' });
  }
  await endpoint.close();
});

/** Calls the endpoint as any process on the machine could. */
async function direct(path: string, headers: Record<string, string>): Promise<number> {
  const session = connect(endpoint.url);
  try {
    return await new Promise<number>((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      stream.on('response', (response) => resolve(Number(response[constants.HTTP2_HEADER_STATUS])));
      stream.on('error', reject);
      stream.end();
    });
  } finally {
    session.destroy();
  }
}

describe('ingress.send', () => {
  it('delivers a call once with its payload and envelope, however often it is sent', async () => {
    const first = await ingress.send(call('once', 'record'));
    const second = await ingress.send(call('once', 'record'));
    expect([first.repeated, second.repeated]).toEqual([false, true]);
    expect(second.invocationId).toBe(first.invocationId);
    await eventually({ what: 'the call' }, () => calls.some(({ key }) => key === 'once'));
    expect(calls.filter(({ key }) => key === 'once')).toEqual([
      { key: 'once', payload: { hello: 'world' }, envelope },
    ]);
  });

  it('accepts keys with characters that are special in a URL', async () => {
    const key = 'a/b ?c#d%2F';
    await ingress.send(call(key, 'record'));
    await eventually({ what: 'the call' }, () => calls.some((seen) => seen.key === key));
  });

  it('delays a call by the requested time', async () => {
    const later = await ingress.send(call('later', 'record', { delayMs: 3_600_000 }));
    scheduled.push(later.invocationId);
    await ingress.send(call('now', 'record'));
    await eventually({ what: 'the other call' }, () => calls.some(({ key }) => key === 'now'));
    expect(calls.some(({ key }) => key === 'later')).toBe(false);
  });

  it('fails with the status of the response for a service that is not registered', async () => {
    const failure = await ingress
      .send(call('x', 'record', { service: names.restateService('Nobody') }))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RestateIngressError);
    expect(failure).toMatchObject({ status: 404 });
  });
});

describe('step', () => {
  it('is tried up to its limit, then its handler compensates', async () => {
    await ingress.send(call('doomed', 'failForGood'));
    await eventually({ what: 'compensation' }, () => outcomes.get('doomed') === 'compensated');
    expect(attempts.get('doomed')).toBe(3);
  });

  it('aborts an attempt that hangs and counts it as failed', async () => {
    await ingress.send(call('hanging', 'hang'));
    await eventually({ what: 'compensation' }, () => outcomes.get('hanging') === 'compensated');
    expect(attempts.get('hanging')).toBe(2);
  });

  it('throws without a limit of attempts', () => {
    const ctx = { run: () => expect.fail('must not run'), request: () => expect.fail('must not run') };
    expect(() => step(ctx, 'endless', { maxAttempts: 0, timeoutMs: 1 }, async () => undefined)).toThrow(
      RangeError,
    );
  });
});

describe('createRestateEndpoint', () => {
  it('listens only on loopback', () => {
    expect(endpoint.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.each<[string, Record<string, string>]>([
    ['no signature', {}],
    ['a scheme without a token', { 'x-restate-signature-scheme': 'v1' }],
    ['the scheme that means "unsigned"', { 'x-restate-signature-scheme': 'unsigned' }],
    [
      'an unsigned token',
      {
        'x-restate-signature-scheme': 'v1',
        'x-restate-jwt-v1': `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')}.e30.`,
      },
    ],
  ])('refuses a request with %s', async (_, headers) => {
    const before = calls.length;
    const content = { 'content-type': 'application/vnd.restate.invocation.v5', ...headers };
    expect(await direct(`/invoke/${service}/record`, content)).toBe(401);
    expect(await direct('/discover', headers)).toBe(401);
    expect(calls.length).toBe(before);
  });

  it('throws without an identity key', async () => {
    await expect(
      createRestateEndpoint({ services: [probe], identityKeys: [], port: 0, log }),
    ).rejects.toThrow('at least one identity key');
  });

  it('can be registered repeatedly', async () => {
    const again = await registerDeployment(restate.adminUrl, endpoint.url);
    const third = await registerDeployment(restate.adminUrl, endpoint.url);
    expect(third.deploymentId).toBe(again.deploymentId);
    expect(third.services).toEqual([service]);
    await registerDeployment(restate.adminUrl, endpoint.url, { replace: true });
  });

  it('closes in time although Restate keeps its connection open', async () => {
    const other = await createRestateEndpoint({
      services: [object({ name: names.restateService('Other'), handlers: { noop: async () => undefined } })],
      identityKeys: [restate.identityPublicKey],
      port: 0,
      log,
    });
    deployments.add((await registerDeployment(restate.adminUrl, other.url)).deploymentId);
    await other.close();
    await expect(fetch(other.url)).rejects.toThrow();
  });

  it('logs no error for a handler that is still running when the drain time ends', async () => {
    const lines: { readonly level: string; readonly message: string }[] = [];
    const record = (level: string) => (_fields: object, message: string) =>
      void lines.push({ level, message });
    const started = Promise.withResolvers<void>();
    const slow = names.restateService('Slow');
    const other = await createRestateEndpoint({
      services: [
        object({
          name: slow,
          handlers: {
            wait: async (ctx: ObjectContext) => {
              started.resolve();
              await ctx.run('wait', () => new Promise<void>(() => undefined));
            },
          },
        }),
      ],
      identityKeys: [restate.identityPublicKey],
      port: 0,
      drainMs: 50,
      log: {
        debug: record('debug'),
        info: record('info'),
        warn: record('warn'),
        error: record('error'),
      } as Parameters<typeof createRestateEndpoint>[0]['log'],
    });
    deployments.add((await registerDeployment(restate.adminUrl, other.url)).deploymentId);
    const { invocationId } = await ingress.send({ ...call('slow', 'wait'), service: slow });
    scheduled.push(invocationId);
    await started.promise;
    await other.close();
    await eventually({ what: 'the line of the interrupted handler', timeoutMs: 30_000 }, async () =>
      lines.some(({ message }) => message.includes('interrupted by shutdown')),
    );
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('installations that share a Restate', () => {
  it('have separate services by a prefix that handlers and callers do not see', async () => {
    const received: string[] = [];
    const listen = async (installation: string) => {
      const each = object({
        name: 'Probe',
        handlers: {
          record: async (ctx: ObjectContext) => {
            await step(ctx, 'note', { maxAttempts: 3, timeoutMs: 1_000 }, async () => {
              received.push(`${installation} ${ctx.key}`);
            });
          },
        },
      });
      const prefix = `${installation}${names.id}`;
      const served = await createRestateEndpoint({
        services: [each],
        prefix,
        identityKeys: [restate.identityPublicKey],
        port: 0,
        log,
      });
      const { deploymentId } = await registerDeployment(restate.adminUrl, served.url, { replace: true });
      const into = createRestateIngress({ url: restate.ingressUrl, prefix });
      return { served, deploymentId, into };
    };
    const [one, two] = [await listen('one'), await listen('two')];
    await one.into.send(call('first', 'record', { service: 'Probe', idempotencyKey: `${names.id}-p1` }));
    await two.into.send(call('second', 'record', { service: 'Probe', idempotencyKey: `${names.id}-p2` }));
    await eventually({ what: 'both heard' }, async () => received.length === 2);
    expect(received.toSorted()).toEqual(['one first', 'two second']);
    for (const { served, deploymentId } of [one, two]) {
      await unregisterDeployment(deploymentId);
      await served.close();
    }
  });
});

describe('deployments of releases', () => {
  const own = names.restateService('Releases');
  const admin = { url: restate.adminUrl };
  const read = () => readDeployments(admin, (name) => name === own);
  const waits = object({ name: own, handlers: { wait: async (ctx: ObjectContext) => ctx.sleep(60_000) } });

  it('are separate at one address, and new calls go to the one that was registered or replaced last', async () => {
    const served = await createRestateEndpoint({
      services: [waits],
      identityKeys: [restate.identityPublicKey],
      port: 0,
      log,
    });
    const [older, newer] = ['1.0.0-aaa', '1.1.0-bbb'].map((release) => releaseAddress(served.url, release));
    const register = (uri = '', replace = false) => registerDeployment(restate.adminUrl, uri, { replace });
    const latest = async () =>
      (await read()).filter(({ isLatest }) => isLatest).map(({ release }) => release);
    await register(older);
    await ingress.send({ ...call('pinned', 'wait'), service: own });
    await eventually({ what: 'the call to start' }, async () => (await read())[0]?.unfinished === 1);
    await register(newer);
    expect(await latest()).toEqual(['1.1.0-bbb']);
    await register(older);
    expect(await latest()).toEqual(['1.1.0-bbb']);
    await register(older, true);
    expect(await latest()).toEqual(['1.0.0-aaa']);
    const unfinished = (await read()).map((each) => `${each.release ?? ''}: ${each.unfinished}`);
    expect(unfinished.toSorted()).toEqual(['1.0.0-aaa: 1', '1.1.0-bbb: 0']);

    // The call would otherwise wait for the address of a release that has ended.
    for (const { id } of await read()) {
      await removeDeployment(admin, id);
      await removeDeployment(admin, id);
    }
    expect(await read()).toEqual([]);
    const query = `select id from sys_invocation where target_service_name = '${own}' and status <> 'completed'`;
    const response = await fetch(`${restate.adminUrl}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query }),
    });
    expect(await response.json()).toEqual({ rows: [] });
    await served.close();
  });

  it('cannot be registered through a worker of another release, which serves calls of both', async () => {
    const served = await createRestateEndpoint({
      services: [waits],
      identityKeys: [restate.identityPublicKey],
      port: 0,
      release: '1.0.0-aaa',
      log,
    });
    const [older = '', newer = ''] = ['1.0.0-aaa', '1.1.0-bbb'].map((release) =>
      releaseAddress(served.url, release),
    );
    await expect(registerDeployment(restate.adminUrl, newer)).rejects.toThrow(/503|deadline/);
    expect(await read()).toEqual([]);
    await registerDeployment(restate.adminUrl, older);
    expect(await read()).toMatchObject([{ release: '1.0.0-aaa' }]);
    for (const { id } of await read()) await removeDeployment(admin, id);
    await served.close();
  });

  it('without a name are those of releases up to 0.2.0', async () => {
    const found = await readDeployments(admin, (name) => name === service);
    expect(found).toMatchObject([{ release: null, isLatest: true }]);
  });
});
