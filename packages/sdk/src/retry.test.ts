import { errorRegistry } from '@millrace/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';
import * as errors from './errors.ts';
import { connectionReset, fakeService, json } from './fake-service.fixture.ts';
import type { RecordedRequest } from './fake-service.fixture.ts';
import { maxRetryAfterMs, retryDelayMs } from './retry.ts';

const rental = { id: 1042 };
const create = { gpuCount: 1 } as const;
const busy = json(503, { code: 'SERVICE_UNAVAILABLE', reason: 'SERVICE_UNAVAILABLE', message: 'busy' });

test('a create request whose response was lost is retried with the same idempotency key', async () => {
  const service = fakeService([connectionReset(), busy, json(200, rental)]);
  const response = service.client.rentals.createVirtualMachine(create);
  await service.clock.advance(60_000);
  expect(await response).toEqual(rental);
  const keys = service.requests.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
});

test('maxRetries of NaN means no retries', async () => {
  const service = fakeService([busy, busy, busy, busy], { maxRetries: Number.NaN });
  const refused = service.client.me.get().catch((error: unknown) => error);
  await service.clock.advance(60_000);
  expect(await refused).toBeInstanceOf(errors.ServerError);
  expect(service.requests).toHaveLength(1);
});

test('an infinite timeout does not time out immediately', async () => {
  let isUp = false;
  const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => (isUp = true));
  await systemClock.sleep(20);
  cancel();
  expect(isUp).toBe(false);
});

/** Responds like the service: a key takes effect once, and later requests with it get the same response. */
function ledgerOf(fates: readonly ('lost before' | 'lost after' | 'busy' | 'half' | 'fine')[]) {
  const made = new Map<string, number>();
  const happenings = fates.map(
    (outcome) =>
      async (request: RecordedRequest, signal: AbortSignal): Promise<Response> => {
        if (outcome === 'lost before') return connectionReset()(request, signal);
        if (outcome === 'busy') return busy(request, signal);
        const key = request.headers['idempotency-key'] ?? '';
        if (!made.has(key)) made.set(key, made.size + 1);
        if (outcome === 'lost after') return connectionReset()(request, signal);
        const response = JSON.stringify({ id: made.get(key) });
        return new Response(outcome === 'half' ? response.slice(0, 4) : response, { status: 200 });
      },
  );
  return { made, happenings };
}

test('whichever responses are lost, the resource is created once and returned as soon as possible', async () => {
  const outcome = fc.constantFrom('lost before', 'lost after', 'busy', 'half', 'fine');
  await fc.assert(
    fc.asyncProperty(fc.array(outcome, { minLength: 6, maxLength: 6 }), async (fates) => {
      const { made, happenings } = ledgerOf(fates);
      const service = fakeService(happenings, { maxRetries: 5 });
      const response = service.client.rentals.createVirtualMachine(create).catch((error: unknown) => error);
      await service.clock.advance(120_000);
      const firstFine = fates.indexOf('fine');
      if (firstFine === -1) expect(await response).toBeInstanceOf(errors.MillraceError);
      else expect(await response).toEqual({ id: 1 });
      expect(service.requests).toHaveLength(firstFine === -1 ? 6 : firstFine + 1);
      expect(made.size).toBeLessThanOrEqual(1);
    }),
    { numRuns: 30 },
  );
});

test('two calls have two idempotency keys, and a key of the caller is used unchanged', async () => {
  const service = fakeService([json(200, rental), json(200, rental), json(200, rental)]);
  await service.client.rentals.createVirtualMachine(create);
  await service.client.rentals.createVirtualMachine(create);
  await service.client.rentals.createVirtualMachine(create, { idempotencyKey: 'mine' });
  const keys = service.requests.map(({ headers }) => headers['idempotency-key']);
  expect(new Set(keys).size).toBe(3);
  expect(keys[2]).toBe('mine');
});

test('an incomplete JSON response is retried like a lost one', async () => {
  const half = (): Response => new Response('{"id": 10', { status: 200 });
  const service = fakeService([half, json(200, rental)]);
  const response = service.client.rentals.createVirtualMachine(create);
  await service.clock.advance(60_000);
  expect(await response).toEqual(rental);
});

test('a duplicate that is still running is retried until it is complete', async () => {
  const body = { code: 'CONFLICT', reason: 'IDEMPOTENCY_IN_PROGRESS', message: 'running' };
  const service = fakeService([
    connectionReset(),
    json(409, body, { 'retry-after': '1' }),
    json(201, { id: 'key_1' }),
  ]);
  const response = service.client.keys.create({ name: 'ci', scopes: ['rentals:read'] });
  await service.clock.advance(60_000);
  expect(await response).toEqual({ id: 'key_1' });
});

test('inference is retried only after a certain refusal', async () => {
  const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
  const lost = fakeService([connectionReset('ECONNRESET')]);
  await expect(lost.client.chat.create(chat)).rejects.toBeInstanceOf(errors.ConnectionError);
  const failed = fakeService([json(502, {})]);
  await expect(failed.client.chat.create(chat)).rejects.toBeInstanceOf(errors.ServerError);

  const refused = fakeService([
    connectionReset('ECONNREFUSED'),
    json(429, {}, { 'retry-after': '2' }),
    json(200, { id: 'c' }),
  ]);
  const response = refused.client.chat.create(chat);
  await refused.clock.advance(60_000);
  expect(await response).toEqual({ id: 'c' });
});

test('errors of the caller are not retried, and others at most maxRetries times', async () => {
  const refused = fakeService([
    json(400, { code: 'BAD_REQUEST', reason: 'VALIDATION_FAILED', message: 'no' }),
  ]);
  await expect(refused.client.me.get()).rejects.toThrow('no');
  const never = fakeService([busy]);
  await expect(never.client.me.get({}, { maxRetries: 0 })).rejects.toThrow('busy');
  const thrice = fakeService([busy, busy, busy]);
  const response = thrice.client.me.get().catch((error: unknown) => error);
  await thrice.clock.advance(60_000);
  expect(await response).toBeInstanceOf(errors.ServerError);
  expect(thrice.requests).toHaveLength(3);
});

test('an error has the seconds of Retry-After', async () => {
  const service = fakeService([
    json(429, { reason: 'RATE_LIMITED', message: 'slow' }, { 'retry-after': '7' }),
  ]);
  const error = await service.client.me.get({}, { maxRetries: 0 }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ status: 429, retryAfterSeconds: 7 });
});

test('Retry-After is honoured up to a minute; longer values are left to the caller', async () => {
  const limited = (seconds: string) =>
    json(429, { reason: 'RATE_LIMITED', message: 'slow' }, { 'retry-after': seconds });
  const service = fakeService([limited('7'), json(200, {})]);
  const response = service.client.me.get();
  await service.clock.advance(6_999);
  expect(service.requests).toHaveLength(1);
  await service.clock.advance(1_000);
  await response;
  const long = fakeService([limited('3600')]);
  await expect(long.client.me.get()).rejects.toBeInstanceOf(errors.RateLimitError);
});

test('each attempt has its own timeout', async () => {
  const never = (_: unknown, signal: AbortSignal): Promise<Response> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const service = fakeService([never, never, never], { timeoutMs: 1_000 });
  const response = service.client.me.get().catch((error: unknown) => error);
  await service.clock.advance(30_000);
  expect(await response).toBeInstanceOf(errors.TimeoutError);
  expect(service.requests).toHaveLength(3);
});

test('an aborted call rejects immediately, also while it waits for a retry', async () => {
  const never = (_: unknown, signal: AbortSignal): Promise<Response> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  for (const fakeResponse of [never, busy]) {
    const aborter = new AbortController();
    const service = fakeService([fakeResponse]);
    const response = service.client.me.get({}, { signal: aborter.signal }).catch((error: unknown) => error);
    await service.idle();
    aborter.abort();
    expect(await response).toBeInstanceOf(errors.AbortedError);
    expect(service.requests).toHaveLength(1);
  }
});

test('retry delays grow, have jitter and stay within limits', () => {
  const error = new errors.ConnectionError('lost');
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, share) => {
        const delayMs = retryDelayMs(error, { attempt, random: () => share, nowMs: 0 });
        expect(delayMs).toBeGreaterThanOrEqual(250);
        expect(delayMs).toBeLessThanOrEqual(8_000);
      },
    ),
  );
  expect(maxRetryAfterMs).toBe(60_000);
});

test('the reason decides the error class, whatever the status', async () => {
  const cases = [
    [json(400, { reason: 'INSUFFICIENT_BALANCE', message: 'm' }), errors.InsufficientBalanceError],
    [json(402, { reason: 'BUDGET_EXCEEDED', message: 'm' }), errors.InsufficientBalanceError],
    [json(400, { reason: 'INSUFFICIENT_CAPACITY', message: 'm' }), errors.InsufficientCapacityError],
    [json(400, { reason: 'RENTAL_NOT_FOUND', message: 'm' }), errors.NotFoundError],
    [json(400, { reason: 'ALREADY_TERMINATED', message: 'm' }), errors.ConflictError],
    [json(400, { reason: 'VALIDATION_FAILED', message: 'm' }), errors.ValidationError],
    [json(401, { reason: 'INVALID_API_KEY', message: 'm' }), errors.AuthenticationError],
    [json(403, { reason: 'INSUFFICIENT_SCOPE', message: 'm' }), errors.PermissionDeniedError],
    [json(418, { message: 'm' }), errors.ApiError],
    [json(404, { reason: 'SOMETHING_NEW', message: 'm' }), errors.NotFoundError],
    [json(200, {}), null],
  ] as const;
  for (const [fakeResponse, expected] of cases) {
    const service = fakeService([fakeResponse], { maxRetries: 0 });
    const response = await service.client.me.get().catch((error: unknown) => error);
    if (expected === null) expect(response).toEqual({});
    else expect(response).toBeInstanceOf(expected);
  }
  for (const [reason, { status }] of Object.entries(errorRegistry)) {
    const service = fakeService([json(status, { reason, message: 'm' })], { maxRetries: 0 });
    const error = await service.client.me.get().catch((caught: unknown) => caught);
    expect(error, reason).toBeInstanceOf(errors.ApiError);
    const isPlain = (error as Error).constructor === errors.ApiError;
    expect(isPlain, reason).toBe(status === 405);
  }
});

test('all three error bodies give reason, request id and invalid fields', async () => {
  const issue = { message: 'too many', path: ['gpuCount'], code: 'too_big' };
  const v2 = {
    code: 'BAD_REQUEST',
    message: 'm',
    reason: 'VALIDATION_FAILED',
    suggestion: 's',
    requestId: 'req_1',
  };
  const marketplace = {
    error_code: 400,
    message: 'm',
    reason: 'VALIDATION_FAILED',
    suggestion: 's',
    request_id: 'req_1',
  };
  const nested = { message: 'm', type: 'invalid_request_error', param: null, code: 'validation_failed' };
  const detail = [{ loc: ['gpuCount'], msg: 'too many', type: 'too_big' }];
  const bodies = [
    { ...v2, docUrl: '/docs/errors#VALIDATION_FAILED', issues: [issue] },
    { ...marketplace, issues: [issue] },
    {
      object: 'error',
      message: 'm',
      type: 't',
      param: null,
      code: 422,
      error: nested,
      request_id: 'req_1',
      detail,
    },
  ];
  const caught = await Promise.all(
    bodies.map((body) =>
      fakeService([json(400, body)])
        .client.me.get()
        .catch((error: unknown) => error),
    ),
  );
  for (const error of caught) {
    expect(error).toBeInstanceOf(errors.ValidationError);
    expect(error).toMatchObject({
      message: 'm',
      reason: 'VALIDATION_FAILED',
      requestId: 'req_1',
      issues: [issue],
    });
  }
  expect(caught[0]).toMatchObject({
    suggestion: 's',
    docUrl: 'https://api.example.com/docs/errors#VALIDATION_FAILED',
  });
});

test('a response of a proxy becomes an error without the HTML page', async () => {
  const page = (): Response => new Response('<html><body>Bad gateway</body></html>', { status: 502 });
  const error = await fakeService([page], { maxRetries: 0 })
    .client.me.get()
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(errors.ServerError);
  expect(error).toMatchObject({
    status: 502,
    reason: null,
    message: 'The response had status 502 and no message.',
  });
});
