import { describe, expect, it } from 'vitest';
import {
  attemptText,
  webhookHealth,
  hasPendingDeliveries,
  isRetrying,
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

describe('webhookHealth', () => {
  it('returns healthy, or the reason why not', () => {
    expect(webhookHealth(webhook)).toEqual({ tone: 'good', label: 'enabled', why: null });
    expect(webhookHealth({ ...webhook, lastSucceededAt: null }).why).toContain('yet');
    expect(webhookHealth({ ...webhook, failingSince: '2026-11-16T02:00:00Z' }).label).toBe('failing');
  });

  it('shows disabled before failing, with the reason of the service', () => {
    const off = {
      ...webhook,
      status: 'disabled',
      disabledReason: 'Gone.',
      failingSince: webhook.createdAt,
    } as const;
    expect(webhookHealth(off)).toEqual({ tone: 'bad', label: 'disabled', why: 'Gone.' });
  });
});

it('isRetrying is true only for a pending delivery with a failed attempt', () => {
  const attempts = [{ at: '2026-11-16T00:00:00Z', httpStatus: 500, error: null, durationMs: 10 }];
  expect(isRetrying({ status: 'pending', attempts })).toBe(true);
  expect(isRetrying({ status: 'pending', attempts: [] })).toBe(false);
  expect(isRetrying({ status: 'failed', attempts })).toBe(false);
});

it('attemptText shows status, error and duration', () => {
  const at = '2026-11-16T00:00:00Z';
  expect(attemptText({ at, httpStatus: 500, error: 'It did not answer 2xx.', durationMs: 1_234 })).toBe(
    'status 500: It did not answer 2xx, after 1.2 s',
  );
  expect(attemptText({ at, httpStatus: null, error: null, durationMs: 15_000 })).toBe(
    'no response, after 15 s',
  );
});

it('hasPendingDeliveries is true while a delivery is pending', () => {
  expect(hasPendingDeliveries([{ status: 'failed' }, { status: 'pending' }])).toBe(true);
  expect(hasPendingDeliveries([{ status: 'succeeded' }])).toBe(false);
});

it.each([
  ['https://example.com/hooks', undefined],
  ['http://example.com', 'Enter a URL that starts with https://.'],
  ['javascript:alert(1)', 'Enter a URL that starts with https://.'],
])('%s', (typed, problem) => {
  expect(urlIssue(typed)).toBe(problem);
});

it('urlIssue explains an invalid URL', () => {
  expect(urlIssue('example.com')).toContain('Enter a full URL');
});

it.each([
  ['88,213', 88_213],
  ['0', 0],
  ['-1', undefined],
  ['1.5', undefined],
  ['', undefined],
  ['9999999999999999', undefined],
])('parseSequence of %s', (typed, seq) => {
  expect(parseSequence(typed)).toBe(seq);
});
