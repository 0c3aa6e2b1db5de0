import { describe, expect, it } from 'vitest';
import { isInProgress, returnUrls, topUpAmount, topUpToWatch, topUpStateText, type TopUp } from './top-up.ts';

const now = Date.parse('2026-11-16T12:00:00Z');
const topUp = (state: TopUp['state'], createdAt: string): TopUp => ({
  paymentId: 'pay_01JD8Q7XK4T2M9V6B3N5C1F0GH',
  state,
  amountCents: 2_500,
  amountNanoUsd: '25000000000',
  refundedNanoUsd: '0',
  checkoutUrl: null,
  createdAt,
  paidAt: null,
});

describe('topUpAmount', () => {
  it.each([
    ['5', 500],
    ['$25.50', 2_550],
    ['10,000', 1_000_000],
  ])('parses %s as %i cents', (typed, cents) => {
    expect(topUpAmount(typed)).toEqual({ cents });
  });

  it.each(['4.99', '10000.01', '-25', '25.001', 'much', ''])('explains why %s is rejected', (typed) => {
    expect(topUpAmount(typed)).toHaveProperty('wrong');
  });
});

describe('top-up', () => {
  it('is watched while it is recent, and only the newest one', () => {
    const fresh = topUp('open', '2026-11-16T11:30:00Z');
    expect(topUpToWatch([fresh, topUp('paid', '2026-11-16T11:00:00Z')], now)).toBe(fresh);
    expect(topUpToWatch([topUp('open', '2026-11-16T10:59:59Z')], now)).toBeNull();
    expect(topUpToWatch([], now)).toBeNull();
  });

  it('is pending until it has a result', () => {
    expect(isInProgress({ state: 'processing' })).toBe(true);
    expect(isInProgress({ state: 'paid' })).toBe(false);
  });

  it('shows unknown states as text', () => {
    expect(topUpStateText('on_hold')).toBe('on hold');
    expect(topUpStateText('toString')).toBe('toString');
  });
});

it('returnUrls returns the current page only over HTTPS', () => {
  expect(returnUrls('https://cloud.example.com/console/money?x=1#y')).toEqual({
    successUrl: 'https://cloud.example.com/console/money?back=paid',
    cancelUrl: 'https://cloud.example.com/console/money?back=cancelled',
  });
  expect(returnUrls('http://127.0.0.1:8080/console/money')).toEqual({});
});
