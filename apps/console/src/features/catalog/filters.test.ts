import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFilters, hasActiveFilters, offersCommand, type Filters } from './filters.ts';

describe('parseFilters', () => {
  it('reads back what was written, with numbers and booleans as values or as text', () => {
    const filters: Filters = {
      gpu: 'h100',
      region: 'us-central-1',
      type: 'bare-metal',
      count: 8,
      available: true,
      sort: 'free',
    };
    expect(parseFilters({ ...filters })).toEqual(filters);
    expect(parseFilters({ ...filters, count: '8', available: 'true' })).toEqual(filters);
    expect(parseFilters({ gpu: 'H100' })).toEqual({ gpu: 'h100' });
  });

  it('drops defaults and invalid values', () => {
    expect(parseFilters({ sort: 'price', available: false })).toEqual({});
    const odd = { gpu: '"; rm', region: 7, type: 'vm', count: 1.5, sort: 'name', more: 1 };
    expect(parseFilters(odd)).toEqual({});
    for (const count of [0, -1, '1e3', 1_000_000, null, Number.NaN])
      expect(parseFilters({ count })).toEqual({});
  });

  it('never throws and is idempotent', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('gpu', 'region', 'type', 'count', 'sort'), fc.anything()),
        (search) => {
          const once = parseFilters(search);
          expect(parseFilters({ ...once })).toEqual(once);
        },
      ),
    );
  });

  it('counts every filter except the sort order as active', () => {
    expect(hasActiveFilters({})).toBe(false);
    expect(hasActiveFilters({ sort: 'free' })).toBe(false);
    expect(hasActiveFilters({ available: true })).toBe(true);
    expect(hasActiveFilters({ count: 1 })).toBe(true);
  });
});

describe('offersCommand', () => {
  it('includes sold-out offers as the page does, and the whole of a long list', () => {
    expect(offersCommand({}, 4)).toBe('millrace offers --all');
    expect(offersCommand({ gpu: 'h100', available: true }, 11)).toBe('millrace offers --gpu h100 --limit 11');
    expect(offersCommand({ count: 8, region: 'eu-west-1', type: 'bare-metal' }, 1)).toBe(
      'millrace offers --count 8 --region eu-west-1 --type bare-metal --all',
    );
  });
});
