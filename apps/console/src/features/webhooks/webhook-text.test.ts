import { describe, expect, it } from 'vitest';
import {
  attemptText,
  webhookHealth,
  hasPendingDeliveries,
  parseSequence,
  urlIssue,
  type Webhook,
} from './webhook-text.ts';

const webhook: Webhook = {
  id: 'whk_01JD8Q7XK4T2M9V6B3N5C1F0GH',
  url: 'https://example.com/',
  description: '',
  eventTypes: ['*'],
  status: 'enabled',
  disabledReason: null,
  createdAt: '2026-11-16T00:00:00Z',
  updatedAt: '2026-11-16T00:00:00Z',
  lastSucceededAt: '2026-11-16T01:00:00Z',
  failingSince: null,
};

describe('how a webhook does', () => {
  it('is well, or says why not', () => {
    expect(webhookHealth(webhook)).toEqual({ tone: 'good', label: 'on', why: null });
    expect(webhookHealth({ ...webhook, lastSucceededAt: null }).why).toContain('yet');
    expect(webhookHealth({ ...webhook, failingSince: '2026-11-16T02:00:00Z' }).label).toBe('failing');
  });

  it('is off before it is failing, with the reason that the service gives', () => {
    const off = {
      ...webhook,
      status: 'disabled',
      disabledReason: 'Gone.',
      failingSince: webhook.createdAt,
    } as const;
    expect(webhookHealth(off)).toEqual({ tone: 'bad', label: 'off', why: 'Gone.' });
  });
});

it('an attempt is told with its answer, its error and its time', () => {
  const at = '2026-11-16T00:00:00Z';
  expect(attemptText({ at, httpStatus: 500, error: 'It did not answer 2xx.', durationMs: 1_234 })).toBe(
    'answered 500: It did not answer 2xx, after 1.2 s',
  );
  expect(attemptText({ at, httpStatus: null, error: null, durationMs: 15_000 })).toBe(
    'no answer, after 15 s',
  );
});

it('a list moves while something is on its way', () => {
  expect(hasPendingDeliveries([{ status: 'failed' }, { status: 'pending' }])).toBe(true);
  expect(hasPendingDeliveries([{ status: 'succeeded' }])).toBe(false);
});

it.each([
  ['https://example.com/hooks', undefined],
  ['http://example.com', 'It must begin with https://.'],
  ['javascript:alert(1)', 'It must begin with https://.'],
])('%s', (typed, problem) => {
  expect(urlIssue(typed)).toBe(problem);
});

it('what is no address is refused in words', () => {
  expect(urlIssue('example.com')).toContain('A whole address');
});

it.each([
  ['88,213', 88_213],
  ['0', 0],
  ['-1', undefined],
  ['1.5', undefined],
  ['', undefined],
  ['9999999999999999', undefined],
])('the number %s', (typed, seq) => {
  expect(parseSequence(typed)).toBe(seq);
});
