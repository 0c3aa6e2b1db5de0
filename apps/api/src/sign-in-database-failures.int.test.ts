import { uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { openBrowser } from './browser.fixture.ts';
import { startApiFixture } from './api.fixture.ts';

// The sign-in library hides errors of the database. A ping succeeds in all of these cases.

const fixture = await startApiFixture({ signUp: 'open' });
afterAll(() => fixture[Symbol.asyncDispose]());

const { database } = fixture;
const password = 'correct horse battery';
const makeEmail = () => `person-${uniqueId()}@example.com`;
const unavailable = { status: 503, retryAfter: '1', reason: 'SERVICE_UNAVAILABLE' };

/** The owner's rights are those of a superuser, who may end the connection. */
const effects = {
  'the disk is full': `raise exception 'no space left on device' using errcode = 'disk_full'`,
  'the memory is exhausted': `raise exception 'out of memory' using errcode = 'out_of_memory'`,
  'the server is read-only': `raise exception 'read-only' using errcode = 'read_only_sql_transaction'`,
  'the connection is lost': 'perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(60)',
} as const;
type Effect = keyof typeof effects;

async function whileStatementFails<T>(statements: readonly string[], work: () => Promise<T>): Promise<T> {
  const [create = '', remove = ''] = statements;
  await database.query(create);
  try {
    return await work();
  } finally {
    await database.query(remove);
  }
}

function failingWrites(
  table: string,
  effect: Effect,
  at: 'the statement' | 'COMMIT',
  operation: 'insert' | 'delete' = 'insert',
): readonly string[] {
  const timing =
    at === 'COMMIT' ? `constraint trigger fail after ${operation} on` : `trigger fail before ${operation} on`;
  const deferred = at === 'COMMIT' ? 'deferrable initially deferred' : '';
  return [
    `create function fail() returns trigger language plpgsql security definer as $$
       begin ${effects[effect]}; return ${operation === 'insert' ? 'new' : 'old'}; end $$;
     create ${timing} ${table} ${deferred} for each row execute function fail()`,
    `drop trigger fail on ${table}; drop function fail()`,
  ];
}

function failingReads(table: string, effect: Effect): readonly string[] {
  return [
    `create function fail() returns boolean language plpgsql security definer as $$
       begin ${effects[effect]}; return true; end $$;
     create policy fail on ${table} using (fail());
     alter table ${table} enable row level security`,
    `alter table ${table} disable row level security; drop policy fail on ${table}; drop function fail()`,
  ];
}

type Browser = ReturnType<typeof openBrowser>;

async function outcomeOf(response: ReturnType<Browser['post']>) {
  const { status, headers, json } = await response;
  return { status, retryAfter: headers['retry-after'], reason: json.reason };
}

const signUp = (email: string) =>
  openBrowser(fixture).post('/auth/sign-up/email', { name: 'Ada', email, password });

const each = Object.keys(effects) as Effect[];

describe('while statements of the sign-in fail', () => {
  it.each(each)('a sign-in is answered as unavailable and works afterwards: %s', async (effect) => {
    const email = makeEmail();
    expect((await signUp(email)).status).toBe(200);
    const browser = openBrowser(fixture);
    const signIn = () => browser.post('/auth/sign-in/email', { email, password });
    const failed = await whileStatementFails(failingWrites('sessions', effect, 'the statement'), () =>
      outcomeOf(signIn()),
    );
    expect(failed).toEqual(unavailable);
    expect((await signIn()).status).toBe(200);
  });

  it.each(each)(
    'a sign-up, whose error the library hides, is answered as unavailable: %s',
    async (effect) => {
      const email = makeEmail();
      const failed = await whileStatementFails(failingWrites('users', effect, 'the statement'), () =>
        outcomeOf(signUp(email)),
      );
      expect(failed).toEqual(unavailable);
      expect((await signUp(email)).status).toBe(200);
    },
  );

  it('a sign-up whose COMMIT has an unknown result is answered as unavailable', async () => {
    const failed = await whileStatementFails(failingWrites('users', 'the connection is lost', 'COMMIT'), () =>
      outcomeOf(signUp(makeEmail())),
    );
    expect(failed).toEqual(unavailable);
    expect(fixture.logs()).toContain('It is not known whether the transaction was committed');
  });

  it.each(each)(
    'a request whose session cannot be read is answered as unavailable, not as signed out: %s',
    async (effect) => {
      const email = makeEmail();
      expect((await signUp(email)).status).toBe(200);
      const browser = openBrowser(fixture);
      expect((await browser.post('/auth/sign-in/email', { email, password })).status).toBe(200);
      const change = () =>
        browser.post('/auth/change-password', { currentPassword: password, newPassword: `${password} 2` });
      const failed = await whileStatementFails(failingReads('sessions', effect), () => outcomeOf(change()));
      expect(failed).toEqual(unavailable);
      expect((await change()).status).toBe(200);
    },
  );

  it.each(each)(
    'a sign-out that cannot delete the session is answered as unavailable: %s',
    async (effect) => {
      const email = makeEmail();
      expect((await signUp(email)).status).toBe(200);
      const browser = openBrowser(fixture);
      expect((await browser.post('/auth/sign-in/email', { email, password })).status).toBe(200);
      const signOut = () => browser.post('/auth/sign-out', {});
      const failed = await whileStatementFails(
        failingWrites('sessions', effect, 'the statement', 'delete'),
        () => outcomeOf(signOut()),
      );
      expect(failed).toEqual(unavailable);
      expect((await signOut()).status).toBe(200);
    },
  );
});
