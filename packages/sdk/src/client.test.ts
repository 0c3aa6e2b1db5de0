import { expect, test } from 'vitest';
import { Millrace } from './client.ts';
import { fakeService, json } from './fake-service.fixture.ts';

test('input fields go into the path, query or body of the operation', async () => {
  const service = fakeService([json(200, {})]);
  await service.client.members.update({ organisationId: 'org_1', userId: 'a/b', role: 'viewer' });
  expect(service.requests).toMatchObject([
    {
      method: 'PATCH',
      url: 'https://api.example.com/v2/organisations/org_1/members/a%2Fb',
      body: { role: 'viewer' },
      headers: { authorization: 'Bearer mr_test_key', 'content-type': 'application/json' },
    },
  ]);
});

test('inference goes to its own address, everything else to the API', async () => {
  const service = fakeService([json(200, { object: 'list', data: [] }), json(200, {})], {
    inferenceUrl: 'https://gateway.example.com/',
  });
  await service.client.models.list();
  await service.client.me.get();
  expect(service.requests.map(({ url }) => url)).toEqual([
    'https://gateway.example.com/v1/models',
    'https://api.example.com/v2/me',
  ]);
});

test('withResponse returns the data with the request id', async () => {
  const service = fakeService([json(200, { role: 'owner' }, { 'x-request-id': 'req_7' })]);
  const { data, requestId, response } = await service.client.me.get().withResponse();
  expect(data).toEqual({ role: 'owner' });
  expect(requestId).toBe('req_7');
  expect(response.status).toBe(200);
});

test('asResponse leaves the body unread and sends the request once', async () => {
  const service = fakeService([json(200, { role: 'owner' })]);
  const response = await service.client.me.get().asResponse();
  expect(await response.json()).toEqual({ role: 'owner' });
  expect(service.requests).toHaveLength(1);
});

test('asResponse rejects if called too late, instead of sending the request twice', async () => {
  const service = fakeService([json(201, { id: 7 }), json(201, { id: 8 })]);
  const creating = service.client.rentals.stop({ rentalId: 7 });
  await creating;
  await expect(creating.asResponse()).rejects.toThrow(TypeError);
  expect(service.requests).toHaveLength(1);
});

test('a call is sent even if it is not awaited', async () => {
  const service = fakeService([json(200, {})]);
  void service.client.rentals.stop({ rentalId: 7 });
  await service.idle();
  expect(service.requests).toHaveLength(1);
});

test('lists of all three shapes iterate over all pages', async () => {
  const cursor = fakeService([
    json(200, { items: [{ id: 1 }, { id: 2 }], nextCursor: 'c1' }),
    json(200, { items: [{ id: 3 }], nextCursor: null }),
  ]);
  expect(await cursor.client.keys.list({ limit: 2 }).all()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  expect(cursor.requests[1]?.url).toBe('https://api.example.com/v2/api-keys?limit=2&cursor=c1');

  const link = fakeService([
    json(200, [{ id: 1 }], { link: '</v2/on-demand/bare-metal-rentals?limit=1&cursor=a%2Bb>; rel="next"' }),
    json(200, [{ id: 2 }]),
  ]);
  expect(await link.client.rentals.listBareMetal({ limit: 1 }).all()).toEqual([{ id: 1 }, { id: 2 }]);
  expect(new URL(link.requests[1]?.url ?? '').searchParams.get('cursor')).toBe('a+b');

  const byPost = fakeService([
    json(200, { instances: [1], next_cursor: 'n' }),
    json(200, { instances: [2] }),
  ]);
  expect(await byPost.client.marketplace.list({ filters: { gpu_model: 'H100' } }).all()).toEqual([1, 2]);
  expect(byPost.requests[1]?.body).toEqual({ filters: { gpu_model: 'H100' }, cursor: 'n' });

  const feed = fakeService([
    json(200, { items: [{ seq: 1 }], nextCursor: '1', nextAfter: 1 }),
    json(200, { items: [{ seq: 2 }], nextCursor: null, nextAfter: 2 }),
  ]);
  expect(await feed.client.events.list().all()).toEqual([{ seq: 1 }, { seq: 2 }]);
  expect(feed.requests[1]?.url).toContain('after=1');
});

test('a list fetches no page after the loop is left, and all({ max }) returns at most max items', async () => {
  const service = fakeService([json(200, { items: [1, 2, 3], nextCursor: 'c' })]);
  expect(await service.client.keys.list().all({ max: 2 })).toEqual([1, 2]);
  const page = await fakeService([json(200, { items: [1], nextCursor: 'c' })]).client.keys.list();
  expect(page).toMatchObject({ items: [1], nextCursor: 'c' });
});

test('a list that returns its own cursor throws instead of looping', async () => {
  const again = json(200, { items: [1], nextCursor: 'same' });
  const service = fakeService([again, again, again]);
  await expect(service.client.keys.list().all()).rejects.toThrow('its own cursor');
});

test('an id that would change the path is refused before a request is sent', async () => {
  const service = fakeService([]);
  for (const keyId of ['', '.', '..']) {
    await expect(service.client.keys.get({ keyId })).rejects.toThrow('keyId is required');
  }
  expect(service.requests).toEqual([]);
});

test('bytes and empty responses are returned as such', async () => {
  const service = fakeService([
    () => new Response(new Uint8Array([1, 2, 3]), { headers: { 'content-type': 'audio/mpeg' } }),
    () => new Response(null, { status: 204 }),
  ]);
  const { client } = service;
  expect(await client.audio.createSpeech({ model: 'm', input: 'hi', voice: 'v' })).toEqual(
    new Uint8Array([1, 2, 3]),
  );
  expect(await client.budgets.delete({ budgetId: 'bud_1' })).toBeUndefined();
});

test('the constructor throws without an address, and in a browser without allowBrowser', () => {
  expect(() => new Millrace({ baseUrl: 'api.example.com' })).toThrow('https://api.example.com');
  Object.assign(globalThis, { window: globalThis, document: {} });
  try {
    expect(() => new Millrace({ baseUrl: 'https://api.example.com' })).toThrow('allowBrowser');
    expect(new Millrace({ baseUrl: 'https://api.example.com', allowBrowser: true })).toBeInstanceOf(Millrace);
  } finally {
    Reflect.deleteProperty(globalThis, 'window');
    Reflect.deleteProperty(globalThis, 'document');
  }
});

test('the constructor refuses a key that cannot be sent, without showing it', () => {
  const options = { baseUrl: 'https://api.example.com' };
  for (const apiKey of ['mr_test_secret\n', 'mr_test_secret ', 'mr_test_sécret', '']) {
    expect(() => new Millrace({ ...options, apiKey })).toThrow(/^The apiKey (?:contains|is empty)/);
  }
  expect(() => new Millrace({ baseUrl: undefined })).toThrow('is missing');
});

test('call executes an operation by its id', async () => {
  const service = fakeService([json(200, { items: [1], nextCursor: null }), json(200, { id: 5 })]);
  expect(await service.client.call('listApiKeys', { limit: 1 })).toMatchObject({ items: [1] });
  expect(await service.client.call('getRental', { rentalId: 5 })).toEqual({ id: 5 });
});

test('the constructor refuses an address with a password, query or fragment, without showing it', () => {
  for (const address of [
    'https://me:hunter2@api.example.com',
    'https://api.example.com/#a',
    'https://api.example.com?a=b',
  ]) {
    expect(() => new Millrace({ baseUrl: address })).toThrow('baseUrl');
    expect(() => new Millrace({ baseUrl: 'https://api.example.com', inferenceUrl: address })).toThrow(
      /^inferenceUrl (?!.*hunter2)/,
    );
  }
});

test('a session calls for an organisation, with the cookie of the page or a token', async () => {
  const page = fakeService([json(200, {})], {
    apiKey: undefined,
    session: { organisation: 'org_1', mode: 'test' },
  });
  await page.client.me.get();
  const [fromPage] = page.requests;
  expect(fromPage?.headers).toMatchObject({ 'millrace-organisation': 'org_1', 'millrace-mode': 'test' });
  expect(fromPage?.headers).not.toHaveProperty('authorization');
  expect(fromPage?.credentials).toBe('same-origin');
  const terminal = fakeService([json(200, {})], { apiKey: undefined, session: {}, sessionToken: 'abc' });
  await terminal.client.me.get();
  const [fromTerminal] = terminal.requests;
  expect(fromTerminal?.headers).toMatchObject({ authorization: 'Bearer abc' });
  expect(fromTerminal?.headers).not.toHaveProperty('millrace-organisation');
  expect(fromTerminal?.credentials).toBe('omit');
});

test('a key and a session exclude each other, and pages may use only a session without a token', () => {
  const baseUrl = 'https://api.example.com';
  expect(() => new Millrace({ baseUrl, apiKey: 'mr_test_key', session: {} })).toThrow('not both');
  expect(() => new Millrace({ baseUrl, sessionToken: 'a\nb' })).toThrow('sessionToken');
  Object.assign(globalThis, { window: {}, document: {} });
  try {
    expect(() => new Millrace({ baseUrl, session: { organisation: 'org_1' } })).not.toThrow();
    expect(() => new Millrace({ baseUrl, session: {}, sessionToken: 'abc' })).toThrow('allowBrowser');
    expect(() => new Millrace({ baseUrl, apiKey: 'mr_test_key' })).toThrow('allowBrowser');
  } finally {
    Reflect.deleteProperty(globalThis, 'window');
    Reflect.deleteProperty(globalThis, 'document');
  }
});
