import {
  contract,
  operationsOf,
  pendingOperations,
  processOf,
  roleNames,
  scopesOf,
  type Operation,
  type Role,
} from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { testIds, type CallResponse } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SignedIn } from '../../apps/api/src/users.fixture.ts';
import { personRows, createSignedInPerson, type PersonRow } from './access.account.rows.ts';
import { accessRows, type AccessRow } from './access.rows.ts';
import { callOperation, startHarness, type CallInput, type Harness } from './harness.ts';

// Checks what signed-in users may do, for every operation of the contract and every role, with the rows of access.int.test.ts.

const roles: readonly Role[] = roleNames;
let harness: Harness;
let persons: ReadonlyMap<Role, SignedIn>;
let owners: { readonly acme: SignedIn; readonly other: SignedIn; readonly operator: SignedIn };
let outsider: SignedIn;

beforeAll(async () => {
  harness = await startHarness();
  const { fixture, acme, other, operator } = harness;
  const made = new Map<Role, SignedIn>();
  for (const role of roles) made.set(role, await fixture.signInAs((await acme.addPerson(role)).userId));
  persons = made;
  owners = {
    acme: await fixture.signInAs(acme.owner.userId),
    other: await fixture.signInAs(other.owner.userId),
    operator: await fixture.signInAs(operator.owner.userId),
  };
  outsider = await fixture.signInAs(other.owner.userId);
});
afterAll(() => harness.fixture[Symbol.asyncDispose]());

const served = operationsOf(contract).filter(
  (operation) => processOf(operation) === 'api' && !Object.hasOwn(pendingOperations, operation.id),
);
const ofOrganisations = served.filter(({ auth }) => auth === 'key');
const ofPeople = served.filter(({ auth }) => auth === 'person');

function organisationRowOf({ id }: Operation): AccessRow {
  const row = (accessRows as Readonly<Record<string, AccessRow>>)[id];
  if (row === undefined) throw new Error(`${id} has no row in tests/e2e/access.rows.ts`);
  return row;
}

function rowOf({ id }: Operation): PersonRow {
  const row = (personRows as Readonly<Record<string, PersonRow>>)[id];
  if (row === undefined) throw new Error(`${id} has no row in tests/e2e/access.account.rows.ts`);
  return row;
}

/** Placeholder path parameters, for calls that must be refused before ids are looked up. */
const placeholders = (operation: Operation): CallInput => ({
  params: Object.fromEntries([...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, '1'])),
  ...(operation.method === 'POST' ? { body: {} } : {}),
});

const callAs = (
  operation: Operation,
  input: CallInput,
  headers: Readonly<Record<string, string>>,
): Promise<CallResponse> =>
  callOperation(harness, operation, { ...input, headers: { ...input.headers, ...headers } }, undefined);

const outcome = ({ status, json }: CallResponse) => [status, json?.reason];

function personOf(role: Role): SignedIn {
  const person = persons.get(role);
  if (person === undefined) throw new Error(`no user has the role ${role}`);
  return person;
}

/** Owners and admins of a supplier organisation also have the supplier scopes. */
function mayDo(role: Role, { scope }: Operation): boolean {
  const supplies = role === 'owner' || role === 'admin';
  return scope === null || scopesOf(role, supplies ? ['supplier'] : []).includes(scope);
}

describe.each(ofOrganisations.map((operation) => [operation.id, operation] as const))(
  '%s',
  (_, operation) => {
    test('accepts a session exactly if its role has the scope', async () => {
      for (const role of roles) {
        const headers = personOf(role).headers(harness.acme.organisation.id);
        const response = await callAs(operation, placeholders(operation), headers);
        const refused = response.status === 403 && response.json.reason === 'INSUFFICIENT_SCOPE';
        expect([role, refused]).toEqual([role, !mayDo(role, operation)]);
        if (refused) expect(response.json.message).not.toContain('API key');
      }
    });

    test('succeeds with a session of the owner', async () => {
      const row = organisationRowOf(operation);
      const isOperator = row.caller === 'operator';
      const who: SeededOrganisation = isOperator ? harness.operator : harness.acme;
      const session = isOperator ? owners.operator : owners.acme;
      const response = await callAs(operation, await row.own(harness), session.headers(who.organisation.id));
      expect([response.status, response.text]).toEqual([operation.response.status, response.text]);
    });

    test('refuses a session for an organisation of which the user is not a member', async () => {
      const input = placeholders(operation);
      const foreign = await callAs(operation, input, outsider.headers(harness.acme.organisation.id));
      const absent = await callAs(operation, input, outsider.headers(testIds.next('org')));
      expect(outcome(foreign)).toEqual([403, 'NOT_A_MEMBER']);
      expect(less(foreign)).toEqual(less(absent));
    });

    test('hides resources of another organisation from a session', async () => {
      const { others } = organisationRowOf(operation);
      if (others === 'none' || others.foreign === 'operators see all') return;
      const headers = owners.acme.headers(harness.acme.organisation.id);
      const foreign = await callAs(operation, await others.foreign(harness), headers);
      const absent = await callAs(operation, others.absent, headers);
      expect(foreign.status).toBeGreaterThanOrEqual(400);
      expect(less(foreign)).toEqual(less(absent));
    });

    test('requires a valid session, an organisation and a same-origin request', async () => {
      const input = placeholders(operation);
      const own = owners.acme.headers(harness.acme.organisation.id);
      const { cookie = '' } = own;
      const anonymous = { 'millrace-organisation': harness.acme.organisation.id };
      expect(outcome(await callAs(operation, input, anonymous))).toEqual([401, 'SESSION_ENDED']);
      expect(outcome(await callAs(operation, input, owners.acme.headers()))).toEqual([
        400,
        'ORGANISATION_REQUIRED',
      ]);
      expect(outcome(await callAs(operation, input, { ...own, 'sec-fetch-site': 'cross-site' }))).toEqual([
        403,
        'CROSS_SITE_REQUEST',
      ]);
      expect(outcome(await callAs(operation, input, { ...anonymous, cookie }))).toEqual([
        403,
        'CROSS_SITE_REQUEST',
      ]);
    });
  },
);

describe.each(ofPeople.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
  test('requires a session and refuses API keys', async () => {
    const input = placeholders(operation);
    const byKey = await callOperation(harness, operation, input, harness.acme.owner.key);
    expect(outcome(byKey)).toEqual([403, 'PERSON_REQUIRED']);
    expect(outcome(await callOperation(harness, operation, input, undefined))).toEqual([
      401,
      'SESSION_ENDED',
    ]);
  });

  test('succeeds without an organisation, with the session cookie and with the token', async () => {
    for (const how of ['headers', 'bearer'] as const) {
      const person = await createSignedInPerson(harness);
      const response = await callAs(
        operation,
        await rowOf(operation).own(harness, person),
        person.session[how](),
      );
      expect([response.status, response.text]).toEqual([operation.response.status, response.text]);
    }
  });

  test('responds identically for ids of other users and absent ids', async () => {
    const { own, others } = rowOf(operation);
    const names = Object.keys(operation.params?.shape ?? {});
    if (others === 'none') {
      expect(names, 'ids in a path need others').toEqual([]);
      return;
    }
    const [mine, theirs] = [await createSignedInPerson(harness), await createSignedInPerson(harness)];
    const foreign = await callAs(operation, await own(harness, theirs), mine.session.headers());
    const absent = await callAs(operation, others.absent, mine.session.headers());
    expect(outcome(absent)).toEqual([404, operation.notFoundReason]);
    expect(less(foreign)).toEqual(less(absent));
  });

  test('refuses cross-site requests', async () => {
    const { cookie = '' } = owners.acme.headers();
    const refused = await callAs(operation, placeholders(operation), {
      cookie,
      'sec-fetch-site': 'same-site',
    });
    expect(outcome(refused)).toEqual([403, 'CROSS_SITE_REQUEST']);
  });
});

test('every operation of session users has an access row', () => {
  expect(Object.keys(personRows).toSorted()).toEqual(ofPeople.map(({ id }) => id).toSorted());
});

/** The response without its request id, which differs on every call. */
function less({ status, text, json }: CallResponse): unknown {
  return { status, body: text.replace(String(json.requestId ?? json.request_id), 'req') };
}
