import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { dialogs } from './dialogs.ts';
import { pages } from './pages.ts';

const sources = path.join(import.meta.dirname, '..', '..', 'apps', 'console', 'src');
const features = path.join(sources, 'features');

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

/** Components that show a dialog or menu. */
const dialogElement =
  /<(?:Dialog|Dialog\.Root|ConfirmDialog|ActionButton|WriteOffButton|OneTimeSecret|Menu\.Root)(?![\w.])/g;

/** Folders that define these components, and the page that shows them all, which has its own test. */
const shared = /^(?:ui|design|features\/operator\/common)\//;

/** How many dialogs each file of the console shows. */
function dialogsOfConsole(): ReadonlyMap<string, number> {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.tsx') && !shared.test(file))
    .map((file) => {
      const text = readFileSync(path.join(sources, file), 'utf8');
      return [file.replace(/\.tsx$/, ''), [...text.matchAll(dialogElement)].length] as const;
    });
  return new Map(files.filter(([, count]) => count > 0));
}

it('dialogs contains every dialog of the console and no other', () => {
  const shown = dialogsOfConsole();
  expect(shown.size).toBeGreaterThan(20);
  const listed = Map.groupBy(dialogs, ({ source }) => source);
  expect(new Set(listed.keys())).toEqual(new Set(shown.keys()));
  const missing = [...shown].filter(([source, count]) => (listed.get(source)?.length ?? 0) < count);
  expect(missing, 'files with more dialogs than dialogs.ts lists').toEqual([]);
});

it('screenshots of pages and dialogs have different names', () => {
  const names = pages.map(({ as, route }) => as ?? route);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
