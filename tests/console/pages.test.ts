import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { pages } from './pages.ts';

const features = path.join(import.meta.dirname, '..', '..', 'apps', 'console', 'src', 'features');

function routesOfConsole(): readonly string[] {
  const files = readdirSync(features, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('routes.tsx'),
  );
  const found = files.flatMap((file) => [
    ...readFileSync(path.join(features, file), 'utf8').matchAll(/\bpath: '([^']+)'/g),
  ]);
  return found.map(([, route = '']) => (route.startsWith('/') ? route : `/${route}`));
}

it('pages contains every route of the console and no other', () => {
  const routes = routesOfConsole();
  expect(routes.length).toBeGreaterThan(20);
  expect(new Set(pages.map(({ route }) => route))).toEqual(new Set(routes));
});
