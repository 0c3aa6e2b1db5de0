import { expect, test } from 'vitest';
import { fieldChanges, fieldLabel, resourceName, splitChanges } from './changes.ts';

test('fieldChanges pairs the values before and after and leaves out equal ones', () => {
  const details = {
    before: { status: 'Running', label: 'a', tags: {} },
    after: { status: 'Terminated', label: 'a', tags: { team: 'x' }, finalCostNanoUsd: '1500000000' },
  };
  expect(fieldChanges(details)).toEqual([
    { field: 'Status', before: 'Running', after: 'Terminated' },
    { field: 'Tags', before: 'none', after: 'team: x' },
    { field: 'Final cost', before: undefined, after: '$1.50' },
  ]);
});

test('fieldChanges shows the fields of a record as words, but the names of tags as they are', () => {
  const after = { limits: { requestsPerMinute: 60 }, tags: { costCentre: 'x' } };
  expect(fieldChanges({ after }).map((change) => change.after)).toEqual([
    'Requests per minute: 60',
    'costCentre: x',
  ]);
});

test('fieldChanges shows lists, booleans and times as text, and leaves out fields that were never set', () => {
  const after = { scopes: ['a', 'b'], isOn: true, reason: null, ports: [], at: '2026-11-18T10:00:00.000Z' };
  const texts = fieldChanges({ after }).map((change) => change.after);
  expect(texts.slice(0, 2)).toEqual(['a, b', 'yes']);
  expect(texts[2]).toMatch(/2026/);
  expect(fieldChanges({})).toEqual([]);
});

test('splitChanges shows three fields at once, and long values on demand', () => {
  const change = (field: string, after: string) => ({ field, before: undefined, after });
  const scopes = change('Scopes', 'rentals:read, '.repeat(20));
  const short = ['Name', 'Prefix', 'Mode', 'IP'].map((field) => change(field, 'x'));
  const { shown, more } = splitChanges([scopes, ...short]);
  expect(shown.map(({ field }) => field)).toEqual(['Name', 'Prefix', 'Mode']);
  expect(more.map(({ field }) => field)).toEqual(['Scopes', 'IP']);
});

test('fieldLabel makes words of a field name', () => {
  expect(fieldLabel('ttlSeconds')).toBe('TTL seconds');
  expect(fieldLabel('gpu_type')).toBe('GPU type');
  expect(fieldLabel('limitNanoUsd')).toBe('Limit');
});

test('resourceName prefers the newest name', () => {
  expect(resourceName({ before: { name: 'old' }, after: { name: 'new' } })).toBe('new');
  expect(resourceName({ before: { label: 'disk' } })).toBe('disk');
  expect(resourceName({ after: { size: 1 } })).toBeNull();
});
