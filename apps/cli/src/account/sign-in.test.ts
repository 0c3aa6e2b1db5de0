import { describe, expect, it } from 'vitest';
import { API_URL, fakeApi, PROFILES_PATH, errorResponse, runCli, type FakeRequest } from '../fixture.ts';

const loggedOut = { apiKey: null, tty: true } as const;
const madeKey = 'mr_live_abcdefghijkl_secret';
const token = 'A'.repeat(32);

const organisation = (slug: string) => ({
  id: `org_${slug}`,
  name: slug.toUpperCase(),
  slug,
  status: 'active',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
});
const membership = (slug: string) => ({ organisation: organisation(slug), role: 'owner', platformRoles: [] });
const me = {
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada', picture: null },
  organisation: organisation('lab'),
  role: 'owner',
  platformRoles: [],
  mode: 'live',
  scopes: ['rentals:read', 'rentals:write'],
  key: null,
};

const pending = () => Response.json({ error: 'authorization_pending' }, { status: 400 });
const allowed = () => Response.json({ access_token: token, token_type: 'Bearer' });

/** A service with a sign-in: `polls` are the responses to successive polls; the last one repeats. */
function service(
  polls: readonly (() => Response)[],
  more: Readonly<Record<string, (request: FakeRequest) => unknown>> = {},
) {
  let polled = 0;
  return fakeApi({
    'POST /auth/device/code': () => ({
      device_code: 'device-secret',
      user_code: 'ABCD-EFGH',
      verification_uri: 'https://cloud.example.com/console/device',
      verification_uri_complete: 'https://cloud.example.com/console/device?user_code=ABCD-EFGH',
      expires_in: 600,
      interval: 5,
    }),
    'POST /auth/device/token': () => {
      const response = polls[Math.min(polled, polls.length - 1)];
      polled += 1;
      return response?.();
    },
    'GET /v2/me/organisations': () => ({ items: [membership('lab')], nextCursor: null }),
    'GET /v2/me': () => me,
    'POST /v2/api-keys': ({ body }: FakeRequest) => ({ ...body, id: 'key_1', key: madeKey }),
    'GET /v2/me/sessions': () => ({ items: [{ id: 'ses_1', current: true }] }),
    'DELETE /v2/me/sessions/*': () => undefined,
    ...more,
  });
}

const paths = (api: { readonly requests: readonly FakeRequest[] }) =>
  api.requests.map(({ method, path }) => `${method} ${path}`);
const requestsTo = (api: { readonly requests: readonly FakeRequest[] }, path: string) =>
  api.requests.filter((request) => request.path === path);

describe('signing in with a device code', () => {
  it('shows address and code, waits, creates a key with all rights of the user, stores it and signs out', async () => {
    const api = service([pending, pending, allowed]);
    const run = await runCli(['login'], { ...loggedOut, ...api });
    expect([run.code, run.stderr]).toEqual([0, run.stderr]);
    expect(run.stdout).toBe('Logged in as ada@example.com of LAB, with a live key.\n');
    expect(run.stderr).toContain(
      '  https://cloud.example.com/console/device\nand enter this code: ABCD-EFGH',
    );
    expect(run.spawned).toEqual([]);
    expect(requestsTo(api, '/auth/device/token')).toHaveLength(3);
    expect(requestsTo(api, '/v2/api-keys')[0]?.body).toMatchObject({
      name: 'millrace on laptop',
      mode: 'live',
      scopes: me.scopes,
    });
    const { expiresAt } = requestsTo(api, '/v2/api-keys')[0]?.body ?? {};
    expect(Date.parse(String(expiresAt)) - Date.now()).toBeLessThanOrEqual(90 * 86_400_000);
    expect(requestsTo(api, '/v2/api-keys')[0]?.headers.get('millrace-organisation')).toBe('org_lab');
    expect(paths(api).at(-1)).toBe('DELETE /v2/me/sessions/ses_1');
    expect(String(run.files[PROFILES_PATH])).toContain(madeKey);
    expect(run.modes[PROFILES_PATH]).toBe(0o600);
    for (const secret of [madeKey, token, 'device-secret']) {
      expect(run.stdout + run.stderr + run.questions.join('')).not.toContain(secret);
    }
  });

  it('polls no faster than allowed, and slower after slow_down or no response', async () => {
    const atMs: number[] = [];
    const slow = () => Response.json({ error: 'slow_down' }, { status: 400 });
    const broken = () => new Response('', { status: 502 });
    const api = service([pending, slow, pending, broken, allowed]);
    let nowMs = 0;
    const clock = {
      now: () => new Date(nowMs),
      monotonicMs: () => nowMs,
      sleep: (ms: number) => {
        nowMs += ms;
        return Promise.resolve();
      },
      every: () => () => undefined,
    };
    const fetch: typeof globalThis.fetch = (input, init) => {
      if (new Request(input).url.endsWith('/auth/device/token')) atMs.push(nowMs);
      return api.fetch(input, init);
    };
    const run = await runCli(['login'], { ...loggedOut, fetch, clock });
    expect(run.code).toBe(0);
    expect(atMs).toEqual([5_000, 10_000, 20_000, 30_000, 45_000]);
  });

  it('continues after network errors', async () => {
    const fails = (): Response => {
      throw new TypeError('fetch failed');
    };
    const run = await runCli(['login'], { ...loggedOut, ...service([pending, fails, allowed]) });
    expect(run.code).toBe(0);
  });

  it('fails when the code has expired, by response or by clock', async () => {
    const late = () => Response.json({ error: 'expired_token' }, { status: 400 });
    for (const polls of [[late], [pending]]) {
      const api = service(polls);
      const run = await runCli(['login'], { ...loggedOut, ...api });
      expect(run.code).toBe(4);
      expect(run.stderr).toContain('The code has expired.');
      expect(requestsTo(api, '/auth/device/token').length).toBeLessThanOrEqual(120);
      expect(run.files).toEqual({});
    }
  });

  it('fails when the user declines', async () => {
    const denied = () => Response.json({ error: 'access_denied' }, { status: 400 });
    const run = await runCli(['login'], { ...loggedOut, ...service([denied]) });
    expect([run.code, run.stderr.includes('You declined the sign-in in the browser.')]).toEqual([4, true]);
  });

  it('asks which of several organisations, and accepts a named one', async () => {
    const several = {
      'GET /v2/me/organisations': () => ({
        items: [membership('lab'), membership('shop')],
        nextCursor: null,
      }),
    };
    const prompting = service([allowed], several);
    expect((await runCli(['login'], { ...loggedOut, ...prompting, answers: ['shop'] })).code).toBe(0);
    expect(requestsTo(prompting, '/v2/api-keys')[0]?.headers.get('millrace-organisation')).toBe('org_shop');
    const naming = service([allowed], several);
    const args = ['login', '--organisation', 'shop', '--mode', 'test'];
    const run = await runCli(args, { ...loggedOut, ...naming });
    expect([run.code, run.questions]).toEqual([0, []]);
    expect(requestsTo(naming, '/v2/api-keys')[0]?.headers.get('millrace-mode')).toBe('test');
    const unknown = service([allowed], several);
    expect((await runCli(['login', '--organisation', 'none'], { ...loggedOut, ...unknown })).code).toBe(3);
    expect(requestsTo(unknown, '/v2/api-keys')).toEqual([]);
    expect(paths(unknown).at(-1)).toBe('DELETE /v2/me/sessions/ses_1');
  });

  it.each([
    ['revokes the key of an earlier login', 'millrace on laptop', true],
    ['keeps a key that the user brought', 'ci', false],
  ])('into a profile with a key %s', async (_what, name, isRevoked) => {
    const api = service([allowed], {
      'GET /v2/me': ({ headers }) =>
        headers.get('authorization') === 'Bearer mr_live_old' ? { ...me, key: { id: 'key_0', name } } : me,
      'DELETE /v2/api-keys/*': () => ({ id: 'key_0' }),
    });
    const store = { current: 'default', profiles: { default: { apiUrl: API_URL, apiKey: 'mr_live_old' } } };
    const run = await runCli(['login'], {
      ...loggedOut,
      ...api,
      files: { [PROFILES_PATH]: JSON.stringify(store) },
    });
    expect([run.code, run.stderr]).toEqual([0, run.stderr]);
    expect(paths(api).includes('DELETE /v2/api-keys/key_0')).toBe(isRevoked);
    expect(run.stderr).toContain(`key "${name}" (key_0)`);
    expect(String(run.files[PROFILES_PATH])).toContain(madeKey);
  });

  it('into another profile names the previous profile and how to switch back', async () => {
    const store = { current: 'try', profiles: { try: { apiUrl: API_URL, apiKey: 'mr_test_old' } } };
    const files = { [PROFILES_PATH]: JSON.stringify(store) };
    const run = await runCli(['login', '--profile', 'live', '--api-url', API_URL], {
      ...loggedOut,
      ...service([allowed]),
      files,
    });
    expect(run.stderr).toContain('The previous profile was "try". To switch back: millrace profile use try');
    expect(run.stderr).toContain('Using profile "live"');
  });

  it('says what to do if the user belongs to no organisation', async () => {
    const none = { 'GET /v2/me/organisations': () => ({ items: [], nextCursor: null }) };
    const run = await runCli(['login'], { ...loggedOut, ...service([allowed], none) });
    expect([run.code, run.stderr.includes('You do not belong to an organisation yet.')]).toEqual([1, true]);
  });

  it('revokes a key that could not be stored', async () => {
    let calls = 0;
    const api = service([allowed], {
      'GET /v2/me': () => {
        calls += 1;
        return calls === 1 ? me : errorResponse(401, 'INVALID_API_KEY', 'There is no such key.');
      },
      'DELETE /v2/api-keys/*': () => undefined,
    });
    const run = await runCli(['login'], { ...loggedOut, ...api });
    expect([run.code, run.files]).toEqual([4, {}]);
    expect(paths(api)).toContain('DELETE /v2/api-keys/key_1');
    expect(paths(api).at(-1)).toBe('DELETE /v2/me/sessions/ses_1');
  });

  it('says how to log in without sign-in or without a terminal', async () => {
    const closed = await runCli(['login'], { ...loggedOut, ...fakeApi({}) });
    expect([closed.code, closed.stderr.includes('millrace login --with-key')]).toEqual([1, true]);
    const api = service([allowed]);
    const piped = await runCli(['login', '--api-url', API_URL], { ...loggedOut, tty: false, ...api });
    expect([piped.code, api.requests.length]).toEqual([3, 0]);
    expect(piped.stderr).toContain('--key-stdin');
  });
});
