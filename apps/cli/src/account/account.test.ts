import { describe, expect, it } from 'vitest';
import { API_URL, fakeApi, HOME, PROFILES_PATH, errorResponse, runCli } from '../fixture.ts';

const organisation = {
  id: 'org_1',
  name: 'Lab',
  slug: 'lab',
  status: 'active',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const me = {
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada', picture: null },
  organisation,
  role: 'owner',
  platformRoles: [],
  mode: 'test',
  scopes: ['rentals:read', 'rentals:write'],
  key: null,
};
const key = {
  ...{
    id: 'key_1',
    publicId: 'abc',
    prefix: 'mr_test_abc',
    name: 'ci',
    mode: 'test',
    scopes: ['rentals:read'],
  },
  ...{ limits: {}, allowedIps: [], createdBy: 'usr_1', createdAt: '2026-02-01T00:00:00.000Z' },
  ...{ expiresAt: null, lastUsedAt: null, revokedAt: null, rotatedFrom: null },
};
const typedKey = 'mr_test_abcdefghijkl_secret';
const loggedOut = { apiKey: null, env: { MILLRACE_API_URL: '' } } as const;

describe('millrace login', () => {
  it('asks for address and key, verifies them and stores them for this user only', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    const run = await runCli(['login', '--with-key'], {
      ...{ ...loggedOut, ...api, tty: true, answers: [API_URL, typedKey] },
    });
    expect(run.code).toBe(0);
    expect(run.stdout).toBe('Logged in as ada@example.com of Lab, with a test key.\n');
    expect(run.stdout + run.stderr + run.questions.join('')).not.toContain(typedKey);
    expect(api.requests[0]?.headers.get('authorization')).toBe(`Bearer ${typedKey}`);
    expect(run.modes[PROFILES_PATH]).toBe(0o600);

    const later = await runCli(['whoami', '--json'], { ...loggedOut, ...api, files: run.files });
    expect(later.json().user.email).toBe('ada@example.com');
  });

  it('asks before it sends a key unencrypted, to the API or to the inference gateway', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    for (const [apiUrl, inferenceUrl] of [
      ['http://api.example.com', 'https://models.example.com'],
      [API_URL, 'http://models.example.com'],
    ] as const) {
      const args = ['login', '--api-url', apiUrl, '--inference-url', inferenceUrl, '--key-stdin'];
      const run = await runCli(args, { ...loggedOut, ...api, stdin: typedKey });
      expect([run.code, run.stderr.includes('http://')], apiUrl).toEqual([3, true]);
    }
    expect(api.requests).toEqual([]);
  });

  it('reads the key from standard input into its own profile', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    const args = ['login', '--profile', 'ci', '--api-url', API_URL, '--key-stdin', '--json'];
    const run = await runCli(args, { ...loggedOut, ...api, stdin: `${typedKey}\n` });
    expect(run.json()).toMatchObject({ profile: 'ci', apiUrl: API_URL, mode: 'test' });
    const list = await runCli(['profile', 'list', '--json'], { ...loggedOut, files: run.files });
    expect(list.json()).toEqual([
      { name: 'ci', apiUrl: API_URL, inferenceUrl: API_URL, mode: 'test', current: true },
    ]);
  });

  it('stores nothing if the key is refused', async () => {
    const api = fakeApi({
      'GET /v2/me': () => errorResponse(401, 'INVALID_API_KEY', 'There is no such key.'),
    });
    const run = await runCli(['login', '--key-stdin', '--api-url', API_URL], {
      ...{ ...loggedOut, ...api, stdin: typedKey },
    });
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('Could not log in (INVALID_API_KEY).');
    expect(run.files).toEqual({});
  });

  it('sends no key over plain HTTP without confirmation', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    const args = ['login', '--key-stdin', '--api-url', 'http://api.example.com'];
    const refused = await runCli(args, { ...loggedOut, ...api, stdin: typedKey });
    expect([refused.code, api.requests.length]).toEqual([3, 0]);
    expect((await runCli([...args, '--yes'], { ...loggedOut, ...api, stdin: typedKey })).code).toBe(0);
  });

  it('refuses a malformed key without sending it', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    const run = await runCli(['login', '--key-stdin', '--api-url', API_URL], {
      ...{ ...loggedOut, ...api, stdin: 'hunter2' },
    });
    expect([run.code, api.requests.length]).toEqual([3, 0]);
    expect(run.stderr).not.toContain('hunter2');
  });

  it('is suggested if no user is logged in', async () => {
    const run = await runCli(['whoami'], loggedOut);
    expect(run.code).toBe(4);
    expect(run.stderr).toContain('Try: millrace login');
  });
});

describe('profiles', () => {
  const files = {
    [PROFILES_PATH]: JSON.stringify({
      current: 'one',
      profiles: {
        one: { apiUrl: API_URL, apiKey: 'mr_live_one' },
        two: { apiUrl: API_URL, apiKey: 'mr_live_two' },
      },
    }),
  };

  it('are chosen permanently or for one command', async () => {
    const api = fakeApi({ 'GET /v2/me': me });
    const used = await runCli(['profile', 'use', 'two'], { ...loggedOut, files });
    await runCli(['whoami'], { ...loggedOut, ...api, files: used.files });
    await runCli(['whoami', '--profile', 'one'], { ...loggedOut, ...api, files: used.files });
    expect(api.requests.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer mr_live_two',
      'Bearer mr_live_one',
    ]);
    expect((await runCli(['profile', 'use', 'three'], { ...loggedOut, files })).code).toBe(5);
  });

  it('are removed one by one or all at once', async () => {
    const one = await runCli(['logout', '--json'], { ...loggedOut, files });
    expect(one.json()).toEqual({ forgotten: ['one'], current: 'one' });
    expect(one.stderr).toContain('(two): millrace profile use NAME');
    const left = { [PROFILES_PATH]: String(one.files[PROFILES_PATH]) };
    expect((await runCli(['rental', 'list'], { ...loggedOut, files: left })).code).toBe(4);
    expect(String(one.files[PROFILES_PATH])).not.toContain('mr_live_one');
    const all = await runCli(['logout', '--all', '--json'], { ...loggedOut, files });
    expect(all.json()).toEqual({ forgotten: ['one', 'two'], current: 'default' });
  });

  it('that cannot be read cause an error with advice, not a crash', async () => {
    const run = await runCli(['whoami'], { ...loggedOut, files: { [PROFILES_PATH]: '{"current":1}' } });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('millrace login');
  });
});

describe('without a valid key', () => {
  const saved = JSON.stringify({
    current: 'default',
    profiles: { default: { apiUrl: API_URL, apiKey: typedKey } },
  });

  it.each([
    ['nothing was kept', {}, [], 'Profile "default" has no key', 'Try: millrace login\n'],
    [
      'the profile is misspelt',
      { [PROFILES_PATH]: saved },
      ['--profile', 'wrok'],
      'no profile "wrok"',
      'list',
    ],
    ['the address is another', { [PROFILES_PATH]: saved }, ['--api-url', 'http://127.0.0.1:9'], ':9', 'NAME'],
  ])('the error says why and what to do if %s', async (_when, files, words, why, fix) => {
    const run = await runCli(['rental', 'list', ...words], { ...loggedOut, files });
    expect(run.code).toBe(4);
    expect(run.stderr).toContain(why);
    expect(run.stderr).toContain(fix);
  });

  it('the error for a key from the environment does not suggest login', async () => {
    const refusing = () => fakeApi({ 'GET /v2/me': errorResponse(401, 'INVALID_API_KEY', 'No such key.') });
    expect((await runCli(['whoami'], refusing())).stderr).toContain('unset');
    const files = { [PROFILES_PATH]: saved };
    expect((await runCli(['whoami'], { ...loggedOut, ...refusing(), files })).stderr).toContain(
      'millrace login',
    );
  });
});

describe('keys', () => {
  it('are created with limits and printed alone on standard output', async () => {
    const api = fakeApi({ 'POST /v2/api-keys': { ...key, key: typedKey }, 'GET /v2/me': me });
    const args = 'key create ci --scope all --budget 50/day --expires 2d --rpm 60 --model meta/*'.split(' ');
    const run = await runCli(args, api);
    expect(run.stdout).toBe(`${typedKey}\n`);
    expect(api.requests[1]?.body).toEqual({
      name: 'ci',
      scopes: me.scopes,
      mode: 'test',
      limits: { budget: { usd: 50, period: 'day' }, rpm: 60, models: ['meta/*'] },
      allowedIps: [],
      expiresAt: '2026-03-03T12:00:00.000Z',
    });
    expect(api.requests[1]?.headers.get('idempotency-key')).toMatch(/./);
  });

  it('have the mode of the creating key by default', async () => {
    for (const [own, words, mode] of [
      [typedKey, [], 'test'],
      ['mr_live_abcdefghij', [], 'live'],
      ['mr_live_abcdefghij', ['--mode', 'test'], 'test'],
    ] as const) {
      const api = fakeApi({ 'POST /v2/api-keys': { ...key, key: typedKey } });
      await runCli(['key', 'create', 'ci', '--scope', 'rentals:read', ...words], {
        ...api,
        apiKey: own,
      });
      expect(api.requests[0]?.body, `${own} ${words.join(' ')}`).toMatchObject({ mode });
    }
  });

  it('are an error if the response with the secret was lost', async () => {
    const lost = { ...key, key: null };
    const api = fakeApi({ 'GET /v2/me': me, 'POST /v2/api-keys': lost });
    for (const more of [[], ['--json']]) {
      const run = await runCli(['key', 'create', 'ci', '--scope', 'rentals:read', ...more], api);
      expect([run.code, run.stderr.includes('millrace key revoke key_1')], more.join()).toEqual([1, true]);
    }
  });

  it('are found by name and revoked only after confirmation', async () => {
    const api = fakeApi({
      'GET /v2/api-keys': { items: [key], nextCursor: null },
      'DELETE /v2/api-keys/key_1': { ...key, revokedAt: '2026-03-01T12:00:00.000Z' },
    });
    expect((await runCli(['key', 'revoke', 'ci'], { ...api, tty: true, answers: ['n'] })).code).toBe(2);
    expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
    const run = await runCli(['key', 'revoke', 'ci', '--yes', '--json'], api);
    expect(run.json().revokedAt).toBe('2026-03-01T12:00:00.000Z');
    expect((await runCli(['key', 'revoke', 'nope', '--yes'], api)).code).toBe(5);
  });

  it('are listed without inactive ones', async () => {
    const old = { ...key, id: 'key_0', name: 'old', revokedAt: '2026-02-02T00:00:00.000Z' };
    const api = fakeApi({ 'GET /v2/api-keys': { items: [key, old], nextCursor: null } });
    const run = await runCli(['key', 'list'], api);
    expect(run.stdout.split('\n')[0]).toMatch(/^ID +NAME +PREFIX/);
    expect(run.stdout).not.toContain('old');
    expect(run.stderr).toContain('--all');
    expect((await runCli(['key', 'ls', '--all', '--json'], api)).json()).toHaveLength(2);
  });
});

describe('SSH keys', () => {
  const added = {
    ...{ id: 'ssh_1', name: 'ada@laptop', publicKey: 'ssh-ed25519 AAAA', fingerprint: 'SHA256:abc' },
    ...{ algorithm: 'ssh-ed25519', createdAt: '2026-03-01T12:00:00.000Z' },
  };

  it('are read from the folder of ssh', async () => {
    const api = fakeApi({ 'POST /v2/ssh-public-keys': added });
    const run = await runCli(['ssh-key', 'add'], {
      ...api,
      files: {
        [`${HOME}/.ssh/id_rsa.pub`]: 'no',
        [`${HOME}/.ssh/id_ed25519.pub`]: 'ssh-ed25519 AAAA ada@laptop\n',
      },
    });
    expect(run.code).toBe(0);
    expect(api.requests[0]?.body).toEqual({ name: 'ada@laptop', publicKey: 'ssh-ed25519 AAAA ada@laptop' });
  });

  it('that are private are never sent', async () => {
    const api = fakeApi({ 'POST /v2/ssh-public-keys': added });
    const secret = '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n';
    const run = await runCli(['ssh-key', 'add', '/id'], { ...api, files: { '/id': secret } });
    expect([run.code, api.requests.length]).toEqual([3, 0]);
    expect(run.stderr).toContain('millrace ssh-key add /id.pub');
  });

  it('are created with ssh-keygen if there are none', async () => {
    const run = await runCli(['ssh-key', 'add']);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('ssh-keygen');
  });
});

describe('members', () => {
  const member = {
    ...{ id: 'mem_1', organisationId: 'org_1', userId: 'usr_2', role: 'member', email: 'bob@example.com' },
    ...{ name: 'Bob', picture: null, createdAt: '2026-02-01T00:00:00.000Z' },
  };
  const routes = {
    'GET /v2/me': me,
    'GET /v2/organisations/org_1/members': { items: [member], nextCursor: null },
    'PATCH /v2/organisations/org_1/members/usr_2': { ...member, role: 'admin' },
    'DELETE /v2/organisations/org_1/members/usr_2': undefined,
  };

  it('are those of the current organisation by default, and found by email address', async () => {
    const api = fakeApi(routes);
    expect((await runCli(['member', 'list', '--json'], api)).json()).toEqual([member]);
    const changed = await runCli(['member', 'update', 'bob@example.com', '--role', 'admin'], api);
    expect(changed.stdout).toBe('bob@example.com is now admin.\n');
    const removed = await runCli(['member', 'remove', 'bob@example.com', '--yes', '--json'], api);
    expect(removed.json()).toEqual({ userId: 'usr_2', removed: true });
    expect((await runCli(['member', 'remove', 'eve@example.com', '--yes'], api)).code).toBe(5);
  });
});

describe('email notices', () => {
  const one = { enabled: true, chosen: null, available: true };
  const response = {
    email: 'ada@example.com',
    preferences: { balance: one, keys: { enabled: false, chosen: false, available: true } },
  };

  it('are shown and changed one by one', async () => {
    const api = fakeApi({
      'GET /v2/me/notice-preferences': response,
      'PATCH /v2/me/notice-preferences': response,
      'PUT /v2/me/notice-preferences': response,
    });
    const shown = await runCli(['me', 'notices'], { ...api, apiKey: 'mr_live_abcdefghij' });
    expect(shown.stdout).toContain('balance  yes   default of your role');
    expect((await runCli(['me', 'notices'], api)).stdout).toContain('balance  yes   default of test mode');
    const args = ['me', 'notices', '--off', 'keys', '--on', 'balance', '--usual', 'budgets', '--json'];
    expect((await runCli(args, api)).json()).toHaveLength(2);
    expect(api.requests.at(-1)?.body).toEqual({ preferences: { balance: true, keys: false, budgets: null } });
    expect((await runCli(['me', 'notices', '--on', 'keys', '--off', 'keys'], api)).code).toBe(3);
  });
});
