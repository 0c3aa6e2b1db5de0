import { describe, expect, it } from 'vitest';
import {
  bytesToMebibytes,
  floorDivide,
  msToSeconds,
  msToSecondsRoundDown,
  msToSecondsRoundUp,
  nanosecondsToMs,
  perSecond,
  secondsToMs,
  ratio,
  divideWithRemainder,
} from './index.ts';

describe('unit conversions', () => {
  it('return the documented values', () => {
    expect(msToSeconds(1_500)).toBe(1.5);
    expect(msToSecondsRoundUp(1_001)).toBe(2);
    expect(msToSecondsRoundDown(1_999)).toBe(1);
    expect(secondsToMs(1.5)).toBe(1_500);
    expect(nanosecondsToMs(2_500_000)).toBe(2.5);
    expect(bytesToMebibytes(1_572_864)).toBe(1.5);
    expect(floorDivide(101, 50)).toBe(3);
    expect(divideWithRemainder(125, 60)).toEqual([2, 5]);
    expect(perSecond(30, 1_500)).toBe(20);
  });

  it('return a ratio of 0 for an empty whole', () => {
    expect([ratio(0, 0), ratio(1, 4)]).toEqual([0, 0.25]);
  });
});
