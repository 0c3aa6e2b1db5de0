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

const resource = (group: string, label: string, ...ids: readonly string[]): PaletteItem => ({
  ...item(group, label),
  ids,
});

const labels = (items: readonly PaletteItem[], query: string): readonly string[] =>
  groupItems(items, query).flatMap((group) => group.items.map(({ label }) => label));

const train = resource('Rentals', 'train', '42', '10.0.0.7');
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

it.each([
  ['an exact name before a longer one', 'train', ['train', 'train-llm', 'retrain']],
  ['names that start with the query before ids that do', '7', ['7b-chat', 'web']],
  ['an id before a word inside a name', 'llm', ['api', 'train-llm']],
])('groupItems shows %s', (_rule, query, expected) => {
  const all = [
    resource('Rentals', 'retrain', '1'),
    resource('Rentals', 'train-llm', '2'),
    resource('Rentals', 'train', '3'),
    resource('Rentals', 'web', '77'),
    resource('Rentals', 'api', 'llm'),
    resource('Rentals', '7b-chat', '5'),
  ];
  expect(labels(all, query)).toEqual(expected);
});

it('groupItems shows a page by its synonym before resources that only contain the query', () => {
  const all = [resource('Rentals', 'big-storage-box', '8'), resource('Keys', 'mystorage', '9'), ...pages];
  expect(labels(all, 'storage')).toEqual(['big-storage-box', 'Volumes', 'mystorage']);
});

it('groupItems does not treat a word such as the GPU type as an id', () => {
  const withType = { ...resource('Rentals', 'web', '6'), terms: ['h100'] };
  const all = [withType, resource('Volumes', 'data-h100', '7')];
  expect(labels(all, 'h100')).toEqual(['data-h100', 'web']);
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
