import { seedOrganisation } from '@millrace/core/fixture';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApiFixture, type ApiFixture } from '../../apps/api/src/api.fixture.ts';
import { fixturePublicUrl, type SignedIn } from '../../apps/api/src/users.fixture.ts';
import { PROFILES_PATH, runCli } from '../../apps/cli/src/fixture.ts';
import { auditLedger, closeAll } from '../stack/ledger-audit.ts';

/** `millrace login` against the sign-in, sessions and keys of the real api. */

let fixture: ApiFixture;
let apiUrl: string;
beforeAll(async () => {
  fixture = await startApiFixture();
  const { host, port } = await fixture.api.server.listen({ host: '127.0.0.1', port: 0 });
  apiUrl = `http://${host}:${port}`;
});
afterAll(() => closeAll([() => fixture[Symbol.asyncDispose](), () => auditLedger(fixture.db)]));

/** Does what the console's page does with an entered code. */
async function submitCode(session: SignedIn, verb: 'approve' | 'deny', userCode: string): Promise<void> {
  const headers = { ...session.headers(), origin: fixturePublicUrl };
  const shown = await fixture.call({
    method: 'GET',
    path: `/auth/device?user_code=${userCode}`,
    headers,
  });
  expect([shown.status, shown.text]).toEqual([200, shown.text]);
  const done = await fixture.call({
    method: 'POST',
    path: `/auth/device/${verb}`,
    headers,
    body: { userCode },
  });
  expect([done.status, done.text]).toEqual([200, done.text]);
}

/** Runs the command and enters the code as soon as it is issued. */
async function login(args: readonly string[], session: SignedIn, verb: 'approve' | 'deny' = 'approve') {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (response.url.endsWith('/auth/device/code')) {
      const { user_code: userCode } = (await response.clone().json()) as { user_code: string };
      await submitCode(session, verb, userCode);
    }
    return response;
  };
  // The api compares the key's expiry with its own clock.
  const now = new Date().toISOString();
  return runCli(['login', ...args], { apiKey: null, apiUrl, fetch, tty: true, env: {}, now });
}

test('login saves a key after the code is approved in a browser, and leaves no session', async () => {
  const { organisation, owner } = await seedOrganisation(fixture.db);
  const browser = await fixture.signInAs(owner.userId);
  const run = await login(['--mode', 'test', '--json'], browser);
  expect([run.code, run.stderr]).toEqual([0, run.stderr]);
  expect(run.json()).toMatchObject({ organisation: organisation.id, mode: 'test' });
  const saved = JSON.parse(String(run.files[PROFILES_PATH])) as {
    profiles: Record<string, { apiKey: string }>;
  };
  const { apiKey = '' } = saved.profiles['default'] ?? {};
  expect(apiKey).toMatch(/^mr_test_/);

  const me = await fixture.call({ method: 'GET', path: '/v2/me', key: apiKey });
  expect([me.status, me.json.user.id, me.json.key.name]).toEqual([200, owner.userId, 'millrace on laptop']);
  const sessions = await fixture.call({ method: 'GET', path: '/v2/me/sessions', headers: browser.headers() });
  expect(sessions.json.items.map(({ id }: { id: string }) => id)).toEqual([browser.sessionId]);

  const later = await runCli(['whoami', '--json'], {
    ...{ apiKey: null, fetch: globalThis.fetch, files: run.files, env: { MILLRACE_API_URL: '' } },
  });
  expect([later.code, later.json().organisation.id]).toEqual([0, organisation.id]);
});

test('login saves nothing after the code is declined', async () => {
  const { owner } = await seedOrganisation(fixture.db);
  const browser = await fixture.signInAs(owner.userId);
  const run = await login([], browser, 'deny');
  expect([run.code, run.files]).toEqual([4, {}]);
  expect(run.stderr).toContain('You declined the sign-in in the browser.');
  const sessions = await fixture.call({ method: 'GET', path: '/v2/me/sessions', headers: browser.headers() });
  expect(sessions.json.items).toHaveLength(1);
});
