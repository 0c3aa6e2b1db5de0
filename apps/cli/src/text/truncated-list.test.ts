import { describe, expect, it } from 'vitest';
import { truncatedListNote } from './truncated-list.ts';

describe('truncatedListNote', () => {
  it('says how many entries exist and how to see them, and is empty for a complete list', () => {
    expect(truncatedListNote({ shown: 10, total: 99, noun: 'offers', more: 'All of them: --limit 99' })).toBe(
      'Showing 10 of 99 offers. All of them: --limit 99',
    );
    expect(truncatedListNote({ shown: 50, total: null, noun: 'rentals', more: 'More: --limit 100' })).toBe(
      'Showing 50 rentals; there are more. More: --limit 100',
    );
    expect(truncatedListNote({ shown: 3, total: 3, noun: 'offers', more: '' })).toBeNull();
  });
});
