import { randomInt } from 'node:crypto';
import { contract, operationsOf, processOf } from '@millrace/contract';
import { newReadinessKey } from '@millrace/compute/readiness';
import { eventually } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mockProviders, openMockStack, type MockStack } from '../stack/mock-stack.ts';

/** A demo as real processes: live keys rent mock machines for play money. */

const region = 'us-central-1';
let stack: MockStack;

beforeAll(async () => {
  stack = await openMockStack({
    env: {
      MILLRACE_DEMO: 'true',
      MILLRACE_PROVIDERS: JSON.stringify([...mockProviders(), liveMockProvider()]),
    },
  });
});

afterAll(async () => stack[Symbol.asyncDispose]());

function liveMockProvider(): object {
  const firstAddress = `127.${randomInt(130, 240)}.${randomInt(1, 250)}.1`;
  return {
    ...{ id: 'demo', variant: 'V1', driver: 'mock', regions: [{ region }] },
    clusters: [{ name: 'demo-us', region, settings: { firstAddress } }],
  };
}

async function call(method: string, path: string, key: string, body?: unknown) {
  const response = await fetch(`${stack.apiUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const summary = `${method} ${path}: ${response.status} ${text}`;
  // oxlint-disable-next-line typescript/no-explicit-any -- the test asserts on any field of a response
  return { response, summary, json: (text === '' ? null : JSON.parse(text)) as any };
}

test('a live key rents a mock machine in a demo, is charged play money, and every response says so', async () => {
  const { liveKey, operatorKey } = stack;
  const price = {
    subject: { kind: 'gpu', gpuType: 'h100', machineType: 'virtual-machine', region: null },
    ...{ unit: 'gpu_hour', priceNanoUsd: '2000000000', validFrom: new Date().toISOString(), reason: 'demo' },
  };
  const priced = await call('POST', '/v2/admin/prices', operatorKey, price);
  expect(priced.response.status, priced.summary).toBe(201);
  const orgId = stack.organisation.organisation.id;
  const granted = await call('POST', `/v2/admin/organisations/${orgId}/grants`, operatorKey, {
    amountNanoUsd: '100000000000',
    reason: 'play money',
  });
  expect(granted.response.status, granted.summary).toBeLessThan(300);
  const { publicKey } = newReadinessKey();
  await call('POST', '/v2/ssh-public-keys', liveKey, { name: 'laptop', publicKey });
  await eventually({ what: 'free mock machines for live keys', timeoutMs: 60_000 }, async () => {
    const { json } = await call('GET', '/v2/on-demand/rental-options', liveKey);
    return json.items.some((item: { region: string; totalAvailable: number }) => item.totalAvailable > 0);
  });
  const order = { region, gpuType: 'h100', gpuCount: 1 };
  const created = await call('POST', '/v2/on-demand/virtual-machine-rentals', liveKey, order);
  expect(created.response.status, created.summary).toBe(200);
  const rental = `/v2/on-demand/rentals/${created.json.id}`;
  await eventually({ what: 'Running', timeoutMs: 60_000 }, async () => {
    const { json } = await call('GET', rental, liveKey);
    return json.status === 'Running';
  });
  const body = { rentalId: created.json.id, reason: 'done' };
  const ended = await call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', liveKey, body);
  expect(Number(ended.json.finalCost.nanoUsd), ended.summary).toBeGreaterThan(0);
  for (const { response } of [created, ended, await call('GET', '/v2/customer/balance', liveKey)]) {
    expect(response.headers.get('x-millrace-demo')).toBe('play money');
  }
});

test('the gateway and the public facts of a demo say that it is one', async () => {
  const models = await fetch(`${stack.gatewayUrl}/v1/models`, {
    headers: { authorization: `Bearer ${stack.testKey}` },
  });
  expect(models.headers.get('x-millrace-demo')).toBe('play money');
  const { json } = await call('GET', '/v2/installation', stack.liveKey);
  expect(json).toMatchObject({ demo: true });
});

test('every operation of a demo says that its amounts are play money, also in refusals', async () => {
  const reads = operationsOf(contract).filter(({ method }) => method === 'GET');
  expect(reads.length).toBeGreaterThan(50);
  const silent: string[] = [];
  for (const operation of reads) {
    const url = processOf(operation) === 'api' ? stack.apiUrl : stack.gatewayUrl;
    const path = operation.path.replaceAll(/\{[^}]+\}/g, '1');
    for (const key of [stack.liveKey, stack.operatorKey]) {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      await response.body?.cancel();
      if (response.headers.get('x-millrace-demo') !== 'play money') silent.push(operation.path);
    }
  }
  expect(silent).toEqual([]);
});
