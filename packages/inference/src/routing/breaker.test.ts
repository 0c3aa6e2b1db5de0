import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Breaker, BREAKER_WINDOW } from './breaker.ts';
import { routerLimits } from './limits.ts';
import { RetryBudget, RETRY_WINDOW_SECONDS } from './retry-budget.ts';

const limits = routerLimits.breaker;

function opened(atMs = 0): Breaker {
  const breaker = new Breaker(limits);
  for (let failure = 0; failure < limits.failuresInRow; failure += 1) breaker.end(false, true, atMs);
  return breaker;
}

describe('Breaker', () => {
  it('opens after consecutive failures; a success resets the count', () => {
    const breaker = new Breaker({ ...limits, failuresOfRecent: BREAKER_WINDOW });
    for (let round = 0; round < 5; round += 1) {
      for (let failure = 1; failure < limits.failuresInRow; failure += 1) breaker.end(false, true, 0);
      breaker.end(false, false, 0);
      expect(breaker.state).toBe('closed');
    }
    expect(opened().state).toBe('open');
  });

  it('opens when half of the recent calls failed, even without many failures in a row', () => {
    const breaker = new Breaker(limits);
    for (let call = 0; call < BREAKER_WINDOW - 1; call += 1) breaker.end(false, call % 2 === 0, 0);
    expect(breaker.state).toBe('closed');
    breaker.end(false, true, 0);
    expect(breaker.state).toBe('open');
  });

  it('counts the failures among the most recent calls in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (outcomes) => {
        const breaker = new Breaker({ ...limits, failuresInRow: 1_000, failuresOfRecent: 1_000 });
        for (const isFailure of outcomes) breaker.end(false, isFailure, 0);
        expect(breaker.failures).toBe(outcomes.slice(-BREAKER_WINDOW).filter(Boolean).length);
      }),
    );
  });

  it('allows one trial after the pause, closes if it succeeds and doubles the pause if it fails', () => {
    const breaker = opened(0);
    let atMs = 0;
    for (let pauseMs = limits.firstPauseMs; pauseMs < limits.longestPauseMs; pauseMs *= 2) {
      breaker.refresh(atMs + pauseMs - 1);
      expect(breaker.state).toBe('open');
      atMs += pauseMs;
      breaker.refresh(atMs);
      expect(breaker.state).toBe('half-open');
      expect(breaker.begin()).toBe(true);
      expect(breaker.isOnTrial).toBe(true);
      breaker.end(true, true, atMs);
      expect([breaker.state, breaker.isOnTrial]).toEqual(['open', false]);
    }
    breaker.refresh(atMs + limits.longestPauseMs);
    expect(breaker.begin()).toBe(true);
    breaker.end(true, false, atMs + limits.longestPauseMs);
    expect(breaker.state).toBe('closed');
    for (let failure = 0; failure < limits.failuresInRow; failure += 1) breaker.end(false, true, 1_000_000);
    expect(breaker.reopensAtMs).toBe(1_000_000 + limits.firstPauseMs);
  });

  it('ignores calls that started earlier while open or on trial, and ignores cancelled trials', () => {
    const breaker = opened(0);
    breaker.end(false, false, 1);
    expect(breaker.state).toBe('open');
    breaker.refresh(limits.firstPauseMs);
    breaker.end(false, false, limits.firstPauseMs);
    breaker.end(false, true, limits.firstPauseMs);
    expect(breaker.state).toBe('half-open');
    expect(breaker.begin()).toBe(true);
    breaker.end(true, null, limits.firstPauseMs);
    expect([breaker.state, breaker.isOnTrial]).toEqual(['half-open', false]);
  });

  it('ends its pause early when the deployment has responded to a probe', () => {
    const breaker = opened(0);
    breaker.shorten(5);
    expect(breaker.state).toBe('half-open');
  });
});

describe('RetryBudget', () => {
  it('allows at most its share of the requests in the window, or the fixed minimum', () => {
    const steps = fc.array(fc.record({ passMs: fc.nat(2_500), requests: fc.nat(30), retries: fc.nat(30) }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, fc.nat(5), (script, always) => {
        const budget = new RetryBudget({ shareOfRequests: 0.2, always });
        const requests: number[] = [];
        const retries: number[] = [];
        let nowMs = 0;
        const recent = (times: readonly number[]): number =>
          times.filter((second) => second > Math.floor(nowMs / 1_000) - RETRY_WINDOW_SECONDS).length;
        for (const step of script) {
          nowMs += step.passMs;
          const second = Math.floor(nowMs / 1_000);
          for (let count = 0; count < step.requests; count += 1) {
            budget.countRequest(nowMs);
            requests.push(second);
          }
          for (let count = 0; count < step.retries; count += 1) {
            const isAllowed = recent(retries) < Math.max(always, 0.2 * recent(requests));
            expect(budget.take(nowMs)).toBe(isAllowed);
            if (isAllowed) retries.push(second);
          }
        }
      }),
    );
  });
});
