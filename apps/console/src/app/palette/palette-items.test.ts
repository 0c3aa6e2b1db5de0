import { Server } from 'lucide-react';
import { expect, it } from 'vitest';
import { asRentalId, groupItems, type PaletteItem } from './palette-items.ts';

const item = (group: string, label: string, ...terms: readonly string[]): PaletteItem => ({
  id: `${group} ${label}`,
  group,
  label,
  terms,
  icon: Server,
  target: { href: '/' },
});

const labels = (items: readonly PaletteItem[], query: string): readonly string[] =>
  groupItems(items, query).flatMap((group) => group.items.map(({ label }) => label));

const train = item('Rentals', 'train', '42', '10.0.0.7');
const pages = [item('Pages', 'Rentals', 'machines'), item('Pages', 'Volumes', 'storage')];

it('groupItems shows everything in the given order without a query', () => {
  expect(labels([...pages, train], '')).toEqual(['Rentals', 'Volumes', 'train']);
});

it.each(['train', 'TRAIN', '42', '10.0.0.7', '10.0.0'])('groupItems finds a rental by %s', (query) => {
  expect(labels([...pages, train], query)).toEqual(['train']);
});

it('groupItems needs every word of the query, in any field', () => {
  expect(labels([...pages, train], 'train 10.0')).toEqual(['train']);
  expect(labels([...pages, train], 'train storage')).toEqual([]);
});

it('groupItems shows the group with an exact id before a group that only contains it', () => {
  const other = item('Nodes', 'node-42');
  expect(labels([other, train], '42')).toEqual(['train', 'node-42']);
});

it('groupItems shows at most six items of a group', () => {
  const many = Array.from({ length: 20 }, (_, index) => item('Rentals', `train-${String(index)}`));
  expect(labels(many, 'train')).toHaveLength(6);
});

it.each([
  ['42', 42],
  ['0', null],
  ['042', null],
  ['1234567890', null],
  ['h100', null],
])('asRentalId reads %s as %s', (text, id) => {
  expect(asRentalId(text)).toBe(id);
});
