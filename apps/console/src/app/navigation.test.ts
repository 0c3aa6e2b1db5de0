import { expect, it, test } from 'vitest';
import { entriesOf, findActive, MAX_AREA_ENTRIES, navAreas, visibleAreas } from './navigation.ts';

test.each(navAreas.map((area) => [area.id, area] as const))('area %s has at most nine entries', (_, area) => {
  expect(entriesOf(area).length).toBeGreaterThan(0);
  expect(entriesOf(area).length).toBeLessThanOrEqual(MAX_AREA_ENTRIES);
});

it('no page has two entries', () => {
  const paths = navAreas
    .flatMap(entriesOf)
    .flatMap(({ to, pages = [] }) => [to, ...pages.map((page) => page.to)]);
  expect(new Set(paths).size).toBe(paths.length);
});

test.each([
  ['/', 'tenant', '/catalog'],
  ['/rent', 'tenant', '/catalog'],
  ['/rentals/42', 'tenant', '/rentals'],
  ['/ledger', 'account', '/money'],
  ['/supplier', 'supplier', '/supplier'],
  ['/supplier/machines/7', 'supplier', '/supplier/machines'],
  ['/supplier/statements/7', 'supplier', '/supplier/earnings'],
  ['/operator', 'operator', '/operator'],
  ['/operator/nodes/7', 'operator', '/operator/fleet'],
  ['/operator/maintenance', 'operator', '/operator/fleet'],
  ['/operator/organisations/7', 'operator', '/operator/organisations'],
])('%s belongs to the area %s and marks the entry %s', (pathname, area, to) => {
  expect(findActive(pathname)).toMatchObject({ area, entry: { to } });
});

it('findActive returns null for an unknown page', () => {
  expect(findActive('/nothing')).toBeNull();
});

it('visitors see only the public pages of one area', () => {
  const areas = visibleAreas(() => false);
  expect(areas.map(({ id }) => id)).toEqual(['tenant']);
  expect(areas.flatMap(entriesOf).map(({ to }) => to)).toEqual(['/catalog', '/models']);
});

it('an owner who is not a supplier sees only the supplier overview, to apply', () => {
  const areas = visibleAreas((scope) => scope === 'organisation:write');
  const supplier = areas.find(({ id }) => id === 'supplier');
  expect(supplier === undefined ? [] : entriesOf(supplier).map(({ to }) => to)).toEqual(['/supplier']);
});

it('only callers with admin:read see the operator area', () => {
  expect(visibleAreas((scope) => scope !== 'admin:read').map(({ id }) => id)).not.toContain('operator');
  expect(visibleAreas((scope) => scope === 'admin:read').map(({ id }) => id)).toContain('operator');
});
