import { describe, expect, test } from 'vitest';

import { boundaries } from './boundaries.ts';
import { filesBelow, fixturesRoot, markedLines, runTool, isSameLocation } from './fixtures.ts';

interface Checked {
  readonly source?: string;
  readonly name?: string;
  readonly rules?: readonly { readonly name: string }[];
  readonly dependencies?: readonly Checked[];
}

interface Cruise {
  readonly modules: readonly Checked[];
  readonly folders?: readonly Checked[];
}

const root = `${fixturesRoot}/boundaries`;
const ruleNames = [...new Set(boundaries('').map((rule) => rule.name ?? 'unnamed'))].toSorted();
const fixtureOf = (path: string): string => path.slice(root.length + 1).split('/')[0] ?? '';

/** Each finding as the name of its rule and the file or folder. */
function findingsOf(cruise: Cruise): { rule: string; spot: string }[] {
  return [...cruise.modules, ...(cruise.folders ?? [])].flatMap((checked) => {
    const rules = [checked, ...(checked.dependencies ?? [])].flatMap((edge) => edge.rules ?? []);
    return rules.map((rule) => ({ rule: rule.name, spot: checked.source ?? checked.name ?? '' }));
  });
}

const files = filesBelow(root);

const config = `${fixturesRoot}/boundaries.config.mjs`;
const stdout = await runTool('depcruise', ['--config', config, '--output-type', 'json', root]);
const findings = findingsOf(JSON.parse(stdout) as Cruise).filter(({ spot }) => spot.startsWith(root));

test('boundaries: every rule has a fixture, and every fixture a rule', () => {
  const fixtures = new Set(files.map(fixtureOf));
  fixtures.delete('clean');
  expect([...fixtures].toSorted()).toEqual(ruleNames);
});

test('boundaries: every rule has a message that says what to do instead', () => {
  for (const rule of boundaries('')) expect((rule.comment ?? '').length, rule.name).toBeGreaterThan(40);
});

test('boundaries: report nothing for the clean fixture', () => {
  expect(findings.filter(({ spot }) => fixtureOf(spot) === 'clean')).toEqual([]);
});

describe('boundaries report exactly the marked files of each fixture', () => {
  test.each(ruleNames)('%s', (rule) => {
    const marked = files.filter((file) => fixtureOf(file) === rule && markedLines(file).length > 0);
    const found = findings.filter(({ spot }) => fixtureOf(spot) === rule);
    expect(marked.length, 'a fixture marks at least one file').toBeGreaterThan(0);
    expect(found.filter((finding) => finding.rule !== rule)).toEqual([]);
    expect(marked.filter((file) => !found.some(({ spot }) => isSameLocation(spot, file)))).toEqual([]);
    expect(found.filter(({ spot }) => !marked.some((file) => isSameLocation(spot, file)))).toEqual([]);
  });
});
