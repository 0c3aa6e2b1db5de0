import { describe, expect, test } from 'vitest';
import { growthOf } from './growth.ts';

/** Expressions that were in the product or are known from the literature. */
const superLinear: readonly (readonly [RegExp, 'polynomial' | 'exponential'])[] = [
  [/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gis, 'polynomial'],
  [/\s*;\s*/, 'polynomial'],
  [/BEGIN[A-Z0-9 ]* PRIVATE KEY/, 'polynomial'],
  [/^\s*Private-key-format:/m, 'polynomial'],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*):[^\s@/"]+@/gi, 'polynomial'],
  [/\s+$/, 'polynomial'],
  [/a.*b.*c/, 'polynomial'],
  [/^(\d+)(\d+)$/, 'polynomial'],
  [/^ssh (\S+)@(\S+) -p (\d+)$/, 'polynomial'],
  // With the g flag, an empty match does not end the search.
  [/(?:a+b)?/g, 'polynomial'],
  [/\B(?=(?:\d{3})+$)/g, 'polynomial'],
  [/\d+(?=\d*x)/, 'polynomial'],
  [/x{0,100000}y/, 'polynomial'],
  [/^(a|a)*$/, 'exponential'],
  [/^(a*)*$/, 'exponential'],
  [/^(\w+\s?)*$/, 'exponential'],
  [/^([a-z]+)+\d$/, 'exponential'],
];

const linear: readonly RegExp[] = [
  /-+/g,
  /^\s+$/,
  /(?<!=)=+$/,
  /^-+|(?<!-)-+$/g,
  /\b[a-z]+:/,
  /^[a-z]+ x/m,
  /^(a?)*$/,
  /^(?:a|b)*$/,
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  /(?:a+b)?/,
  /a+b/y,
  /BEGIN[A-Z0-9 ]{0,64} PRIVATE KEY/,
];

describe('growthOf', () => {
  test.each(superLinear)('calls %s %s', (expression, kind) => {
    expect(growthOf(expression.source, expression.flags).kind).toBe(kind);
  });

  test.each(linear)('calls %s linear', (expression) => {
    expect(growthOf(expression.source, expression.flags)).toEqual({ kind: 'linear' });
  });

  test('returns unknown for backreferences', () => {
    expect(growthOf(/(\w+) \1/.source, '').kind).toBe('unknown');
  });
});
