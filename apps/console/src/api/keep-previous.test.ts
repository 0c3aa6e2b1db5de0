import { expect, it } from 'vitest';
import { keepPreviousFor } from './keep-previous.ts';

const keepPrevious = keepPreviousFor({ organisationId: 'org_1', mode: 'live' });

it('keepPrevious keeps the shown data while the next page of the same organisation and mode loads', () => {
  expect(keepPrevious('first page', { queryKey: ['org_1', 'live', 'money', 1] })).toBe('first page');
});

it.each([
  ['another organisation', ['org_2', 'live', 'money', 1]],
  ['the other mode', ['org_1', 'test', 'money', 1]],
])('keepPrevious drops data of %s', (_what, queryKey) => {
  expect(keepPrevious('theirs', { queryKey })).toBeUndefined();
  expect(keepPrevious(undefined, undefined)).toBeUndefined();
});
