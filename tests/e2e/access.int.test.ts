import {
  contract,
  errorRegistry,
  operationsOf,
  pendingOperations,
  processOf,
  type Operation,
} from '@millrace/contract';
import type { CallResponse } from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { accessRows, type AccessRow } from './access.rows.ts';
import { callOperation, keyWithout, startHarness, type CallInput } from './harness.ts';

// Who may do what, over every operation of the contract. If you are here because an operation has no row: you
// have added one. Do not list it as an exception; write its row in access.rows.ts, so that strangers stay out.

const harness = await startHarness();
afterAll(() => harness.fixture[Symbol.asyncDispose]());

// Gateways have a test of their own: they take keys from their book and answer in another shape.
const all = operationsOf(contract).filter((operation) => processOf(operation) === 'api');
const pending = all.filter(({ id }) => Object.hasOwn(pendingOperations, id));
const served = all.filter(({ id }) => !Object.hasOwn(pendingOperations, id));

const rowOf = ({ id }: Operation): AccessRow => {
  const row = (accessRows as Readonly<Record<string, AccessRow>>)[id];
  if (row === undefined)
    throw new Error(`${id} has no row in tests/e2e/access.rows.ts: say there how its owner calls it.`);
  return row;
};

const callerOf = (row: AccessRow) => (row.caller === 'operator' ? harness.operator : harness.acme);

/** Any value for each path parameter: enough for calls that must be refused before anyone looks. */
const placeholders = (operation: Operation): CallInput => ({
  params: Object.fromEntries([...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, '1'])),
  ...(operation.method === 'POST' ? { body: {} } : {}),
});

test('what the api really serves is the contract less the list of pending operations', () => {
  const reallyServed = [...harness.fixture.api.server.served()].toSorted();
  expect(reallyServed).toEqual(served.map(({ id }) => id).toSorted());
});

// Operations of people take no key: access-sessions.int.test.ts has their rows.
const takingKeys = served.filter(({ auth }) => auth !== 'person');

test('every served operation has a row, and no row is left of one that is gone', () => {
  expect(Object.keys(accessRows).toSorted()).toEqual(takingKeys.map(({ id }) => id).toSorted());
});

describe.each(takingKeys.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
  test('its owner succeeds: the control without which the refusals prove nothing', async () => {
    const row = rowOf(operation);
    const response = await callOperation(harness, operation, await row.own(harness), callerOf(row).owner.key);
    expect([response.status, response.text]).toEqual([operation.response.status, response.text]);
  });

  test('without a key it answers 401, on every path it has', async () => {
    if (operation.auth === 'none') {
      // Open to everyone by design: then it must really need no key.
      const response = await callOperation(
        harness,
        operation,
        await rowOf(operation).own(harness),
        undefined,
      );
      expect(response.status).toBe(operation.response.status);
      return;
    }
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const response = await callOperation(harness, operation, placeholders(operation), undefined, path);
      expect([response.status, response.json.reason]).toEqual([401, 'MISSING_API_KEY']);
    }
  });

  test('without its scope it answers 403, and changes nothing', async () => {
    const row = rowOf(operation);
    if (operation.scope === null) {
      // Open to every key by design: then a key with a single unrelated scope must be enough.
      const response = await callOperation(harness, operation, await row.own(harness), await poorKey());
      expect(response.status).toBe(operation.response.status);
      return;
    }
    const input = await row.own(harness);
    const poorer = await keyWithout(harness, callerOf(row), operation.scope);
    const refused = await callOperation(harness, operation, input, poorer);
    expect([refused.status, refused.json.reason]).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const control = await callOperation(harness, operation, input, callerOf(row).owner.key);
    expect(control.status).toBe(operation.response.status);
  });

  test('absent and foreign ids answer byte for byte the same', async () => {
    const row = rowOf(operation);
    const names = Object.keys(operation.params?.shape ?? {});
    if (row.others === 'none') {
      if (operation.auth === 'key') expect(names, 'ids in a path need others').toEqual([]);
      return;
    }
    const key = callerOf(row).owner.key;
    const absent = await callOperation(harness, operation, row.others.absent, key);
    const reason = operation.notFoundReason;
    if (reason === undefined) throw new Error(`${operation.id} does not say what an absent id answers`);
    const { status, interfaceStatus } = errorRegistry[reason];
    const { source, errorFamily } = operation;
    const isOfV2 = source === 'interface' && errorFamily === 'v2';
    const expected = isOfV2 ? (interfaceStatus ?? status) : status;
    expect([absent.status, absent.json.reason]).toEqual([expected, reason]);
    if (row.others.foreign === 'operators see all') return;
    const input = await row.others.foreign(harness);
    const foreign = await callOperation(harness, operation, input, key);
    expect(visible(foreign)).toEqual(visible(absent));
    const control = await callOperation(harness, operation, input, harness.other.owner.key);
    expect([control.status, control.text]).toEqual([operation.response.status, control.text]);
  });
});

test('operations that are not built yet keep the door all the same', async () => {
  for (const operation of pending.filter(({ auth }) => auth === 'key')) {
    const input = placeholders(operation);
    const none = await callOperation(harness, operation, input, undefined);
    expect(none.status, operation.id).toBe(401);
    if (operation.scope === null) continue;
    const refused = await callOperation(harness, operation, input, await poorKey());
    expect(refused.status, operation.id).toBe(403);
  }
});

let poorKeyMade: Promise<string> | undefined;

/** A key that holds one scope, which no operation without a scope and no pending operation asks for. */
function poorKey(): Promise<string> {
  poorKeyMade ??= (async () => {
    const body = { name: 'almost nothing', scopes: ['ssh-keys:read'] };
    const made = await callOperation(
      harness,
      contract.operations.createApiKey,
      { body },
      harness.acme.owner.key,
    );
    return made.json.key as string;
  })();
  return poorKeyMade;
}

/** All that a caller can compare: the status, the body and the headers, less what differs on every call. */
function visible(response: CallResponse): unknown {
  const always = new Set(['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining-requests']);
  const headers = Object.entries(response.headers).filter(
    ([name]) => !always.has(name) && !name.startsWith('x-ratelimit-reset'),
  );
  const requestId = String(response.json.requestId ?? response.json.request_id);
  expect(requestId).toMatch(/^req_/);
  return { status: response.status, body: response.text.replace(requestId, 'req'), headers };
}
