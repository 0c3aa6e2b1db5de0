import { describe, expect, it } from 'vitest';
import { truncatedListNote } from './truncated-list.ts';

describe('the line beneath a list', () => {
  it('says how many there are and how to see them, and nothing beneath a whole list', () => {
    expect(truncatedListNote({ shown: 10, total: 99, noun: 'offers', more: 'All of them: --limit 99' })).toBe(
      'Shown 10 of 99 offers. All of them: --limit 99',
    );
    expect(truncatedListNote({ shown: 50, total: null, noun: 'rentals', more: 'More: --limit 100' })).toBe(
      'Shown 50 rentals; there are more. More: --limit 100',
    );
    expect(truncatedListNote({ shown: 3, total: 3, noun: 'offers', more: '' })).toBeNull();
  });
});
