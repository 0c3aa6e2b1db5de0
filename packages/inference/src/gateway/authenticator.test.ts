import { contract, isPending, operationsOf, processOf, type Operation } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import { afterAll, describe, expect, test } from 'vitest';
import { createGatewayHarness } from './gateway.fixture.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { gatewayRoutes } from './gateway-routes.ts';

// Tests authorization for every operation that the contract assigns to gateways. The api has the same test.

const operations = operationsOf(contract).filter(
  (operation) => processOf(operation) === 'gateway' && !isPending(operation.id),
);
const pathsOf = ({ path, aliases = [] }: Operation): string[] =>
  [path, ...aliases].map((each) => each.replaceAll(/\{\w+\}/g, 'acme%2Fchat'));

const harness = await createGatewayHarness({ models: [] });
afterAll(() => harness.close());

const send = (operation: Operation, path: string, key?: string): Promise<Response> =>
  fetch(`${harness.url}${path}`, {
    method: operation.method,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    ...(operation.method === 'POST' ? { body: '{}' } : {}),
  });

test('gateway routes are exactly the operations that the contract assigns to gateways', () => {
  const routes = gatewayRoutes({ clock: systemClock } as GatewayDeps, contract.schemas);
  const served = (method: string, path: string) =>
    routes.filter(
      (route) =>
        route.method === method &&
        (typeof route.path === 'string' ? route.path === path : route.path.test(path)),
    );
  const found = operations.flatMap((operation) =>
    pathsOf(operation).map((path) => {
      const matching = served(operation.method, path);
      expect([path, matching.map(({ scope }) => scope)]).toEqual([path, [operation.scope]]);
      return matching[0];
    }),
  );
  expect(new Set(found).size).toBe(routes.length);
});

describe.each(operations.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
  test.each(pathsOf(operation))('refuses a missing or malformed key on %s', async (path) => {
    for (const key of [undefined, 'nonsense', `mr_live_${'0'.repeat(12)}_${'0'.repeat(38)}`]) {
      const response = await send(operation, path, key);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ object: 'error', code: 401 });
    }
  });

  test.each(pathsOf(operation))('refuses a key without the scope on %s', async (path) => {
    const entries = [...harness.feed.keys];
    for (const [publicId, entry] of entries) {
      harness.feed.keys.set(publicId, {
        ...entry,
        scopes: entry.scopes.filter((scope) => scope !== operation.scope),
      });
    }
    const response = await send(operation, path, harness.key);
    for (const [publicId, entry] of entries) harness.feed.keys.set(publicId, entry);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: 'insufficient_scope' } });
  });

  test('refuses another method', async () => {
    const [path = ''] = pathsOf(operation);
    const response = await fetch(`${harness.url}${path}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${harness.key}` },
    });
    expect([404, 405]).toContain(response.status);
  });
});
