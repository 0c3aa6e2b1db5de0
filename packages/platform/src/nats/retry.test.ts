import { JetStreamApiError } from '@nats-io/jetstream';
import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { retryTransient } from './retry.ts';

const apiError = (code: number, errCode = 1) =>
  new JetStreamApiError({ code, err_code: errCode, description: 'x' });
const full = apiError(503, 10_077);
const notEnabled = Object.assign(
  new Error('jetstream is not enabled', { cause: new RequestError('no responders') }),
  { name: 'JetStreamNotEnabled' },
);

async function settle(failures: readonly Error[], signal?: AbortSignal) {
  const clock = new SimulatedClock();
  let attempts = 0;
  let outcome: unknown;
  void retryTransient(
    clock,
    async () => {
      const failure = failures[attempts];
      attempts += 1;
      if (failure !== undefined) throw failure;
      return 'done';
    },
    signal,
  ).then(
    (result) => (outcome = result),
    (error: unknown) => (outcome = error),
  );
  await clock.advance(60_000);
  return { attempts, outcome };
}

describe('retryTransient', () => {
  it('retries while the server is starting', async () => {
    const failures = [new TimeoutError(), new NoRespondersError('x'), notEnabled, apiError(503)];
    expect(await settle(failures)).toEqual({ attempts: 5, outcome: 'done' });
  });

  it('fails after a limited number of attempts', async () => {
    const last = new TimeoutError();
    expect(await settle(Array.from({ length: 100 }, () => last))).toEqual({ attempts: 8, outcome: last });
  });

  it('stops when its signal aborts', async () => {
    const over = new Error('time is over');
    expect(await settle([new TimeoutError()], AbortSignal.abort(over))).toEqual({
      attempts: 1,
      outcome: over,
    });
  });

  it.each([apiError(400), apiError(404), full, new Error('bug')])('does not retry %s', async (failure) => {
    expect(await settle([failure])).toEqual({ attempts: 1, outcome: failure });
  });
});
