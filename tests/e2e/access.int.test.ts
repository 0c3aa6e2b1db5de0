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

// Checks who may call every operation of the contract. If you are here because a new operation has no row: add its row to
// access.rows.ts instead of an exception, so that unauthorised callers stay out.

const harness = await startHarness();
afterAll(() => harness.fixture[Symbol.asyncDispose]());

// Operations of the gateway have their own test: it authenticates from the key feed and uses other error bodies.
const all = operationsOf(contract).filter((operation) => processOf(operation) === 'api');
const pending = all.filter(({ id }) => Object.hasOwn(pendingOperations, id));
const served = all.filter(({ id }) => !Object.hasOwn(pendingOperations, id));

const rowOf = ({ id }: Operation): AccessRow => {
  const row = (accessRows as Readonly<Record<string, AccessRow>>)[id];
  if (row === undefined)
    throw new Error(`${id} has no row in tests/e2e/access.rows.ts: Describe there how its owner calls it.`);
  return row;
};

const callerOf = (row: AccessRow) => (row.caller === 'operator' ? harness.operator : harness.acme);

/** Placeholder path parameters, for calls that must be refused before ids are looked up. */
const placeholders = (operation: Operation): CallInput => ({
  params: Object.fromEntries([...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, '1'])),
  ...(operation.method === 'POST' ? { body: {} } : {}),
});

test('the api serves exactly the operations of the contract that are not pending', () => {
  const reallyServed = [...harness.fixture.api.server.served()].toSorted();
  expect(reallyServed).toEqual(served.map(({ id }) => id).toSorted());
});

// Operations of session users accept no keys; access-sessions.int.test.ts has their rows.
const takingKeys = served.filter(({ auth }) => auth !== 'person');

test('every served operation has an access row, and every row has an operation', () => {
  expect(Object.keys(accessRows).toSorted()).toEqual(takingKeys.map(({ id }) => id).toSorted());
});

describe.each(takingKeys.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
  test('succeeds for its owner, as the control for the refusals', async () => {
    const row = rowOf(operation);
    const response = await callOperation(harness, operation, await row.own(harness), callerOf(row).owner.key);
    expect([response.status, response.text]).toEqual([operation.response.status, response.text]);
  });

  test('responds 401 without a key, on every path and alias', async () => {
    if (operation.auth === 'none') {
      // Public by design: it must succeed without a key.
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

  test('responds 403 without its scope and changes nothing', async () => {
    const row = rowOf(operation);
    if (operation.scope === null) {
      // Open to every key by design: a key with one unrelated scope must be enough.
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

  test('responds byte for byte the same for absent and foreign ids', async () => {
    const row = rowOf(operation);
    const names = Object.keys(operation.params?.shape ?? {});
    if (row.others === 'none') {
      if (operation.auth === 'key') expect(names, 'ids in a path need others').toEqual([]);
      return;
    }
    const key = callerOf(row).owner.key;
    const absent = await callOperation(harness, operation, row.others.absent, key);
    const reason = operation.notFoundReason;
    if (reason === undefined) throw new Error(`${operation.id} declares no error reason for an absent id`);
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

test('pending operations also refuse calls without a key or scope', async () => {
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

/** A key with one scope, which neither operations without a scope nor pending operations require. */
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

/** Everything that a caller can compare: status, body and headers, without values that differ on every call. */
function visible(response: CallResponse): unknown {
  const always = new Set(['date', 'x-request-id', 'ratelimit', 'x-ratelimit-remaining-requests']);
  const headers = Object.entries(response.headers).filter(
    ([name]) => !always.has(name) && !name.startsWith('x-ratelimit-reset'),
  );
  const requestId = String(response.json.requestId ?? response.json.request_id);
  expect(requestId).toMatch(/^req_/);
  return { status: response.status, body: response.text.replace(requestId, 'req'), headers };
}
